"""Old kernels of changed C files are removed, but none that is in use or cannot be built again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.base.building import Silent, holding
from lab.errors import InputError
from lab.machine.kernel import KernelMissing, UmlKernel, find, folder, installed
from lab.machine.kernel.uml import cache, pruning
from lab.machine.kernel.uml.recipe import Patch

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
    return folder()


def put(home: Path, id: str, name: str = CUBIC, when: int = 0, patches: bool = True) -> UmlKernel:
    """A kernel of a changed file in the cache, which a build returned at this second."""
    place = home / id
    place.mkdir(parents=True)
    (place / "linux").write_bytes(bytes(5000))
    kernel = UmlKernel(name, "7.2.13-1", id, 1000, ("tcp_cubic",), place / "linux", 4096, True, base="b" * 16)
    cache.save(kernel)
    os.utime(place / cache.RECORD, (when, when))
    if patches:
        cache.keep_changes(home, id, name, [Patch("tcp_cubic", b"a change")])
    return kernel


def ids(kernels: list[UmlKernel] | tuple[UmlKernel, ...]) -> set[str]:
    return {kernel.id[0] for kernel in kernels}


def test_the_newest_of_each_name_stay(home: Path) -> None:
    for number, letter in enumerate("12345"):
        put(home, letter * 16, when=number)
    put(home, "6" * 16, "7.2-tcp_bbr")
    listed = pruning.prune(Silent(), keep=2)
    assert (ids(listed.kernels), listed.removed, len(installed())) == ({"1", "2", "3"}, False, 6)
    assert listed.bytes >= 15000
    removed = pruning.prune(Silent(), keep=2, remove=True)
    assert removed.plain() | {"removed": False} == listed.plain()
    assert ids(installed()) == {"4", "5", "6"}
    assert not (home / ("1" * 16)).exists()
    assert not pruning.prune(Silent(), keep=2, remove=True).kernels


def test_a_kernel_in_use_stays(home: Path) -> None:
    used, _ = put(home, "1" * 16, when=1), put(home, "2" * 16, when=2)
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
    put(home, "1" * 16, when=1, patches=False)
    put(home, "2" * 16, when=2, patches=False)
    put(home, "3" * 16, when=3)
    assert not pruning.prune(Silent(), keep=1, remove=True).kernels


def test_a_removed_kernel_names_the_command_that_builds_it_again(home: Path) -> None:
    put(home, "1" * 16, when=1)
    put(home, "2" * 16, when=2)
    pruning.prune(Silent(), keep=1, remove=True)
    (patch,) = cache.changes_of(home, "1" * 16)
    assert patch.read_bytes() == b"a change"
    with pytest.raises(
        KernelMissing, match=f"'1111111111' was removed; run `lab kernel build {CUBIC} --patch {patch}`"
    ):
        find("1" * 10)
    assert find(CUBIC).id == "2" * 16
    for name in ("11", "../../etc", "3" * 16):
        with pytest.raises(KernelMissing, match="is not built here"):
            find(name)


def test_keep_is_at_least_one() -> None:
    with pytest.raises(InputError, match="--keep 0 is too small"):
        pruning.prune(Silent(), keep=0)
