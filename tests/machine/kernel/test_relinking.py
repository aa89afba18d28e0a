"""A kernel with changed C files is built from the parts of another kernel: same bytes as a whole build, in seconds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.base.building import Silent, alone
from lab.errors import InputError, MachineError
from lab.machine.kernel import BuildFailed, UmlKernel, build, find, folder, installed
from lab.machine.kernel.uml import compiling, recipe, relinking
from lab.machine.kernel.uml.relinking import Parts
from lab.machine.userland.builder import build as userland
from lab.machine.userland.program import command
from lab.spec.errors import SpecError
from tests.machine.kernel.caches import another_cache
from tests.machine.kernel.test_builder import leftovers

pytestmark = pytest.mark.long

MAKEFILE = """\
VERSION = 7
PATCHLEVEL = 2
SUBLEVEL = 1
export KBUILD_LDS := arch/um/kernel/vmlinux.lds
export FLAGS := -static
export MAKE
export BASH := bash
export LAUNCHERS := $(PATH)
include net/ipv4/Makefile
OBJECTS := init/main.o kernel/time/timer.o $(addprefix net/ipv4/,$(obj-y)) net/core/sock.o net/sched/sock.o
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) .config
prepare net/socket.o:
\t@true
%.o: %.c
\tgcc -Iinclude -c -o $@ $<
\t@echo 'savedcmd_$@ := gcc -Iinclude -c -o $@ $<' > $(@D)/.$(@F).cmd
linux: $(OBJECTS)
\trm -f vmlinux.a
\tar cDPrST vmlinux.a $^
\tscripts/link-vmlinux.sh "vmlinux"
\t@echo 'savedcmd_vmlinux := scripts/link-vmlinux.sh "vmlinux"; test -n "$$$$FLAGS"' > .vmlinux.cmd
\tln -f vmlinux linux
"""
LINK = """\
#!/bin/sh
set -e
test -e $KBUILD_LDS
${MAKE} --version >made
gcc $FLAGS -o $1 -Wl,--whole-archive vmlinux.a -Wl,--no-whole-archive
"""
MAIN = """\
#include <stdio.h>
unsigned long long time_travel_time;
int cubic(void);
int main(void) { puts("seccomp=<on/auto/off>"); return cubic(); }
"""
CUBIC = '#include "net/tcp.h"\nint cubic(void)\n{\n\treturn BETA;\n}\n'
CONTEXT = """\
*** a/include/net/tcp.h
--- b/include/net/tcp.h
***************
*** 1 ****
! #define BETA 7
--- 1 ----
! #define BETA 9
"""
FILES = {
    "Makefile": MAKEFILE,
    "arch/um/kernel/vmlinux.lds": "/* no sections */\n",
    "include/larger.h": "#define LARGER(x) (x + nowhere)\n",
    "include/net/tcp.h": "#define BETA 7\n",
    "init/main.c": MAIN,
    "kernel/time/timer.c": '#include "internal.h"\nint timer = TIMER;\n',
    "kernel/time/internal.h": "#define TIMER 7\n",
    "net/ipv4/Makefile": "obj-y += tcp.o tcp_cubic.o\n",
    "net/ipv4/tcp.c": "int tcp;\n",
    "net/ipv4/tcp_bic.c": "int bic;\n",
    "net/ipv4/tcp_cubic.c": CUBIC,
    "net/core/sock.c": "int core;\n",
    "net/sched/sock.c": "int sched;\n",
    "scripts/link-vmlinux.sh": LINK,
}


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny tree that builds like a kernel, in a tar file, beside an empty cache."""
    another_cache(tmp_path / "cache", monkeypatch)
    monkeypatch.setattr(recipe, "own_patches", lambda _: ())
    for name, text in FILES.items():
        file = tmp_path / "source" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "source" / "scripts" / "link-vmlinux.sh").chmod(0o755)
    file = tmp_path / "linux-7.2.1.tar.gz"
    subprocess.run(["tar", "-czf", str(file), "-C", str(tmp_path), "source"], check=True)
    return file


