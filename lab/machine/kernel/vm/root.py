"""Pack the files of this machine that trials use into one archive, which the guest's kernel unpacks into memory.

A trial reads no disk and no shared folder, because their answers would arrive at a different instruction in each run,
so that no two runs would be identical.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from lab.base.building import UNFINISHED, Silent, alone, forget, hold
from lab.base.moving import move
from lab.machine.kernel.root import PACKAGE
from lab.machine.kernel.vm.cpio import Archive

PROGRAMS = (
    *("sh", "env", "true", "cat", "sleep", "stdbuf", "ip", "tc", "ethtool", "iptables", "nft"),
    *("ping", "fping", "tcpdump", "iperf", "iperf3", "qperf", "netperf", "netserver", "nc.openbsd"),
)
DISTRIBUTIONS = ("msgspec", "typing_extensions", "scapy", "flent")
EXTRAS = ("scapy/contrib/", "scapy/tools/", "unittests/", "sample_plots/", "build/")  # no trial imports these parts
PLUGINS = ("lib*/*/xtables/*.so", "lib*/coreutils/libstdbuf.so", "lib/*/coreutils/libstdbuf.so")  # below /usr
SETTINGS = ("passwd", "group", "hosts", "protocols", "services", "nsswitch.conf", "ld.so.cache", "localtime")
EMPTY = ("/proc", "/sys", "/dev", "/tmp", "/run", "/root", "/var/tmp")
UNUSED = {  # parts of Python's library
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data"),
    *("distutils", "site-packages", "dist-packages"),
}
COMPILE = """
import sys
from py_compile import PycInvalidationMode, compile
folder, *paths = sys.argv[1:]
for number, path in enumerate(paths):
    compile(path, f"{folder}/{number}", path, doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
"""
LIBRARY = re.compile(r"(?:=>\s+|^\s+)(/\S+) \(0x", re.MULTILINE)  # a library in ldd's output
ROOMS = {"base", "guest", "machine", "spec"}  # of the lab, which a guest imports
# Without PYTHONHASHSEED, Python would wait until the kernel has enough randomness, which only `init` gives it.
INIT = """#!/bin/sh
PYTHONHASHSEED=0 PYTHONPATH={package} exec {python} -S -B -P -m lab.machine.kernel.vm.init
"""


@cache
def archive(folder: Path) -> Path:
    """Return the archive of this machine's current files, in `folder`.

    The archive is rebuilt only if a file has changed. Raises OSError.
    """
    paths = files()
    total = hashlib.sha256()
    for path in paths:
        about = os.lstat(path)
        total.update(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\0{about.st_mode}\n".encode())
    target = folder / f"root-{total.hexdigest()[:16]}.cpio"
    while not hold(target):
        with alone(folder, Silent()):
            forget(folder.glob("root-*.cpio"))  # of earlier states of the machine
            if not target.exists():
                with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder) as scratch:
                    partial = Path(scratch, target.name)
                    _write(partial, paths)
                    move(partial, target)
    with suppress(OSError):  # the cache of another user keeps its date of last use
        os.utime(target)
    return target


def files() -> list[str]:
    """Return the sorted paths of this machine's files for a guest, without their parent folders."""
    found = {str(path) for path in (*_programs(), *_python(), *_lab()) if Path(path).exists()}
    return sorted(found | _libraries(found))


def _write(target: Path, paths: list[str]) -> None:
    with target.open("wb") as file:
        root = Archive(file)
        for empty in EMPTY:
            root.folder(empty)
        for name, major, minor in (("console", 5, 1), ("null", 1, 3), ("random", 1, 8), ("urandom", 1, 9)):
            root.device(f"/dev/{name}", major, minor)
        for top in ("/bin", "/sbin", "/lib", "/lib64"):
            root.copy(top)
        for path in paths:
            root.copy(path)
        for path, bytecode in _bytecode(sorted(_lab())):
            root.file(importlib.util.cache_from_source(path), bytecode)
        python = os.path.realpath(sys.executable)
        script = INIT.format(package=shlex.quote(str(PACKAGE)), python=shlex.quote(python))
        root.file("/init", script.encode(), 0o755)
        root.close()


def _programs() -> Iterator[Path | str]:
    search = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    yield from filter(None, (shutil.which(name, path=search) for name in PROGRAMS))
    for plugin in PLUGINS:  # these are loaded by name
        yield from Path("/usr").glob(plugin)
    yield from (f"/etc/{name}" for name in SETTINGS)


def _python() -> Iterator[Path | str]:
    """Yield the interpreter, its environment, its library, and the packages that trials import."""
    yield from (sys.executable, os.path.realpath(sys.executable), f"{sys.prefix}/pyvenv.cfg")
    yield from _tree(sysconfig.get_path("stdlib"))
    for text in Path(sysconfig.get_path("purelib")).glob("*.pth"):
        if "import" not in text.read_text(encoding="utf-8"):  # a path, not code
            yield text
    for name in DISTRIBUTIONS:
        try:
            parts = importlib.metadata.files(name) or ()
        except importlib.metadata.PackageNotFoundError:
            continue
        found = (os.path.normpath(str(part.locate())) for part in parts if not str(part).startswith(EXTRAS))
        yield from (path for path in found if "/bin/" not in path and not path.endswith((".opt-1.pyc", ".opt-2.pyc")))


def _lab() -> Iterator[str]:
    """Yield the sources of the lab's rooms that a guest imports, so that a change elsewhere changes no address.

    Existing bytecode depends on earlier runs, so `_bytecode` generates all bytecode anew.
    """
    for path in _tree(str(PACKAGE / "lab")):
        room = Path(path).relative_to(PACKAGE).parts[1]
        if path.endswith(".py") and (room in ROOMS or room.endswith(".py")):
            yield path


def _bytecode(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each module's path and its bytecode, in a form that a guest accepts.

    Compiling in the guest would take an emulated CPU seconds. A process of its own compiles the modules, because
    bytecode marks the strings that its process has interned. A guest would read other bytes with more or fewer
    instructions.
    """
    with tempfile.TemporaryDirectory(prefix="lab-bytecode-") as folder:
        command = [sys.executable, "-S", "-B", "-P", "-c", COMPILE, folder, *paths]
        subprocess.run(command, env={"PYTHONHASHSEED": "0"}, check=True, stdin=subprocess.DEVNULL)
        for number, path in enumerate(paths):
            yield path, Path(folder, str(number)).read_bytes()


def _tree(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = [each for each in folders if each not in UNUSED and not each.startswith("config-")]
        yield from (f"{folder}/{name}" for name in names if ".opt-" not in name)


def _libraries(paths: set[str]) -> set[str]:
    """Return the shared libraries that the programs and modules among `paths` need."""
    programs = [path for path in sorted(paths) if _is_elf(path)]
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout  # ldd fails for static programs
    return set(LIBRARY.findall(said))


def _is_elf(path: str) -> bool:
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"
