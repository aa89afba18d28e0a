"""A folder that may not be read is not an empty one: what looks into it ends, and names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.base.moving import entries
from lab.errors import InputError, MachineError
from lab.record.store import Store
from lab.spec import find

NOBODY = 65534


@contextmanager
def locked(folder: Path, top: Path) -> Iterator[None]:
    """Take all rights to the folder, and stop being root. Every user may enter its parents up to `top`."""
    for each in (folder, *folder.parents):
        if each.is_relative_to(top):
            each.chmod(0o755)
    folder.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.parametrize("place", ["experiments", "experiments/mine", "topologies", "packs"])
def test_lab_check_names_it(tmp_path: Path, common: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    refused = pytest.raises(MachineError, match=f"^the folder {folder} cannot be read: Permission denied$")
    with locked(folder, common.parent), refused:
        find.check()


def test_a_store_loses_no_record_in_it(tmp_path: Path, common: Path) -> None:
    folder = tmp_path / "results" / "ab"
    (folder / ("ab" * 32)).mkdir(parents=True)
    assert len([*Store(tmp_path / "results")]) == 1
    refused = pytest.raises(MachineError, match=f"^the folder {folder} cannot be read: Permission denied$")
    with locked(folder, common.parent), refused:
        list(Store(tmp_path / "results"))


def test_no_folder_has_nothing_in_it(tmp_path: Path) -> None:
    assert entries(tmp_path / "none") == []
    (tmp_path / "file").touch()
    assert entries(tmp_path / "file") == []


WITH = """\
\"\"\"A flow passes.\"\"\"

from lab import Arm, Bulk, Study, Variant, metric

EXPERIMENT = Study(
    topology={topology!r},
    workload=Bulk(),
{kernel}    arms=(Arm("only"),),
    metrics=metric.mean_rtt(),
)
"""


def _huge(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(1 << 33)


MADE: Mapping[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (os.mkfifo, "cannot be read: it is no file"),
    "endless": (lambda file: file.symlink_to("/dev/zero"), "cannot be read: it is no file"),
    "huge": (_huge, "cannot be read: it has more than 67108864 bytes"),
    "round": (lambda file: file.symlink_to(file.name), "Too many levels of symbolic links"),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("what", ["one.py", "nodes.yaml", "topo.py", "a.patch"])
def test_what_is_no_file_of_a_bounded_size_is_named(tmp_path: Path, made: str, what: str) -> None:
    """`lab check` waited for a pipe, and a device filled the memory."""
    make, message = MADE[made]
    make(tmp_path / what)
    if what != "one.py":
        topology = {"nodes.yaml": what, "topo.py": what}.get(what, "two-hosts")
        kernel = f"    kernel=Variant(patches=({what!r},)),\n" if what == "a.patch" else ""
        (tmp_path / "one.py").write_text(WITH.format(topology=topology, kernel=kernel))
    with pytest.raises(InputError) as refused:
        find.find([str(tmp_path / "one.py")])
    assert message in str(refused.value)