@pytest.fixture
def one_build(packed: Path, monkeypatch: pytest.MonkeyPatch) -> UmlKernel:
    """The plain kernel; a second whole build fails."""
    kernel = build(source_file=packed)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a whole build")

    monkeypatch.setattr(compiling, "configure", refuse)
    return kernel


def written(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_an_unchanged_file_is_the_plain_kernel(packed: Path, one_build: UmlKernel, tmp_path: Path) -> None:
    assert build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC)]) == one_build
    assert leftovers() == []


def test_a_change_without_effect_gives_the_same_bytes(packed: Path, one_build: UmlKernel, tmp_path: Path) -> None:
    kernel = build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", f"{CUBIC}/* the end */\n")])
    assert (kernel.name, kernel.patches, kernel.base) == ("7.2-tcp_cubic", ("tcp_cubic",), one_build.id)
    assert kernel.id != one_build.id
    assert kernel.path.read_bytes() == one_build.path.read_bytes()
    assert kernel.clock == one_build.clock
    assert not kernel.path.with_name(relinking.KEPT).exists()
    assert leftovers() == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tcp_cubic.c", CUBIC.replace("BETA", "BETA + 1")),
        ("tcp_cubic.c", CUBIC.removesuffix("\n")),
        ("tcp_cubic.c", CUBIC.replace("\n", "\r\n")),
        ("tcp_mine.c", "int mine;\n"),
        ("tcp_bic.c", "int bic;\n"),  # a file of the source that the kernel does not have
        ("core/sock.c", "int core, more;\n"),
        ("timer.c", '#include "internal.h"\nint timer = 1 + TIMER;\n'),
    ],
)
def test_a_whole_build_gives_the_same_kernel(
    packed: Path, tmp_path: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, name, text)
    kernel = build(source_file=packed, files=[file])
    assert kernel.patches == (file.stem,)
    again = built_whole(packed, [file], kernel, tmp_path / "kept", monkeypatch)
    assert subprocess.run([again.path]).returncode == (8 if "+ 1" in text else 7)


