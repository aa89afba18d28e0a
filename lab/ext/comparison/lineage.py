"""Follow claims over all kernels with records in a store: the verdict on each kernel, and the changes between
kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.base import version
from lab.ext.comparison.compare import ClaimChange, Incomparable, compare
from lab.record.record import Record, RecordError
from lab.spec.loaded import Commit
from lab.verdict.judged import JudgedClaim, judge_stored


@dataclass(frozen=True)
class LineageStep:
    """Describes the changes from one kernel to the next, in the cases that decide the verdict, or else in all cases."""

    change: ClaimChange | None  # None: the two kernels cannot be compared
    commits: tuple[Commit, ...]  # the commits between the two that are known to have changed the claim


@dataclass(frozen=True)
class Lineage:
    """Holds one claim on several kernels, the oldest first."""

    claims: tuple[JudgedClaim, ...]
    steps: tuple[LineageStep, ...]  # from each to the next


def follow(judged: Iterable[JudgedClaim], records: Iterable[Record], folder: Path | None) -> dict[str, Lineage]:
    """Return the lineage of each claim that also has records on other kernels, by claim id.

    The function stores predictions in `folder`. Raises RecordError and CaptureError.
    """
    known = {claim.declared.id: claim for claim in judged}
    others = _by_kernel(known, records)
    found: dict[str, list[JudgedClaim]] = {name: [claim] for name, claim in known.items()}
    for having in others.values():
        claims = {record.trial.claim for record in having}
        experiments = [claim.declared for name, claim in known.items() if name in claims]
        for claim in judge_stored(experiments, having, folder):
            if claim.kernel:  # its records are of the experiment in its present form
                found[claim.declared.id].append(claim)
    return {name: _lineage(sorted(each, key=_age)) for name, each in found.items() if len(each) > 1}


def _by_kernel(known: Mapping[str, JudgedClaim], records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records of these claims on each kernel, and its variants, except the claims' own kernel."""
    found: dict[str, list[Record]] = {}
    for record in records:
        try:
            claim = known.get(record.claim)
            if claim is None or claim.kernel is None:
                continue
            kernel = record.trial.kernel
        except RecordError:
            continue
        name = version.series(kernel["version"]) if "base" in kernel else kernel["name"]
        if name != claim.kernel["name"]:
            found.setdefault(name, []).append(record)
    return found


def _age(claim: JudgedClaim) -> tuple[tuple[int, ...], str]:
    assert claim.kernel is not None
    return version.order(claim.kernel["version"]), claim.kernel["name"]


def _lineage(claims: Sequence[JudgedClaim]) -> Lineage:
    return Lineage(tuple(claims), tuple(map(_step, claims, claims[1:])))


def _step(base: JudgedClaim, new: JudgedClaim) -> LineageStep:
    try:
        (change,) = compare([base], [new])
    except Incomparable:
        return LineageStep(None, ())
    cases = tuple(case for case in change.cases if case.new.counts) or change.cases
    counted = replace(change, cases=cases)
    changed = counted.change not in ("identical", "same packets")
    return LineageStep(counted, change.commits if changed else ())
