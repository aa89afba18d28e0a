"""Keep the commits that `lab bisect` found in the store, and find those that explain a change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from lab.base import foreign
from lab.base.moving import entries, move
from lab.ext.comparison.compare import CaseChange, ClaimChange
from lab.record.store import Store
from lab.spec.loaded import Commit

BISECTIONS = "bisections"  # below a store; one file for each commit that `lab bisect` found for a claim
_MOST = 1 << 20  # bytes of such a file


class Finding(msgspec.Struct, frozen=True):
    """Holds a commit that `lab bisect` found, and the differences that the commit makes to a claim."""

    claim: str
    commit: str
    title: str
    known: str
    differences: tuple[str, ...]


def save(folder: Path, commit: Commit, change: ClaimChange) -> None:
    """Save in the store `folder` that `lab bisect` found `commit`, which makes `change`. Replace an older file.

    Raises MachineError if the disk is full.
    """
    (claim,) = commit.claims
    finding = Finding(claim, commit.commit, commit.title, commit.known, tuple(_differences(change)))
    target = folder / BISECTIONS / f"{re.sub(r'[^A-Za-z0-9._-]', '-', claim)}-{commit.commit}.json"
    with Store(folder).scratch() as scratch:
        fresh = scratch / "finding.json"
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(finding), indent=1))
        target.parent.mkdir(exist_ok=True)
        move(fresh, target)


def with_found(changes: Iterable[ClaimChange], folder: Path) -> tuple[ClaimChange, ...]:
    """Return the changes, each with the commits that `lab bisect` found in the store `folder` for the same difference.

    A commit is known to cause a change if it made the same first packet differ in the same way, or the same figure
    change by the same amount. Files that are not such findings are ignored.
    """
    found = [*_findings(folder)]
    return tuple(replace(each, commits=(*each.commits, *_of(each, found))) for each in changes)


def _of(change: ClaimChange, found: Sequence[Finding]) -> Iterator[Commit]:
    mine = {*_differences(change)}
    for each in found:
        if each.claim == change.claim and mine & {*each.differences}:
            yield Commit(each.commit, "", each.title, (each.claim,), each.known)


def _findings(folder: Path) -> Iterator[Finding]:
    for path in entries(folder / BISECTIONS):
        try:
            yield msgspec.json.decode(foreign.read(path, _MOST), type=Finding)
        except (OSError, foreign.Unfit, msgspec.MsgspecError, RecursionError):
            continue


def _differences(change: ClaimChange) -> Iterator[str]:
    """Yield each case's difference as text that is equal for equal differences."""
    for case in change.cases:
        if case.change in ("verdict changed", "figure moved", "packets differ"):
            yield json.dumps([case.new.arm, case.new.point, *_difference(case)])


def _difference(case: CaseChange) -> list[Any]:
    if where := case.packets.divergence:
        return [case.packets.capture, where.number, where.what, where.base, where.new]
    return [str(result.measured) for result in (case.base, case.new)]
