"""A tree is built as it stands, in a copy that is kept: what did not change is not compiled again."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.base.building import Silent
from lab.errors import InputError
from lab.machine.kernel import BuildFailed, Checkout, KernelMissing, build, folder, installed, revision
from lab.machine.kernel.uml import builder, cache, recipe
from lab.machine.kernel.uml.git import git
from lab.spec import variant
from lab.spec.experiment import Variant
from tests.machine.kernel.caches import HEAD, another_cache
from tests.waiting import until

pytestmark = [pytest.mark.needs("git"), pytest.mark.long]

MAKEFILE = (
    HEAD
    + """\
linux: main.o part.o
\tgcc -static -o $@ $^
%.o: %.c
\t@echo "  CC      $@"
\ttest ! -e slow || sleep 60
\tgcc -c -o $@ $<
"""
)
MAIN = """\
#include <stdio.h>
unsigned long long time_travel_time;
int main(void) { puts("seccomp=<on/auto/off>"); return 0; }
"""
PATCH = """\
Ours.
--- a/part.c
+++ b/part.c
@@ -1 +1,2 @@
 int part;
+int patched;
--- /dev/null
+++ b/added.c
@@ -0,0 +1 @@
+int added;
"""
SCRIPT = """\
import sys
from pathlib import Path
from lab.machine.kernel import build
from lab.machine.kernel.uml import recipe
recipe.own_patches = lambda series: ()
build(tree=Path(sys.argv[1]))
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    another_cache(tmp_path / "cache", monkeypatch)
    monkeypatch.setattr(recipe, "own_patches", lambda _: ())
    tree = tmp_path / "mine"
    (tree / "arch" / "um").mkdir(parents=True)
    (tree / "arch" / "um" / "Makefile").write_text("# UML\n")
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "main.c").write_text(MAIN)
    (tree / "part.c").write_text("int part;\n")
    return tree


def compiled(tree: Path) -> list[str]:
    """What was compiled since this was last asked."""
    asked = tree.parent / "asked"
    since = asked.stat().st_mtime_ns if asked.exists() else 0
    logs = [each for each in (*folder().glob("*/build.log"), *folder().glob("failed-*.log")) if each.exists()]
    fresh = [each.read_text() for each in logs if each.stat().st_mtime_ns > since]
    asked.touch()
    return sorted(f"{name}.c" for text in fresh for name in re.findall(r"^  CC +(\S+)\.o", text, re.MULTILINE))


def content(tree: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in tree.rglob("*") if path.is_file()}


def test_only_what_changed_is_compiled(tree: Path) -> None:
    before = content(tree)
    first = build(tree=tree)
    assert (first.name, first.version) == ("7.2-mine", "7.2.1")
    assert content(tree) == before
    assert compiled(tree) == ["main.c", "part.c"]
    assert build(tree=tree) == first
    (tree / "part.c").write_text("int part = 2;\n")
    second = build(tree=tree)
    assert compiled(tree) == ["part.c"]
    assert second.id != first.id
    assert cache.find("7.2-mine") == second
    assert len(installed()) == 2


def test_a_tree_is_known_by_its_content(tree: Path) -> None:
    first = build(tree=tree)
    compiled(tree)
    os.utime(tree / "part.c")
    for product in ("main.o", ".config", "vmlinux"):
        (tree / product).write_text("made by the user's own build\n")
    assert build(tree=tree) == first
    git("init", "--quiet", where=tree)
    assert build(tree=tree) == first
    assert compiled(tree) == []


def test_patches_go_on_a_copy_and_off_it_again(tree: Path, tmp_path: Path) -> None:
    patch = tmp_path / "ours.patch"
    patch.write_text(PATCH)
    build(tree=tree)
    compiled(tree)
    assert build(tree=tree, patches=[patch]).name == "7.2-mine-ours"
    assert compiled(tree) == ["part.c"]
    (tree / "main.c").write_text(MAIN + "\n")
    build(tree=tree, patches=[patch])
    assert compiled(tree) == ["main.c", "part.c"]  # a patch may be a stranger's: no later build trusts what it left
    assert not (tree / "added.c").exists()
    build(tree=tree)
    assert compiled(tree) == ["main.c", "part.c"]
    (tree / "part.c").write_text("int part = 3;\n")
    build(tree=tree)
    assert compiled(tree) == ["part.c"]


