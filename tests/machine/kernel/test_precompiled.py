"""Objects start from a header that is read once, and come out as if each had read it itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.base.building import Silent
from lab.machine.kernel.uml import compiling, precompiled
from lab.machine.kernel.uml.precompiled import HEADERS, MAKE, SHARED, STAMP, Call, defines_before_including
from lab.machine.userland.builder import build
from lab.machine.userland.program import LAUNCHERS

OPTIONS = ("-nostdinc", "-Iinclude", "-include", "include/first.h", "-D__KERNEL__", "-O2")
MODULE = """\
#ifndef MODULE_H
#define MODULE_H
#ifndef WHO
#define WHO "nobody"
#endif
#define MODULE_SIZE 7
#ifdef CONFIG_ROOM
#define MODULE_ROOM 1
#endif
#define NAME KBUILD_MODNAME
struct module { int size; };
#endif
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with headers where a kernel's are, as the current folder."""
    for header in HEADERS:
        file = tmp_path / "include" / header
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(MODULE if header == "linux/module.h" else "")
    (tmp_path / "include" / "first.h").write_text("#ifdef FIRST\n#error twice\n#endif\n#define FIRST\n")
    (tmp_path / "include" / "other.h").write_text("#define OTHER 3\n")
    (tmp_path / "sample.c").write_text("int sample;\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, make: bool = False) -> subprocess.CompletedProcess[str]:
    compiler = build("compiler", Silent()).tree / LAUNCHERS
    environment = {"PATH": f"{compiler}:{os.defpath}", "LC_ALL": "C", **({MAKE: "1"} if make else {})}
    command = [sys.executable, "-I", "-S", precompiled.__file__, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def compile_(name: str, *more: str, make: bool = False) -> subprocess.CompletedProcess[str]:
    own = (f"-Wp,-MMD,.{name}.o.d", f'-DKBUILD_MODNAME="{name}"', "-c", "-o", f"{name}.o", f"{name}.c")
    return run(*OPTIONS, *more, *own, make=make)


def prerequisites(name: str) -> list[str]:
    return Path(f".{name}.o.d").read_text().replace("\\\n", " ").split()[1:]


@pytest.fixture
def shared(tree: Path) -> Path:
    """The tree with a precompiled header."""
    assert compile_("sample", make=True).returncode == 0
    return tree


def test_an_object_starts_from_the_shared_header(shared: Path) -> None:
    (shared / "part.c").write_text("#include <linux/module.h>\n#include <other.h>\nint part = MODULE_SIZE + OTHER;\n")
    assert compile_("part").returncode == 0
    assert prerequisites("part") == ["part.c", "include/other.h", STAMP]


def test_it_comes_out_as_without(tree: Path) -> None:
    (tree / "part.c").write_text("#include <linux/module.h>\nconst char *part = NAME;\nint size = MODULE_SIZE;\n")
    assert compile_("part").returncode == 0
    alone = (tree / "part.o").read_bytes()
    assert compile_("sample", make=True).returncode == 0
    assert compile_("part").returncode == 0
    assert STAMP in prerequisites("part")
    assert (tree / "part.o").read_bytes() == alone


def test_what_a_file_defines_first_is_meant_for_its_headers(shared: Path) -> None:
    (shared / "part.c").write_text('#define WHO "me"\n#include <linux/module.h>\nconst char part[] = WHO;\n')
    assert compile_("part").returncode == 0
    assert "include/linux/module.h" in prerequisites("part")
    assert b"me\0" in (shared / "part.o").read_bytes()


@pytest.mark.parametrize("option", ["-DWHO=5", "-Iinclude/linux", "-O1", "-fno-common"])
def test_an_object_with_options_of_its_own_reads_for_itself(shared: Path, option: str) -> None:
    (shared / "part.c").write_text("#include <linux/module.h>\nint part;\n")
    assert compile_("part", option).returncode == 0
    assert "include/linux/module.h" in prerequisites("part")


def test_a_file_that_does_not_go_with_the_shared_headers_is_compiled_without(shared: Path) -> None:
    (shared / "part.c").write_text("struct module { char other; };\nint part = sizeof(struct module);\n")
    assert compile_("part").returncode == 0
    assert prerequisites("part") == ["part.c", "include/first.h"]


def test_an_error_is_gccs(shared: Path) -> None:
    (shared / "part.c").write_text("int part = nothing;\n")
    done = compile_("part")
    assert done.returncode == 1
    assert "part.c:1:12: error: 'nothing' undeclared" in done.stderr
    assert not list(shared.glob("*.names.h"))


def test_a_changed_header_is_another_stamp(shared: Path) -> None:
    before = (shared / STAMP).read_text()
    assert "CONFIG_ROOM" in before.splitlines()
    written = (shared / STAMP).stat().st_mtime_ns
    assert compile_("sample", make=True).returncode == 0
    assert (shared / STAMP).stat().st_mtime_ns == written  # nothing changed: no object is out of date
    with (shared / "include/linux/module.h").open("a") as file:
        file.write("/* more */\n")
    assert compile_("sample", make=True).returncode == 0
    assert (shared / STAMP).read_text() != before


def test_without_a_header_that_compiles_there_is_none(tree: Path) -> None:
    (tree / "include/linux/mm.h").write_text("#error no\n")
    assert compile_("sample", make=True).returncode == 0
    assert not (tree / f"{SHARED}.options").exists()
    assert prerequisites("sample") == ["sample.c", "include/first.h"]


def test_an_earlier_header_is_not_used_when_there_is_none_now(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("prepare net/socket.o:\n\t@true\n")
    left = [tmp_path / f"{SHARED}.options", tmp_path / STAMP]
    for each in left:
        each.write_text("of another commit")
    with (tmp_path / "log").open("wb") as log:
        objects = compiling.Objects(tmp_path / "ccache", True)
        compiling.precompile(tmp_path, log, build("compiler", Silent()), objects)
    assert not any(each.exists() for each in left)


def test_what_is_no_object_goes_to_gcc(shared: Path) -> None:
    assert run("--version").stdout.startswith("gcc")
    (shared / "part.c").write_text("int main(void) { return 0; }\n")
    assert run("-c", "-o", "part.o", "part.c").returncode == 0


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("#include <a.h>\n#define A\n", False),
        ("#define A\n#include <a.h>\n", True),
        ("# undef A\n  #  include <a.h>\n", True),
        ("#if A\n#include <a.h>\n#endif\n", False),
        ("#include <a.h>\n#define A\n#include <b.h>\n", True),
        ("#define A\n", False),
        ("", False),
    ],
)
def test_macros_before_includes(tmp_path: Path, source: str, found: bool) -> None:
    (tmp_path / "file.c").write_text(source)
    assert defines_before_including(str(tmp_path / "file.c")) is found


def test_options_are_alike_in_another_order() -> None:
    one = Call(["-Ia", "-Ib", "-D__KERNEL__", "-O2", "-c", "-o", "x.o", "x.c"])
    same = Call(["-O2", "-fdiagnostics-color", "-c", "-Ia", "-D__KERNEL__", "-Ib", "-o", "y.o", "y.c"])
    other = Call(["-Ib", "-Ia", "-D__KERNEL__", "-O2", "-c", "-o", "x.o", "x.c"])
    assert one.kind == same.kind != other.kind
