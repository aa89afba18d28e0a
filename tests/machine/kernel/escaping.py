"""Try every way out of a guest. Run as a script, by any user, in a folder of that user's:

    escaping.py KIND HOST

KIND "guest" tries as root of a guest; "kernel" as who controls the guest's kernel, by a program that takes the kernel's
place. HOST is JSON that names what there is to reach on the host. It prints JSON: what became of each try, as the name
of an error or "done", and how the guest was contained.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from lab.guest.clock import Clock
from lab.machine.kernel import Guest, GuestError, Start, boot, find
from lab.machine.kernel.containment import Containment, host_programs
from lab.machine.kernel.root import Root
from lab.units import Size

ATTEMPTS = """
import ctypes, errno, json, os, signal, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
found = {}

def attempt(name, action, *arguments):
    try:
        action(*arguments)
        found[name] = "done"
    except OSError as error:
        found[name] = errno.errorcode.get(error.errno, str(error.errno))

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
"""  # the head of a program that notes what it may do
TRY = (
    ATTEMPTS
    + """
host = json.loads(os.environ["HOST"])

def read(path):
    with open(path, "rb") as file:
        file.read(1)

def write(path, mode="r+b"):
    with open(path, mode) as file:
        file.write(b"!")

def opened(path, mode="ab"):
    "What is not the test's own is not written to, should it be open after all."
    open(path, mode).close()

def dated_again(path):
    old = os.stat(path)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

def files(at):
    private, own = at(host["private"]), at(host["folder"])
    secret = private + "/secret"
    attempt("list a folder", os.listdir, private)
    attempt("read a file", read, secret)
    attempt("write a file", write, secret)
    attempt("append to a file", write, secret, "ab")
    attempt("make a file", write, private + "/new", "xb")
    attempt("make a folder", os.mkdir, private + "/folder")
    attempt("remove a file", os.unlink, secret)
    attempt("rename a file", os.rename, secret, private + "/other")
    attempt("move a file in", os.rename, secret, own + "/secret")
    attempt("link a file in", os.link, secret, own + "/linked")
    attempt("cut a file short", os.truncate, secret, 0)
    attempt("change a mode", os.chmod, secret, 0o777)
    attempt("change an owner", os.chown, secret, 12345, 12345)
    attempt("change a date", os.utime, secret, (1, 1))
    attempt("write to the lab", opened, at(host["lab"]) + "/units.py")
    attempt("change a date of the lab", dated_again, at(host["lab"]) + "/units.py")
    attempt("write to the kernel", opened, at(host["kernel"]))
    attempt("write to a program", opened, at("/usr/bin/cksum"))  # nobody runs it, so it is never busy
    attempt("read a process", read, at("/proc") + "/%d/environ" % host["victim"])
    attempt("read a process's memory", read, at("/proc") + "/%d/mem" % host["victim"])
    attempt("read the host's settings", read, at("/proc") + "/sys/kernel/hostname")
    attempt("write the host's settings", opened, at("/proc") + "/sys/kernel/domainname", "r+b")
    attempt("read shared memory", read, at("/dev/shm") + "/" + host["shared"])
    attempt("write shared memory", write, at("/dev/shm") + "/" + host["shared"])
    attempt("fill the host's memory", write, at("/dev/shm") + "/" + host["shared"] + ".new", "xb")
    attempt("leave a symbolic link", os.symlink, secret, own + "/link")
    attempt("leave a pipe", os.mkfifo, own + "/pipe")
    attempt("leave a device", os.mknod, own + "/device", 0o600 | 0o20000, os.makedev(1, 1))
    attempt("leave a socket", os.mknod, own + "/socket", 0o600 | 0o140000)
    attempt("leave a program that others run as us", os.chmod, own + "/boot/init", 0o4755)
    attempt("rename its own folder away", os.rename, own + "/boot", private + "/boot")
    attempt("write its own file", write, own + "/mine", "xb")
"""
)
FROM_GUEST = (
    TRY
    + """
mounts = {}

def at(path):
    if path not in mounts:
        place = mounts[path] = "/tmp/mount%d" % len(mounts)
        folder = path if os.path.isdir(path) or path == host["folder"] else os.path.dirname(path)
        os.mkdir(place)
        if libc.mount(b"none", place.encode(), b"hostfs", 0, folder.encode()):
            raise OSError(ctypes.get_errno(), "hostfs cannot be mounted: the tries would prove nothing")
        mounts[path] = place if folder == path else place + "/" + os.path.basename(path)
    return mounts[path]

files(at)

def connect(family, kind, address):
    with socket.socket(family, kind) as each:
        each.connect(address)
        each.send(b"!")
        if kind == socket.SOCK_DGRAM and family == socket.AF_INET:
            each.settimeout(0.1)
            each.recv(1)

