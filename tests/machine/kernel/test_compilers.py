"""What a stranger's source, patch or makefile does while it is compiled stays inside: every way out is tried."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.base import building
from lab.errors import MachineError
from lab.guest.workload import Program
from lab.machine.kernel import compilers, landlock
from lab.machine.kernel.uml import compiling
from lab.machine.kernel.uml.compiling import BuildFailed, Objects
from lab.machine.kernel.uml.recipe import Patch
from lab.machine.userland import builder as userlands
from lab.machine.userland.cache import Userland
from lab.runner import programs
from lab.runner.programs import CompileError
from lab.units import Duration, to_plain
from tests.machine.kernel.escaping import ATTEMPTS

SECRET = "a private key"
needs_landlock = pytest.mark.skipif(not landlock.abi(), reason="the host has no Landlock")


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder of the user's, with a file that is nobody else's."""
    with tempfile.TemporaryDirectory(prefix="replab-test-", dir="/var/tmp") as folder:
        key = Path(folder) / "id_rsa"
        key.write_text(SECRET)
        key.chmod(0o600)
        yield Path(folder)


@pytest.fixture(scope="module")
def compiler() -> Userland:
    return userlands.build("compiler", building.Silent())


@pytest.fixture
def cache(tmp_path: Path, compiler: Userland, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for compiled programs."""
    monkeypatch.setattr("lab.runner.programs.userlands.find", lambda _: compiler)
    monkeypatch.setattr("lab.runner.programs.caches.folder", lambda name: tmp_path / name)
    return tmp_path


@needs_landlock
@pytest.mark.parametrize(
    "source",
    [
        'asm(".section .rodata\\n.incbin \\"{key}\\"");\nint main(void) {{ return 0; }}\n',
        '#include "{key}"\nint main(void) {{ return 0; }}\n',
        'static const char key[] = {{\n#embed "{key}"\n}};\nint main(void) {{ return key[0]; }}\n',
        'asm(".include \\"{key}\\"");\nint main(void) {{ return 0; }}\n',
    ],
)
def test_a_source_reads_no_file_of_the_users(cache: Path, outside: Path, source: str) -> None:
    with pytest.raises(CompileError) as refused:
        programs._compiled("leak.c", source.format(key=outside / "id_rsa").encode())
    assert SECRET not in str(refused.value)
    assert not [file for file in cache.rglob("*") if file.is_file()]


@needs_landlock
@pytest.mark.usefixtures("cache")
def test_a_source_that_is_harmless_compiles() -> None:
    made = programs._compiled("hello.c", b'#include <stdio.h>\nint main(void) { puts("hello"); }\n')
    assert subprocess.run([made], capture_output=True, text=True, check=True).stdout == "hello\n"


@pytest.mark.long
@pytest.mark.usefixtures("cache")
def test_a_source_that_includes_itself_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "PROGRAM", replace(compilers.PROGRAM, cpu=Duration.of("1 s")))
    source = "#if __INCLUDE_LEVEL__ < 60\n#include __FILE__\n#include __FILE__\n#endif\nint main(void) { return 0; }\n"
    with pytest.raises(CompileError, match="takes more than 1 s of CPU"):
        programs._compiled("twice.c", source.encode())


@needs_landlock
@pytest.mark.usefixtures("cache")
def test_where_nothing_confines_a_source_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.machine.kernel.landlock.abi", lambda: 0)
    source = b"int main(void) { return 0; }\n"
    with pytest.raises(MachineError, match=r"one\.c is not compiled: this machine has no Landlock.*--trust"):
        programs._compiled("one.c", source)
    programs.compile_all(to_plain(Program(argv=("one",), sources=("one.c",)).with_files(lambda _: source)), trust=True)
    assert programs._compiled("one.c", source).is_file()


def test_where_nothing_keeps_a_build_apart_a_patch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.machine.kernel.landlock.abi", lambda: 7)
    monkeypatch.setattr(compilers, "_stands_apart", lambda: False)
    compilers.need_confinement("one.c", runs_code=False)
    with pytest.raises(MachineError, match="namespaces"):
        compilers.need_confinement("a kernel", runs_code=True)


# -- a makefile that a patch changes runs what it likes

OUTSIDE = (
    ATTEMPTS
    + """
folder = sys.argv[1]
key = folder + "/id_rsa"

attempt("read a file", open, key)
attempt("list a folder", os.listdir, folder)
attempt("write a file", open, key, "a")
attempt("make a file", open, folder + "/new", "x")
attempt("make a file for all", open, "/tmp/replab-test-new", "x")
attempt("make shared memory", open, "/dev/shm/replab-test-new", "x")
attempt("remove a file", os.unlink, key)
attempt("rename a file", os.rename, key, folder + "/other")
attempt("move a file in", os.rename, key, "taken")
attempt("link a file in", os.link, key, "linked")
attempt("cut a file short", os.truncate, key, 0)
attempt("change a mode", os.chmod, key, 0o777)
attempt("change an owner", os.chown, key, os.getuid(), os.getgid())
attempt("change a date", os.utime, key)
attempt("change a mode of the compiler", os.chmod, sys.argv[2], 0o777)
attempt("write to the compiler", open, sys.argv[2], "a")
attempt("date a file of its own back", os.utime, "Makefile", (1, 1))
attempt("leave a symbolic link", os.symlink, key, "link")
attempt("leave a pipe", os.mkfifo, "pipe")
attempt("leave a device", os.mknod, "device", 0o20600, os.makedev(1, 1))
attempt("read a process", open, "/proc/1/environ")
attempt("read the passwords", open, "/etc/shadow")
attempt("use the network", socket.socket)
attempt("use a socket's file", socket.socket, socket.AF_UNIX)
attempt("talk to the kernel", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW)
attempt("end a process", os.kill, int(sys.argv[3]), 9)
attempt("trace a process", call, 101, 16, int(sys.argv[3]), 0, 0)
attempt("mount", call, 165, None, b"/absent", None, 0, None)
attempt("make files writable again", call, 442, -100, b"/", 0, None, 0)
attempt("make a namespace", call, 272, 0x10000000)
attempt("use io_uring", call, 425, 1, None)
attempt("use keys", call, 250, 0, 0)
attempt("load a program", call, 321, 0, None, 0)
attempt("handle faults", call, 323, 0)
attempt("share memory", call, 29, 0x4C4142, 4096, 0o1600)
open("its-own", "x").close()
os.chmod("its-own", 0o755)
json.dump(found, open("found.json", "x"))
"""
)
REFUSED = {"EACCES", "EPERM", "EROFS", "EXDEV", "ENOENT", "ENOSYS"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with a makefile."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "Makefile").write_text("all:\n\t@echo '  CC      one.o'\n")
    return folder


def made(tree: Path, compiler: Userland, log: io.BytesIO, objects: Objects | None = None) -> None:
    compiling.make(tree, ["all"], log, compiler, objects=objects)


@needs_landlock
def test_no_way_leads_out_of_a_build(tree: Path, compiler: Userland, outside: Path) -> None:
    if not compilers._stands_apart():
        pytest.skip("this host lets nobody have mounts of their own")
    victim = subprocess.Popen(["sleep", "600"])
    try:
        (tree / "try.py").write_text(OUTSIDE)
        target = compiler.tree / "usr/bin/patch"
        arguments = f"{outside} {target} {victim.pid}"
        (tree / "Makefile").write_text(f"all:\n\t@{os.path.realpath(sys.executable)} -I -S -B try.py {arguments}\n")
        before = target.stat()
        log = io.BytesIO()
        made(tree, compiler, log)
        found = json.loads((tree / "found.json").read_text())
        assert len(found) == 35
        assert {name: outcome for name, outcome in found.items() if outcome not in REFUSED} == {}, log.getvalue()
        assert (tree / "its-own").stat().st_mode & 0o777 == 0o755
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
    assert [path.name for path in outside.iterdir()] == ["id_rsa"]
    assert (outside / "id_rsa").read_text() == SECRET
    assert (outside / "id_rsa").stat().st_mode & 0o777 == 0o600
    assert (target.stat().st_mode, target.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


@needs_landlock
def test_a_patch_whose_makefile_runs_a_command_writes_nothing_outside(
    tree: Path, compiler: Userland, outside: Path
) -> None:
    text = f"""\
--- a/Makefile
+++ b/Makefile
@@ -1,2 +1,3 @@
+X := $(shell id > {outside}/ran; cat {outside}/id_rsa >&2; touch ran)
 all:
 \t@echo '  CC      one.o'
"""
    log = io.BytesIO()
    compiling.patch(tree, [Patch("evil", text.encode())], log, compiler)
    made(tree, compiler, log)
    assert (tree / "ran").exists(), "the command ran, inside"
    assert not (outside / "ran").exists()
    assert SECRET not in log.getvalue().decode()


@needs_landlock
def test_a_foreign_build_adds_no_object_for_others(tree: Path, compiler: Userland, tmp_path: Path) -> None:
    objects = tmp_path / "ccache"
    (tree / "Makefile").write_text("all:\n\t@touch $$CCACHE_DIR/object\n")
    with pytest.raises(BuildFailed):
        made(tree, compiler, io.BytesIO(), Objects(objects, grows=False))
    assert not list(objects.iterdir())
    made(tree, compiler, io.BytesIO(), Objects(objects, grows=True))
    assert [path.name for path in objects.iterdir()] == ["object"]


@needs_landlock
def test_what_a_build_leaves_as_its_kernel_is_no_link(tree: Path, outside: Path, tmp_path: Path) -> None:
    (tree / "linux").symlink_to(outside / "id_rsa")
    with pytest.raises(BuildFailed, match="it left a link as linux"):
        compiling.collect(tree, "linux", tmp_path / "linux")
    assert not (tmp_path / "linux").exists()
