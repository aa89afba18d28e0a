"""Plant a defect in a copy of the project, and ask the shipped claims."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.mutation.defects import OFF, Edit

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mutation"  # a guest sees this folder; it has a /tmp of its own
PARTS = ("lab", "experiments", "topologies")
OUTCOME = Path(__file__).with_name("outcome.py")


@contextmanager
def planted(edits: Sequence[Edit]) -> Iterator[Path]:
    """A copy of the project with these edits; the project itself without any. Raises ValueError if one does not fit."""
    if not edits:
        yield ROOT
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=BUILD) as folder:
        copy = Path(folder)
        for part in PARTS:
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for edit in edits:
            file = copy / edit.file
            file.write_text(edited(file.read_text(), edit))
        yield copy


def edited(text: str, edit: Edit) -> str:
    """The file's text with the edit. Raises ValueError unless its place is there once."""
    if text.count(edit.was) != 1:
        raise ValueError(f"{edit.file} has {text.count(edit.was)} places with {edit.was!r}: the defect fits no more")
    return text.replace(edit.was, edit.now)


def outcomes(root: Path, store: Path, kernel: str, claims: Iterable[str]) -> dict[str, Any]:
    """What became of each claim by the project in `root`: see outcome.py. Raises CalledProcessError if a trial failed.

    The store has the trials that a defect does not touch. Where it does, in what a guest runs, their addresses differ.
    """
    command = [sys.executable, str(OUTCOME), str(store), kernel, *claims]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def seen(outcome: Mapping[str, Any]) -> str:
    """What shows that something is wrong: another verdict than the expected one, or a model that is off; else ''."""
    verdict = outcome["verdict"] if outcome["verdict"] != outcome["expected"] else ""
    return ", ".join(each for each in (verdict, OFF if outcome["off"] else "") if each)
