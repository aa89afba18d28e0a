"""Run a Mininet script in a guest: ARCHIVE COMMAND SECONDS PACKETS. Its output goes to standard output.

COMMAND is a file with a JSON list: the command that runs the script, and its arguments. status.json gets the exit
status, null if the time was up, and files/ gets each file that the script wrote into its folder. networks/ gets what
`recorder.py` records, with at most PACKETS packets. SECONDS is 0 for a person: the script then has the terminal and no
limit, or writes to the file stdout if there is no terminal, and nothing is recorded. The exit status is then that of
the script. The script starts as it does on any Linux: in its own folder, as root, in the first network namespace, and
with Open vSwitch running.
"""

import ctypes
import json
import os
import py_compile
import select
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from py_compile import PycInvalidationMode
from threading import Thread

import crowd  # type: ignore[import-not-found]  # beside this file

HERE = Path(__file__).parent
FOLDER = Path("/tmp/script")
OWN = Path("/run/bin")  # first in the PATH
MODULES = Path("/run/python")  # first where Python looks, after the script's folder
RUN, SCHEMA = Path("/run/openvswitch"), "/usr/share/openvswitch/vswitch.ovsschema"
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
SWITCH = (  # what /usr/share/openvswitch/scripts/ovs-ctl does
    ("ovsdb-tool", "create", f"{RUN}/conf.db", SCHEMA),
    ("ovsdb-server", f"{RUN}/conf.db", f"--remote=punix:{RUN}/db.sock", "--pidfile", "--detach", "--no-chdir"),
    ("ovs-vsctl", "--no-wait", "init"),
    ("ovs-vswitchd", f"unix:{RUN}/db.sock", "--pidfile", "--detach", "--no-chdir", f"--log-file={RUN}/vswitchd.log"),
)
CHANGES = (  # prints a line for the root of Open vSwitch's configuration, and a line after each change
    *("ovsdb-client", "--format=csv", "--no-headings"),
    *("monitor", f"unix:{RUN}/db.sock", "Open_vSwitch", "Open_vSwitch"),
)
CGROUPS = ((b"cgroup", "/sys/fs/cgroup"), (b"cpuset", "/sys/fs/cgroup/cpuset"))
RECORDER = "/run/recorder"  # its socket
SETTINGS = {"HOME": "/root", "USER": "root", "TERM": "dumb", "PYTHONUNBUFFERED": "1"} | {
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp/.matplotlib",
}


def start_switch() -> None:
    """Start Open vSwitch, with an empty database. Exit with its reason if it does not start."""
    RUN.mkdir()
    for command in SWITCH:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OVS_SYSCONFDIR": "/run"})
        if done.returncode:
            sys.exit(f"Open vSwitch does not start: {command[0]}: {done.stderr.strip()}")


def rest_switch() -> None:
    """Stop ovs-vswitchd until a program changes the configuration of Open vSwitch: it has nothing to do before.

    In virtual time, it would run after each command that builds the network, and read all routes of the guest again.
    """
    daemon = int((RUN / "ovs-vswitchd.pid").read_text())
    os.kill(daemon, signal.SIGSTOP)
    quiet = subprocess.DEVNULL
    client = subprocess.Popen(CHANGES, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, start_new_session=True)
    changes = client.stdout
    assert changes
    changes.readline()

    def wake() -> None:
        changes.readline()
        os.kill(daemon, signal.SIGCONT)
        client.terminate()
        client.wait()

    Thread(target=wake, daemon=True).start()


def prepare_var() -> None:
    """Give the guest a folder /var to write into, as scripts keep their logs there."""
    ctypes.CDLL(None).mount(b"var", b"/var", b"tmpfs", 0, None)
    for name in ("log", "lib", "tmp"):
        Path("/var", name).mkdir()
    Path("/var/run").symlink_to("/run")


def show_cgroups() -> None:
    """Show the folders that Mininet's CPULimitedHost looks for. A guest has no control groups (see programs/cgset)."""
    libc = ctypes.CDLL(None)
    for name, folder in CGROUPS:
        Path(folder).mkdir(exist_ok=True)
        libc.mount(name, bytes(Path(folder)), b"tmpfs", 0, None)