def test_a_variant_may_be_built_from_a_tree(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "theirs"
    shutil.copytree(tree, other)
    (other / "part.c").write_text("int part = 7;\n")
    usual, patch = build(tree=tree), tmp_path / "ours.patch"
    patch.write_text(PATCH.replace("int part;", "int part = 7;"))
    wanted = variant.resolve(Variant(tree="other/theirs", patches=("ours.patch",)), tmp_path)
    assert wanted.version == "7.2.1"
    with pytest.raises(KernelMissing, match=r"a kernel with tree .*theirs and patch ours\.patch is not built here"):
        usual.variant(wanted)
    made = builder.variant("6.12", wanted, Silent())
    assert (made.name, made.tree) == ("7.2-theirs-ours", "theirs")
    assert usual.variant(wanted) == made
    assert wanted.describes(made.describe())
    (other / "main.c").write_text(MAIN + "\n")
    with pytest.raises(KernelMissing):
        usual.variant(wanted)
    shutil.rmtree(other)
    with pytest.raises(KernelMissing, match="theirs: not a kernel tree, because it has no Makefile"):
        usual.variant(wanted)


def test_after_a_patch_that_fails_halfway_its_part_is_undone(tree: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.patch", tmp_path / "bad.patch"
    good.write_text(PATCH)
    bad.write_text(PATCH.replace("1 +1,2", "1 +1").replace(" int part;", "-int other;").replace("added", "more"))
    with pytest.raises(BuildFailed, match=r"patch bad does not apply: part\.c"):
        build(tree=tree, patches=[good, bad])
    assert build(tree=tree).name == "7.2-mine"
    assert build(tree=tree, patches=[good]).name == "7.2-mine-good"


def test_after_a_failure_the_next_build_goes_on(tree: Path) -> None:
    build(tree=tree)
    (tree / "part.c").write_text("int part = ;\n")
    with pytest.raises(BuildFailed, match="make linux failed"):
        build(tree=tree)
    compiled(tree)
    (tree / "part.c").write_text("int part = 4;\n")
    build(tree=tree)
    assert compiled(tree) == ["part.c"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_after_an_interrupted_build_no_object_is_trusted(tree: Path, number: int) -> None:
    build(tree=tree)
    compiled(tree)
    (tree / "part.c").write_text("int part = 5;\n")
    (tree / "slow").touch()
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(tree)], stderr=subprocess.PIPE) as process:
        until(lambda: compiled(tree))
        process.send_signal(number)
    (tree / "slow").unlink()
    build(tree=tree)
    assert compiled(tree) == ["main.c", "part.c"]


@pytest.mark.parametrize(
    ("missing", "message"), [("Makefile", "it has no Makefile"), ("arch/um/Makefile", "it has no arch/um")]
)
def test_a_folder_that_is_no_kernel_tree(tree: Path, missing: str, message: str) -> None:
    (tree / missing).unlink()
    if missing.startswith("arch"):
        (tree / "arch" / "um").rmdir()
    with pytest.raises(InputError, match=message):
        build(tree=tree)


def test_a_makefile_without_a_version(tree: Path) -> None:
    (tree / "Makefile").write_text("all:\n")
    with pytest.raises(InputError, match="it has no kernel version"):
        build(tree=tree)


def test_a_commit_taken_back_has_the_kernel_from_before(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder named from where the user stands, while guests start elsewhere."""
    author = {f"GIT_{who}_{what}": "lab@lab" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    git("init", "--quiet", where=tree)
    for part in ("int part;", "int part, more;", "int part;"):
        (tree / "part.c").write_text(f"{part}\n")
        git("add", "--all", where=tree)
        git("commit", "--quiet", "--message", part, where=tree, environment=author)
    monkeypatch.chdir(tree.parent)
    Path("scratch").mkdir()
    checkout = Checkout.of(tree, Path("scratch"))
    commits = [git("rev-parse", f"HEAD~{back}", where=tree) for back in (2, 1, 0)]
    before, between, after = (revision(checkout, commit, Path("scratch/kernels"), Silent()) for commit in commits)
    assert before == after != between
    assert subprocess.run([after.path], cwd="/", capture_output=True).returncode == 0
