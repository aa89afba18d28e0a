"""A program's folder of files: its contents decide the trial, and a mistake has a file and a line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.guest.workload import Program
from lab.spec import find
from lab.spec.errors import SpecError

EXPERIMENT = '''\
"""A script of mine runs."""

from lab import Arm, Program, Study, metric

EXPERIMENT = Study(
    topology="two-hosts",
    workload=Program({fields}),
    arms=(
        Arm("only"),
    ),
    metrics=metric.program_match(r"(\\d+)"),
)
'''


def workload(folder: Path, fields: str = '("{files}/tools/run.sh",), files=("tools/",)') -> Program:
    """The workload of an experiment in this folder, as a trial has it."""
    path = folder / "one.py"
    path.write_text(EXPERIMENT.replace("{fields}", fields))
    ((loaded,),) = [find.find([str(path)])]
    (case,) = loaded.cases()
    assert isinstance(case.workload, Program)
    return case.workload


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with two files, what Python and git leave in it, and a link within it."""
    folder = tmp_path / "tools"
    for name, text in {"run.sh": "#!/bin/sh\n", "data/a.txt": "1", ".git/HEAD": "x", "__pycache__/a.pyc": "y"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "link.txt").symlink_to("data/a.txt")
    return folder


@pytest.mark.usefixtures("tools")
def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    found = workload(tmp_path)
    assert found.files == ("tools/data/a.txt", "tools/link.txt", "tools/run.sh")
    assert found.content("tools/run.sh") == b"#!/bin/sh\n"
    assert found.content("tools/link.txt") == b"1"
    assert found.programs == (), "the userland need not have it"
    one = workload(tmp_path, '("sh",), files=("tools/data/a.txt",)')
    assert one.files == ("tools/data/a.txt",)


def test_contents_and_names_decide_the_trial_and_times_do_not(tmp_path: Path, tools: Path) -> None:
    first = workload(tmp_path)
    os.utime(tools / "run.sh", (1, 1))
    (tools / ".git" / "HEAD").write_text("z")
    assert workload(tmp_path) == first
    (tools / "data" / "a.txt").write_text("2")
    assert workload(tmp_path) != first
    (tools / "data" / "a.txt").write_text("1")
    (tools / "data" / "a.txt").rename(tools / "data" / "b.txt")
    (tools / "link.txt").unlink()
    assert workload(tmp_path) != first


def _many(tools: Path) -> None:
    for number in range(1001):
        (tools / f"{number}.txt").touch()


def _sparse(file: Path) -> None:
    """8 GiB, without a block on the disk."""
    with file.open("wb") as stream:
        stream.truncate(1 << 33)


def _large(tools: Path) -> None:
    for number in range(3):
        (tools / f"{number}.bin").write_bytes(bytes(3 << 20))


@pytest.mark.parametrize(
    ("spoil", "fields", "message"),
    [
        (
            lambda _: None,
            '("sh",), files=("tool/",)',
            "folder 'tool/' cannot be read: no such file; did you mean 'tools'?",
        ),
        (lambda _: None, '("sh",), files=("tools",)', "file 'tools' is a folder; write 'tools/' for all of its files"),
        (lambda _: None, '("sh",), files=("one.py/",)', "folder 'one.py/' is a file; leave out the '/'"),
        (lambda _: None, '("sh",), files=("../tools/",)', "'..' is no name of a file beside the experiment"),
        (lambda _: None, '("sh",), files=("/",)', "'' is no name of a file beside the experiment"),
        (
            lambda _: None,
            '("{files}/tools/go",), files=("tools/",)',
            "'{files}/tools/go' is none of the program's files",
        ),
        (
            lambda tools: (tools / "out").symlink_to("/etc/passwd"),
            '("sh",), files=("tools/",)',
            "'tools/out' is a link that leads out of 'tools/'; copy the file into the folder",
        ),
        (
            lambda tools: (tools / "up").symlink_to("../one.py"),
            '("sh",), files=("tools/",)',
            "'tools/up' is a link that leads out of 'tools/'",
        ),
        (
            lambda tools: (tools / "lost").symlink_to("nothing"),
            '("sh",), files=("tools/",)',
            "'tools/lost' is neither a file nor a link to a file",
        ),
        (
            lambda tools: os.mkfifo(tools / "pipe"),
            '("sh",), files=("tools/",)',
            "'tools/pipe' is neither a file nor a link to a file",
        ),
        (
            lambda tools: (tools.parent / "linked").symlink_to(tools),
            '("sh",), files=("linked/",)',
            "folder 'linked/' is a link; name the folder itself",
        ),
        (
            lambda tools: (tools.parent / "linked").symlink_to("/etc"),
            '("sh",), files=("linked/ssl/",)',
            "'linked/ssl/' is behind a link that leads out of the folder; copy what it leads to",
        ),
        (
            lambda tools: (tools.parent / "one").symlink_to("/etc/hostname"),
            '("sh",), files=("one",)',
            "'one' is behind a link that leads out of the folder; copy what it leads to",
        ),
        (
            lambda tools: (tools.parent / "zero").symlink_to("/dev/zero"),
            '("sh",), files=("zero",)',
            "'zero' is behind a link that leads out of the folder",
        ),
        (
            lambda tools: (tools.parent / "round").symlink_to("round"),
            '("sh",), files=("round",)',
            "'round' is a link that leads nowhere; remove it",
        ),
        (
            lambda tools: os.mkfifo(tools.parent / "pipe"),
            '("sh",), files=("pipe",)',
            "'pipe' is neither a file nor a link to a file; remove it from the folder",
        ),
        (
            lambda tools: _sparse(tools.parent / "big"),
            '("sh",), files=("big",)',
            "file 'big' has more than 8388608 bytes; a program takes no larger file",
        ),
        (
            lambda tools: _sparse(tools / "core"),
            '("sh",), files=("tools/",)',
            "file 'tools/core' has more than 8388608 bytes; a program takes no larger file",
        ),
        (lambda tools: (tools.parent / "none").mkdir(), '("sh",), files=("none/",)', "folder 'none/' has no files"),
        (_many, '("sh",), files=("tools/",)', "folder 'tools/' has more than 1,000 files"),
        (
            _large,
            '("sh",), files=("tools/",)',
            "files of 9,437,184 bytes or more are too many for a trial: 8,388,608 at most",
        ),
    ],
)
def test_files_that_cannot_be_copied_are_named(
    tmp_path: Path, tools: Path, spoil: Callable[[Path], Any], fields: str, message: str
) -> None:
    spoil(tools)
    with pytest.raises(SpecError) as refused:
        workload(tmp_path, fields)
    (problem,) = refused.value.problems
    assert message in problem.message
    assert problem.line in (7, 9)