def unpack(archive: str) -> dict[Path, bytes]:
    """Put the script's files into its folder, and return them."""
    FOLDER.mkdir()
    with tarfile.open(archive) as tar:
        tar.extractall(FOLDER, filter="data")
    return {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}


def environment() -> dict[str, str]:
    """Return the environment of the script."""
    first = {"PATH": OWN, "PYTHONPATH": MODULES}
    return os.environ | SETTINGS | {name: f"{place}{os.pathsep}{os.environ[name]}" for name, place in first.items()}


def run(command: list[str], seconds: float) -> int | None:
    """Return the exit status, or None if the script did not end in time."""
    process = subprocess.Popen(
        command,
        cwd=FOLDER,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    handle = os.pidfd_open(process.pid)
    ended = bool(select.select([handle], [], [], seconds)[0])
    if not ended:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    return status if ended else None


def keep(before: dict[Path, bytes], to: Path) -> None:
    """Copy the files that the script wrote into its folder, or changed there."""
    written = (path for path in sorted(FOLDER.rglob("*")) if path.is_file() and not path.is_symlink())
    for path in written:
        if "__pycache__" not in path.parts and before.get(path) != path.read_bytes():
            target = to / path.relative_to(FOLDER)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def provide_programs() -> None:
    """Put the programs that were shipped, whose names have no ending, before those of the userland."""
    OWN.mkdir(exist_ok=True)
    for program in HERE.iterdir():
        if program.is_file() and not program.suffix:
            shutil.copyfile(program, OWN / program.name)
            (OWN / program.name).chmod(0o755)


def prepare_python() -> None:
    """Compile the package that each Python of the script imports when it starts."""
    package = MODULES / "usercustomize"
    package.mkdir(parents=True)
    for name, source in (("__init__.py", "every_python.py"), ("reporter.py", "reporter.py")):
        shutil.copyfile(HERE / source, package / name)
        py_compile.compile(str(package / name), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)


def prepare_ssh() -> None:
    """Give the guest a host key, with which scripts may start ssh servers."""
    Path("/run/sshd").mkdir()
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", HOST_KEY), check=True)


def attend(command: list[str]) -> int:
    """Run the script for a person, and return its exit status. Ctrl-C is for the script only."""
    seen = environment() | {"TERM": os.environ["TERM"]}
    return subprocess.run(
        command, cwd=FOLDER, env=seen, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    ).returncode


@contextmanager
def recorded(packets: str) -> Iterator[None]:
    """Record the networks that the script builds, and their packets. Exit with the recorder's message if it fails."""
    command = [sys.executable, str(HERE / "recorder.py"), RECORDER, "networks", packets]
    recorder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with recorder:
        assert recorder.stdin
        assert recorder.stdout
        recorder.stdout.readline()
        yield
        recorder.stdin.close()
    if recorder.returncode:
        sys.exit("the networks of the script were not recorded")
    with suppress(FileNotFoundError):
        shutil.copyfile(f"{RECORDER}.log", "networks/log.txt")


def main(archive: str, command: str, seconds: float, packets: str) -> int | None:
    """Run the script, keep the files that it wrote, and return its exit status."""
    before = unpack(archive)
    provide_programs()
    prepare_python()
    prepare_var()
    prepare_ssh()
    show_cgroups()
    start_switch()
    rest_switch()
    crowd.attend()
    words = json.loads(Path(command).read_text())
    if seconds:
        with recorded(packets):
            status = run(words, seconds)
    else:
        status = attend(words)
    written = Path("files")
    written.mkdir()
    keep(before, written)
    Path("status.json").write_text(json.dumps({"status": status}) + "\n")
    return status


if __name__ == "__main__":
    attended = float(sys.argv[3]) == 0
    if attended and not os.isatty(0):
        for stream in (1, 2):
            os.dup2(os.open("stdout", os.O_WRONLY | os.O_APPEND), stream)
    ended = main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
    sys.exit(ended if attended else 0)