def built_whole(
    packed: Path, files: list[Path], kernel: UmlKernel, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> UmlKernel:
    """The kernel of a whole build, which has the same bytes as `kernel`. That one is moved to `kept`."""
    kernel.path.parent.rename(kept)
    with monkeypatch.context() as patched:
        patched.setattr(Parts, "sources", lambda *_: ())
        again = build(source_file=packed, files=files)
    assert (again.id, again.digests) == (kernel.id, kernel.digests)
    assert again.path.read_bytes() == (kept / "linux").read_bytes()
    return again


def test_a_patch_of_such_files_takes_no_whole_build(packed: Path, one_build: UmlKernel, tmp_path: Path) -> None:
    text = "--- a/net/ipv4/tcp.c\n+++ b/net/ipv4/tcp.c\n@@ -1 +1,2 @@\n int tcp;\n+int more;\n"
    kernel = build(source_file=packed, patches=[written(tmp_path, "more.patch", text)])
    assert (kernel.name, kernel.base) == ("7.2-more", one_build.id)
    text = "--- a/include/net/tcp.h\n+++ b/include/net/tcp.h\n@@ -1 +1 @@\n-#define BETA 7\n+#define BETA 9\n"
    with pytest.raises(AssertionError, match="a whole build"):
        build(source_file=packed, patches=[written(tmp_path, "header.patch", text)])


@pytest.mark.parametrize(
    "also",
    [
        "--- a/include/net/tcp.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-#define BETA 7\n",
        "diff --git a/net/core/sock.c b/net/core/more.c\nrename from net/core/sock.c\nrename to net/core/more.c\n",
        "diff --git a/net/core/sock.c b/net/core/more.c\ncopy from net/core/sock.c\ncopy to net/core/more.c\n",
        CONTEXT,
    ],
)
@pytest.mark.usefixtures("one_build")
def test_a_patch_that_does_more_takes_a_whole_build(packed: Path, tmp_path: Path, also: str) -> None:
    text = "--- a/net/ipv4/tcp.c\n+++ b/net/ipv4/tcp.c\n@@ -1 +1,2 @@\n int tcp;\n+int more;\n"
    with pytest.raises(AssertionError, match="a whole build"):
        build(source_file=packed, patches=[written(tmp_path, "more.patch", text + also)])


def test_two_new_files_and_a_changed_one(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [written(tmp_path, f"tcp_{name}.c", f"int {name} = 1;\n") for name in ("two", "one")]
    files.append(written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1")))
    kernel = build(source_file=packed, files=files)
    assert kernel.name == "7.2-tcp_two-tcp_one-tcp_cubic"
    again = built_whole(packed, files, kernel, tmp_path / "kept", monkeypatch)
    assert subprocess.run([again.path]).returncode == 1


@pytest.mark.usefixtures("one_build")
def test_the_kernel_of_the_last_build_answers_to_the_name(packed: Path, tmp_path: Path) -> None:
    first, second = (
        build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", beta))])
        for beta in "12"
    )
    assert find("7.2-tcp_cubic") == second
    assert build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1"))]) == first
    assert find("7.2-tcp_cubic") == first


def test_a_build_from_parts_needs_less_room(
    packed: Path, one_build: UmlKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 30))
    file = written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1"))
    assert build(source_file=packed, files=[file]).base == one_build.id
    with pytest.raises(MachineError, match="temporarily needs 3072 MiB"):
        build(source_file=packed, files=[file], hz=250)
    assert leftovers() == []


def test_the_plain_kernel_may_have_another_name(packed: Path, tmp_path: Path) -> None:
    plain = build("7.2-mine", source_file=packed)
    kernel = build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1"))])
    assert (kernel.name, kernel.base) == ("7.2-tcp_cubic", plain.id)


@pytest.mark.usefixtures("one_build")
def test_a_failed_comparison_is_no_unchanged_file(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relinking, "command", lambda tree, program, *_: command(tree, program, "--no-such-option"))
    with pytest.raises(BuildFailed, match=r"cannot compare net/ipv4/tcp_cubic\.c with the kernel's: .*diff"):
        build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1"))])


def test_damaged_unpacked_parts_are_unpacked_again(packed: Path, one_build: UmlKernel, tmp_path: Path) -> None:
    build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1"))])
    (relinking.unpacked(one_build.path.parent) / "tree" / "include" / "net" / "tcp.h").unlink()
    kernel = build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "BETA + 1"))])
    assert subprocess.run([kernel.path]).returncode == 8


def test_the_parts_name_no_folder_of_this_machine(one_build: UmlKernel) -> None:
    with alone(folder(), Silent()):
        parts = Parts.of(one_build.path.parent, userland("compiler", Silent()))
    assert parts is not None
    assert parts.index.environment["FLAGS"] == "-static"
    assert "SHLVL" not in parts.index.environment
    assert [name for name, value in parts.index.environment.items() if "/cache/" in value] == []


def test_errors_name_the_users_file(packed: Path, one_build: UmlKernel, tmp_path: Path) -> None:
    file = written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "nothing;\n\treturn none"))
    with pytest.raises(SpecError) as info:
        build(source_file=packed, files=[file])
    assert [(each.file, each.line) for each in info.value.problems] == [(str(file), 4), (str(file), 5)]
    assert "'nothing' undeclared" in info.value.problems[0].message
    file.write_text('#include "larger.h"\n' + CUBIC.replace("BETA", "LARGER(nothing)"))  # a mistake in the header, too
    with pytest.raises(SpecError) as info:
        build(source_file=packed, files=[file])
    assert [(each.file, each.line) for each in info.value.problems] == [(str(file), 5)]
    file.write_text(CUBIC.replace("BETA", "absent()").replace("int cubic", "int absent(void);\nint cubic"))
    with pytest.raises(InputError, match=r"tcp_cubic\.c: it does not link: undefined reference to .absent"):
        build(source_file=packed, files=[file])
    file.write_text(f'#include "/etc/passwd"\n{CUBIC}')
    with pytest.raises(SpecError, match=r"tcp_cubic\.c:1: /etc/passwd: Permission denied"):
        build(source_file=packed, files=[file])
    assert installed() == [one_build]
    assert leftovers() == []


