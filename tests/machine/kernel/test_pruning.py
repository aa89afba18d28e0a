"""Old kernels of changed C files are removed, but none that is in use or cannot be built again."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lab.base.building import Silent, holding
from lab.errors import InputError
from lab.machine.kernel import KernelMissing, UmlKernel, find, folder, installed
from lab.machine.kernel.uml import builder, cache, pruning, recipe, source
from lab.machine.kernel.uml.recipe import Patch
from lab.machine.kernel.uml.relinking import Change
from lab.machine.userland import builder as userland

CUBIC = "7.2-tcp_cubic"
HOLDER = """
import sys
from pathlib import Path
from lab.base.building import holding
with holding([Path(sys.argv[1])]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    remember(folder(), "7.2.13-1", "c" * 64)
    return folder()


def remember(home: Path, version: str, sha256: str) -> None:
    """Let this be the newest source of 7.2."""
    source._remember(home / "sources" / "7.2.json", source.Source("7.2", version, sha256))


def put(home: Path, key: str, name: str = CUBIC, when: int = 0, patches: bool = True) -> UmlKernel:
    """A kernel of a changed file in the cache, which a build returned at this second."""
    change = Patch("tcp_cubic", f"--- a/{key}\n+++ b/{key}\n".encode())
    found = source.remembered(home, "7.2")
    assert found is not None
    plain = source.plain_recipe(found)
    ident = replace(plain, patches=(*plain.patches, change)).id
    place = home / ident
    place.mkdir(parents=True)
    (place / "linux").write_bytes(bytes(5000))
    kernel = UmlKernel(
        name, "7.2.13-1", ident, 1000, ("tcp_cubic",), place / "linux", 4096, True, base=plain.id, digests=(key,)
    )
    cache.save(kernel)
    os.utime(place / cache.RECORD, (when, when))
    if patches:
        cache.keep_changes(home, ident, name, [change])
    return kernel


def ids(kernels: list[UmlKernel] | tuple[UmlKernel, ...]) -> set[str]:
    return {kernel.digests[0] for kernel in kernels}


def test_the_newest_of_each_name_stay(home: Path) -> None:
    for number, letter in enumerate("12345"):
        put(home, letter, when=number)
    put(home, "6", "7.2-tcp_bbr")
    listed = pruning.prune(Silent(), keep=2)
    assert (ids(listed.kernels), listed.removed, len(installed())) == ({"1", "2", "3"}, False, 6)
    assert listed.bytes >= 15000
    removed = pruning.prune(Silent(), keep=2, remove=True)
    assert removed.plain() | {"removed": False} == listed.plain()
    assert ids(installed()) == {"4", "5", "6"}
    assert not any(kernel.path.parent.exists() for kernel in removed.kernels)
    assert not pruning.prune(Silent(), keep=2, remove=True).kernels


def test_a_kernel_in_use_stays(home: Path) -> None:
    used, _ = put(home, "1", when=1), put(home, "2", when=2)
    with holding([used.path.parent, home / "missing"]):
        assert not pruning.prune(Silent(), keep=1, remove=True).kernels
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(used.path.parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    assert not pruning.prune(Silent(), keep=1, remove=True).kernels
    other.communicate()
    assert ids(pruning.prune(Silent(), keep=1, remove=True).kernels) == {"1"}


def test_a_kernel_without_its_patches_stays(home: Path) -> None:
    put(home, "1", when=1, patches=False)
    put(home, "2", when=2, patches=False)
    put(home, "3", when=3)
    assert not pruning.prune(Silent(), keep=1, remove=True).kernels


def test_a_kernel_of_an_earlier_source_stays(home: Path) -> None:
    """The command that builds it again would build a different one."""
    put(home, "1", when=1)
    put(home, "2", when=2)
    remember(home, "7.2.14-1", "d" * 64)
    assert not pruning.prune(Silent(), keep=1, remove=True).kernels
    put(home, "3", when=3)
    put(home, "4", when=4)
    assert ids(pruning.prune(Silent(), keep=1, remove=True).kernels) == {"3"}


def test_a_kernel_with_other_patches_of_the_lab_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home, "1", when=1)
    put(home, "2", when=2)
    monkeypatch.setattr(recipe, "own_patches", lambda _: (Patch("0019-more", b"+++ b/a"),))
    assert not pruning.prune(Silent(), keep=1, remove=True).kernels


def test_a_removed_kernel_names_the_command_that_builds_it_again(home: Path) -> None:
    removed, kept = put(home, "1", when=1), put(home, "2", when=2)
    pruning.prune(Silent(), keep=1, remove=True)
    (patch,) = cache.changes_of(home, removed.id)
    assert patch.read_bytes() == b"--- a/1\n+++ b/1\n"
    short = removed.id[:10]
    with pytest.raises(KernelMissing, match=f"'{short}' was removed; run `lab kernel build {CUBIC} --patch {patch}`"):
        find(short)
    assert find(CUBIC).id == kept.id
    for name in ("11", "../../etc", "3" * 16):
        with pytest.raises(KernelMissing, match="is not built here"):
            find(name)
    remember(home, "7.2.14-1", "d" * 64)
    with pytest.raises(KernelMissing, match=f"'{short}' was removed; this lab cannot build it again"):
        find(short)


@pytest.mark.parametrize("stray", ["x/a.patch", "²/a.patch", "-1/a.patch", "a.patch"])
def test_a_stray_file_in_the_cache_is_no_patch(home: Path, stray: str) -> None:
    removed, _ = put(home, "1", when=1), put(home, "2", when=2)
    (home / cache.CHANGES / removed.id / stray).parent.mkdir(exist_ok=True)
    (home / cache.CHANGES / removed.id / stray).write_bytes(b"")
    assert ids(pruning.prune(Silent(), keep=1, remove=True).kernels) == {"1"}
    with pytest.raises(KernelMissing, match="was removed; run"):
        find(removed.id)


def test_a_damaged_name_in_the_cache_is_no_traceback(home: Path) -> None:
    first, _ = put(home, "1", when=1), put(home, "2", when=2)
    (home / cache.CHANGES / first.id / "name").write_bytes(b"\xff")
    assert not pruning.prune(Silent(), keep=1, remove=True).kernels


@pytest.mark.parametrize("room", [True, False])
def test_patches_are_kept_before_the_kernel_and_are_not_needed_for_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, room: bool
) -> None:
    """A build that ends between the two leaves no kernel without patches; one without room for them is a good build."""
    done: list[str] = []

    def keep(*_: object) -> None:
        done.append("patches")
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")

    kernel = put(home, "1", patches=False)
    found = source.remembered(home, "7.2")
    assert found is not None
    change = Change(Patch("tcp_cubic", b"+++ b/1"), "net/ipv4/tcp_cubic.c", Path("tcp_cubic.c"))
    made = replace(source.plain_recipe(found), compiler="other")
    wanted = builder._Wanted(CUBIC, made, kernel.base, (change.patch,), (), 1000, True, (change,))
    monkeypatch.setattr(userland, "build", lambda *_: None)
    monkeypatch.setattr(builder, "_relinked", lambda *_: True)
    monkeypatch.setattr(cache, "keep_changes", keep)
    monkeypatch.setattr(builder, "_store", lambda *_: done.append("kernel"))
    monkeypatch.setattr(cache, "load", lambda _: kernel)
    assert builder._build(home, found, wanted, Silent()) == kernel
    assert done == ["patches", "kernel"]


def test_keep_is_at_least_one() -> None:
    with pytest.raises(InputError, match="--keep 0 is too small"):
        pruning.prune(Silent(), keep=0)