attempt("connect by TCP", connect, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", host["tcp"]))
attempt("send by UDP", connect, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", host["udp"]))
attempt("connect to a socket's file", connect, socket.AF_UNIX, socket.SOCK_STREAM, at(host["private"]) + "/listens")
attempt("connect to an abstract socket", connect, socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + host["abstract"])
attempt("end a process", os.kill, host["victim"], signal.SIGKILL)
attempt("trace a process", call, 101, 16, host["victim"], 0, 0)
with open("/run/lab/found.json", "w") as file:
    json.dump(found, file)
"""
)
FROM_KERNEL = (
    TRY
    + """
AT_EMPTY_PATH = 0x1000
files(lambda path: path)

def connect(family, kind, address):
    with socket.socket(family, kind) as each:
        each.connect(address)

def pair():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"!", host["private"] + "/listens")

def run(program):
    if os.fork() == 0:
        try:
            os.execv(program, [program])
        except OSError as error:
            os._exit(error.errno)
    _, status = os.wait()
    if status:
        raise OSError(os.waitstatus_to_exitcode(status), "")

def run_opened(program):
    path = os.open(program, os.O_PATH)
    call(322, path, b"", None, None, AT_EMPTY_PATH)

def control(command, path, value):
    import fcntl
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(handle, command, value)
    finally:
        os.close(handle)

def typed():
    call(16, 0, 0x541C, b"!")

victim = host["victim"]
attempt("lease a file", control, 1024, host["lab"] + "/units.py", 0)
attempt("watch a folder", control, 1026, host["lab"], 1)
attempt("watch its own folder", control, 1026, ".", 1)
attempt("have another signalled", control, 15, host["lab"] + "/units.py", b"\\0" * 8)
attempt("hint at a file's life", control, 1036, "boot/status", b"\\0" * 8)
attempt("paste into a terminal", typed)
attempt("watch files", call, 294, 0)
attempt("watch all files", call, 300, 0, 0)
attempt("share memory", call, 29, 0x4C4142, 4096, 0o1600)
attempt("send a message", call, 68, 0x4C4142, 0o1600)
attempt("set a clock", call, 227, 0, None)
attempt("trust a file's owner", call, 188, b"boot/status", b"user.x", b"y", 1, 0)
attempt("make a secret", call, 447, 0)
attempt("connect by TCP", connect, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", host["tcp"]))
attempt("send by UDP", connect, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", host["udp"]))
attempt("connect to a socket's file", connect, socket.AF_UNIX, socket.SOCK_STREAM, host["private"] + "/listens")
attempt("connect to an abstract socket", connect, socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + host["abstract"])
attempt("send from a pair", pair)
attempt("open a terminal", opened, "/dev/ptmx", "r+b")
attempt("open a device", opened, "/dev/full")
attempt("talk to the host's kernel", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW)
attempt("end a process", os.kill, victim, signal.SIGKILL)
attempt("signal all processes", os.kill, -1, 0)
attempt("end a thread", call, 234, victim, victim, 9)
attempt("trace a process", call, 101, 16, victim, 0, 0)
attempt("seize a process", call, 101, 0x4206, victim, 0, 0)
attempt("hold a process", call, 434, victim, 0)
attempt("look into a process", call, 310, victim, 0, 0, 0, 0, 0)
attempt("change another's limits", call, 302, victim, 7, None, None)
attempt("run a program", run, "/bin/sh")
attempt("run a program that is open", run_opened, "/bin/sh")
attempt("mount", call, 165, None, b"/absent", None, 0, None)
attempt("open a tree", call, 428, -100, b"/", 0)
attempt("leave its namespaces", call, 272, 0x10000000)
attempt("make a namespace", call, 56, 0x10000000 | 17, 0, 0, 0, 0)
attempt("join a namespace", call, 308, 0, 0)
attempt("change its root", call, 161, b"/")
attempt("become another", call, 105, os.getuid())
attempt("use keys", call, 250, 0, 0)
attempt("load a program", call, 321, 0, None, 0)
attempt("use io_uring", call, 425, 1, None)
attempt("measure the host", call, 298, None, 0, -1, -1, 0)
attempt("handle faults", call, 323, 0)
attempt("open by a handle", call, 304, -1, None, 0)
attempt("take more CPUs", call, 203, 0, 8, None)
attempt("take precedence", call, 141, 0, 0, -20)
attempt("type into a terminal", call, 16, 0, 0x5412, b"!")
attempt("lock memory", call, 151, 3)
attempt("restart the host", call, 169, 0, 0, 0)
with open("boot/status", "w") as file:
    json.dump({"status": 0, "guest_ns": 0, "error": 0}, file)
with open("found.json", "w") as file:
    json.dump(found, file)
"""
)


class Usurper:
    """Starts Python, confined as a kernel is, in a kernel's place."""

    on = "uml"

    def start(self, folder: Path, _seed: int, _clock: Clock, _memory: Size, _root: Root) -> Start:
        python = os.path.realpath(sys.executable)
        return Start(
            (python, "-I", "-S", "-B", "-c", FROM_KERNEL),
            {"HOST": os.environ["HOST"]},
            Containment(Path(python), host_programs(), (folder,)),
            Path("/dev/shm"),
        )


def tried(kind: str, folder: Path, host: dict[str, Any]) -> dict[str, Any]:
    """What became of each try, and how the guest was contained."""
    os.environ["HOST"] = json.dumps({**host, "folder": str(folder)})
    if kind == "guest":
        command = [sys.executable, "-I", "-S", "-c", FROM_GUEST]
        result = boot(find(), folder, command, environment={"HOST": os.environ["HOST"]})
    else:
        with Guest(Usurper(), folder, ["true"]) as guest:  # type: ignore[arg-type]
            try:
                result = guest.wait()
            except GuestError as error:
                raise RuntimeError(error.console.read_text()) from None
    if not (folder / "found.json").exists():
        raise RuntimeError(result.console.read_text())
    return {"found": json.loads((folder / "found.json").read_text()), "contained": result.contained}


if __name__ == "__main__":
    json.dump(tried(sys.argv[1], Path.cwd(), json.loads(sys.argv[2])), sys.stdout)