def test_names_and_files_must_fit(packed: Path, one_build: UmlKernel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.c: cannot be read: no such file"):
        build(source_file=packed, files=[tmp_path / "absent.c"])
    with pytest.raises(InputError, match=r"tcp-x\.c: not a name for a kernel's C source; use letters"):
        build(source_file=packed, files=[written(tmp_path, "tcp-x.c", "int x;\n")])
    files = [written(tmp_path / name, "tcp_x.c", "int x;\n") for name in ("one", "two")]
    with pytest.raises(InputError, match=r"two/tcp_x\.c: \S+/one/tcp_x\.c replaces net/ipv4/tcp_x\.c already"):
        build(source_file=packed, files=files)
    with pytest.raises(InputError, match=r"use a path that ends in one of net/core/sock\.c, net/sched/sock\.c"):
        build(source_file=packed, files=[written(tmp_path, "sock.c", "int x;\n")])
    with pytest.raises(InputError, match=r"tcp_x\.c: it is not text; name a C source"):
        build(source_file=packed, files=[written(tmp_path, "tcp_x.c", "int\0x;\n")])
    with pytest.raises(InputError, match=r"tcp_x\.c: it is more than 1048576 bytes"):
        build(source_file=packed, files=[written(tmp_path, "tcp_x.c", "//" + "x" * relinking.MOST)])
    with pytest.raises(InputError, match="change the file in the tree"):
        build(tree=tmp_path, files=[tmp_path / "tcp_x.c"])
    assert installed() == [one_build]


@pytest.mark.parametrize("damage", [b"", b"\x28\xb5\x2f\xfd", b"no archive at all", None])
def test_a_kernel_without_parts_is_built_once_more(packed: Path, tmp_path: Path, damage: bytes | None) -> None:
    plain = build(source_file=packed)
    kept = plain.path.with_name(relinking.KEPT)
    good = kept.read_bytes()
    kept.write_bytes(good[:-100] if damage is None else damage)
    builds_once_more(packed, plain, good, tmp_path)


def test_a_kernel_with_the_parts_of_fewer_folders_is_built_once_more(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(relinking, "_CODE", ("net",))
        plain = build(source_file=packed)
    kept = plain.path.with_name(relinking.KEPT)
    fewer = kept.read_bytes()
    builds_once_more(packed, plain, None, tmp_path)
    assert kept.read_bytes() != fewer


def builds_once_more(packed: Path, plain: UmlKernel, good: bytes | None, tmp_path: Path) -> None:
    """Check that a changed file takes another whole build of the plain kernel, which leaves the parts `good`."""
    kept = plain.path.with_name(relinking.KEPT)
    before = plain.path.stat()
    said = Remarks()
    build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1"))], progress=said)
    assert said.remarks == ["building kernel 7.2 again, once, because it has no intact parts to link again"]
    assert good in (None, kept.read_bytes())
    assert plain.path.stat() == before  # guests may be running it
    assert leftovers() == []


def test_a_kernel_that_links_in_another_way_has_no_parts(packed: Path, tmp_path: Path) -> None:
    other = tmp_path / "source" / "Makefile"
    other.write_text(MAKEFILE.replace(".vmlinux.cmd", ".other.cmd"))
    subprocess.run(["tar", "-czf", str(packed), "-C", str(tmp_path), "source"], check=True)
    with pytest.raises(MachineError, match=r"kernel 7\.2 \(7\.2\.1\) cannot be linked again; make a patch instead"):
        build(source_file=packed, files=[written(tmp_path, "tcp_cubic.c", CUBIC.replace("BETA", "1"))])


class Remarks(Silent):
    """Keeps the remarks of a build."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def remark(self, text: str) -> None:
        self.remarks.append(text)
