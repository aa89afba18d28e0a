"""A build happens once, tells what is wrong, and leaves nothing half-made. A tiny tree plays the kernel's source."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.errors import InputError
from lab.machine.kernel import BuildFailed, MissingTool, build, compilers, folder, installed
from lab.machine.kernel.uml import builder, compiling, recipe, source
from lab.machine.kernel.uml.recipe import Patch
from lab.spec.variant import ResolvedVariant
from tests.machine.kernel.caches import HEAD, another_cache

pytestmark = pytest.mark.long

MAKEFILE = (
    HEAD
    + """\
linux:
\t@echo "  CC      linux.o"

\ttest ! -e slow || sleep 60
\tgcc -static -o linux linux.c
"""
)
PROGRAM = """\
#include <stdio.h>
unsigned long long time_travel_time;
int main(void) { puts("seccomp=<on/auto/off>"); return 0; }
"""
PATCH = """\
A variant.
--- a/linux.c
+++ b/linux.c
@@ -1,2 +1,3 @@
 #include <stdio.h>
+/* variant */
 unsigned long long time_travel_time;
"""
SCRIPT = """\
import sys
from pathlib import Path
from lab.machine.kernel import build
from lab.machine.kernel.uml import compiling, recipe
from tests.machine.kernel.test_builder import counted
recipe.own_patches = lambda series: ()
compiling.make = counted(Path(sys.argv[1]).parent)
build(source_file=Path(sys.argv[1]))
"""
ROOT = Path(__file__).parents[3]
make = compiling.make


def counted(folder: Path) -> Callable[..., None]:
    """What runs make, and leaves a line in `folder` for each kernel: a build cannot write out of its own folder."""

    def run(tree: Path, goals: Sequence[str], *rest: Any, **options: Any) -> None:
        if "linux" in goals:
            with (folder / "builds").open("a") as log:
                log.write("x\n")
        make(tree, goals, *rest, **options)

    return run


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    another_cache(tmp_path / "cache", monkeypatch)
    monkeypatch.setattr(recipe, "own_patches", lambda _: ())
    monkeypatch.setattr(compiling, "make", counted(tmp_path))
    tree = tmp_path / "source"
    tree.mkdir()
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "linux.c").write_text(PROGRAM)
    return tree


def packed(tree: Path) -> Path:
    """The tree as it stands, as a tar file."""
    file = tree.parent / "linux-7.2.1.tar.gz"
    subprocess.run(["tar", "-czf", str(file), "-C", str(tree.parent), tree.name], check=True)
    return file


def builds(tree: Path) -> int:
    log = tree.parent / "builds"
    return len(log.read_text().split()) if log.exists() else 0


def leftovers() -> list[str]:
    for thread in threading.enumerate():
        if thread.name == "dispose":  # the program would end when it has
            thread.join()
    return sorted(path.name for path in folder().glob("*") if path.name.startswith((".", "failed")))


def test_built_once_and_known(tree: Path) -> None:
    kernel = build(source_file=packed(tree))
    assert (kernel.name, kernel.version, kernel.hz, kernel.seccomp) == ("7.2", "7.2.1", 1000, True)
    assert kernel.clock > 0
    assert os.access(kernel.path, os.X_OK)
    assert build("7.2", source_file=packed(tree)) == kernel
    assert installed() == [kernel]
    assert builds(tree) == 1
    assert leftovers() == []


def test_a_build_is_remembered_and_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed(tree)
    monkeypatch.setattr(source, "remembered", lambda *_: source.from_file(file))
    assert builder.built() is None
    assert build(source_file=file) == builder.built() == builder.built("7.2")


def test_no_program_of_the_host_takes_part(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = build(source_file=packed(tree))
    another_cache(tmp_path / "another" / "place", monkeypatch)
    own = tmp_path / "bin"
    own.mkdir()
    for name in ("ar", "as", "bison", "ccache", "cp", "flex", "gcc", "ld", "make", "nm", "patch", "setpriv", "sh"):
        (own / name).write_text("#!/bin/sh\nexit 9\n")
        (own / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    again = build(source_file=packed(tree))
    assert again.path != usual.path
    assert again.id == usual.id
    assert again.path.read_bytes() == usual.path.read_bytes()


def test_the_kernel_brings_its_own_libc(tree: Path) -> None:
    assert "CONFIG_STATIC_LINK=y" in recipe.config("6.1", 1000)
    program = build(source_file=packed(tree)).path.read_bytes()
    assert b"ld-linux" not in program[:4096]  # no interpreter is asked for


def test_variants_stand_beside_it(tree: Path, tmp_path: Path) -> None:
    patch = tmp_path / "more.patch"
    patch.write_text(PATCH)
    build(source_file=packed(tree))
    variant = build(patches=[patch], hz=250, source_file=packed(tree))
    assert (variant.name, variant.patches, variant.hz) == ("7.2-more-hz250", ("more",), 250)
    assert build("7.2-mine", patches=[patch], source_file=packed(tree)).name == "7.2-mine"
    assert {kernel.name for kernel in installed()} == {"7.2", "7.2-more-hz250", "7.2-mine"}


def test_a_patch_that_does_not_apply_is_named(tree: Path, tmp_path: Path) -> None:
    patch = tmp_path / "wrong.patch"
    patch.write_text(PATCH.replace(" #include", "-#include").replace("stdio.h", "absent.h").replace("1,3", "1,2"))
    with pytest.raises(
        BuildFailed, match=r"patch wrong does not apply: linux\.c \(1 of 1 hunk, the first at line 1\); the log is "
    ):
        build(patches=[patch], source_file=packed(tree))
    patch.write_text(PATCH + PATCH.replace("linux.c", "absent.c"))
    with pytest.raises(BuildFailed, match=r"patch wrong does not apply: there is no absent\.c; the log is "):
        build(patches=[patch], source_file=packed(tree))
    assert installed() == []


def test_a_tree_may_have_the_labs_patches_but_not_the_users(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = tmp_path / "more.patch"
    patch.write_text(PATCH)
    (tree / "linux.c").write_text(PROGRAM.replace("unsigned", "/* variant */\nunsigned"))
    with pytest.raises(BuildFailed, match="patch more does not apply: the tree has it already"):
        build(patches=[patch], source_file=packed(tree))
    monkeypatch.setattr(recipe, "own_patches", lambda _: (Patch("0001-more", PATCH.encode(), ours=True),))
    assert build(source_file=packed(tree)).patches == ()
    other = PATCH.replace("1,3", "1,2").replace(" unsigned", "-unsigned").encode()
    monkeypatch.setattr(recipe, "own_patches", lambda _: (Patch("0001-more", other, ours=True),))
    (tree / "linux.c").write_text("int main(void) { return 0; }\n")
    with pytest.raises(BuildFailed, match=r"the lab's patch 0001-more does not apply: linux\.c \(1 of 1 hunk"):
        build(source_file=packed(tree))


def test_a_fragment_makes_another_kernel(tree: Path, tmp_path: Path) -> None:
    fragment = tmp_path / "tunnels.config"
    fragment.write_text("CONFIG_NET_IPIP=y\n# CONFIG_VETH is not set\n")
    plain, kernel = build(source_file=packed(tree)), build(config=[fragment], source_file=packed(tree))
    assert (kernel.name, kernel.config, kernel.base, kernel.max_header) == ("7.2-tunnels", ("tunnels",), plain.id, 32)
    lines = kernel.path.with_name("config").read_text().splitlines()
    assert "CONFIG_NET_IPIP=y" in lines
    assert "CONFIG_VETH=y" not in lines
    assert plain.variant(ResolvedVariant(config=(fragment,))) == kernel
    fragment.write_text("CONFIG_NET_IPIP=y\n")
    assert build("7.2-other", config=[fragment], source_file=packed(tree)).id != kernel.id


def test_a_fragments_option_that_is_dropped_stops_the_build(tree: Path, tmp_path: Path) -> None:
    fragment = tmp_path / "odd.config"
    fragment.write_text("\nCONFIG_ODD=y\n")
    (tree / "Makefile").write_text(
        MAKEFILE.replace("cp $(KCONFIG", "grep -v ODD $(KCONFIG").replace(") .config", ") > .config")
    )
    with pytest.raises(InputError, match=r"odd\.config:2: CONFIG_ODD: this kernel has no such option"):
        build(config=[fragment], source_file=packed(tree))
    assert installed() == []
    assert leftovers() == []


def test_a_build_failure_keeps_its_log_only(tree: Path) -> None:
    (tree / "linux.c").write_text("int main(void) { return nothing; }\n")
    with pytest.raises(
        BuildFailed, match=r"kernel 7.2 \(7.2.1\): make linux failed: .*error.*; the log is (\S+)"
    ) as info:
        build(source_file=packed(tree))
    log = Path(str(info.value).rpartition(" ")[2])
    assert "nothing" in log.read_text()
    assert installed() == []
    assert leftovers() == [log.name]


def test_a_lost_option_stops_the_build(tree: Path) -> None:
    (tree / "Makefile").write_text(
        MAKEFILE.replace("cp $(KCONFIG", "grep -v VETH $(KCONFIG").replace(") .config", ") > .config")
    )
    with pytest.raises(BuildFailed, match="did not keep CONFIG_VETH=y"):
        build(source_file=packed(tree))


def test_names_and_sources_must_fit(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kernel name 'mine' has no series; start it with one"):
        build("mine", source_file=packed(tree))
    with pytest.raises(InputError, match=r"is 7\.2\.1, not 6\.12"):
        build("6.12", source_file=packed(tree))
    with pytest.raises(InputError, match=r"absent\.deb: no such file"):
        build(source_file=tmp_path / "absent.deb")


def test_a_tree_without_git_names_the_package(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "git" else found(tool))
    with pytest.raises(MissingTool, match="needs git; run `sudo apt-get install git`") as info:
        build(tree=tree)
    assert info.value.exit_code == 3


def start(source: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(source)], stderr=subprocess.PIPE, cwd=ROOT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing(tree: Path, number: int) -> None:
    (tree / "slow").touch()
    process = start(packed(tree))
    for _ in range(500):
        if builds(tree):
            break
        time.sleep(0.02)
    process.send_signal(number)
    with process:
        process.wait(10)
    assert leftovers() == []
    assert installed() == []


def test_what_a_killed_build_left_is_removed_by_the_next(tree: Path) -> None:
    (tree / "slow").touch()
    process = start(packed(tree))
    for _ in range(500):
        if builds(tree):
            break
        time.sleep(0.02)
    with process:
        process.kill()
    assert len(leftovers()) == 1
    (tree / "slow").unlink()
    build(source_file=packed(tree))
    assert leftovers() == []


def test_two_builds_at_once_do_it_once(tree: Path) -> None:
    source = packed(tree)
    for process in [start(source), start(source)]:
        with process:
            assert process.wait(30) == 0
    assert builds(tree) == 1


def test_a_ctrl_c_while_the_time_limit_starts_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start, timers = threading.Timer.start, list[threading.Timer]()

    def interrupted(timer: threading.Timer) -> None:
        start(timer)
        timers.append(timer)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Timer, "start", interrupted)
    arguments = (tmp_path, dict(os.environ), compilers.PROGRAM, "the build", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        compiling._execute(["sh", "-c", "echo $$ > fresh && mv fresh pid; exec sleep 60"], *arguments)
    (timer,) = timers
    timer.join(10)
    assert not timer.is_alive(), "otherwise the program would not end before it"
    if (tmp_path / "pid").exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
