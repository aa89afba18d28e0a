"""Describe comparisons of random figures in single sentences, for terminals and pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.ext.comparison.compare import CaseChange, ClaimChange
from lab.ext.comparison.digest import remarks
from lab.ext.comparison.shift import Shift
from lab.verdict import Result


def absent(change: ClaimChange) -> Iterator[str]:
    """Yield a sentence for each side without a record of the claim, with the reason."""
    for kernel, verdict in change.lacking:
        yield f"nothing to compare on {kernel}: {verdict.reason}"


def reasons(changes: Sequence[ClaimChange]) -> dict[str, dict[str, list[str]]]:
    """Return each reason for which something could not be compared, with the arms that it is about, by claim.

    A claim without records on one side has no arms here, because its reason holds for the whole claim.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for change in changes:
        if change.lacking:
            for said in absent(change):
                found.setdefault(said, {})[change.claim] = []
        elif change.change == "undecided":
            for verdict in (change.base, change.new):
                if verdict.kind == "invalid":
                    found.setdefault(verdict.reason, {})[change.claim] = []
    compared = [change for change in changes if not change.lacking]
    for said, claims in remarks(compared, lambda case: chance(case) if case.change == "cannot tell" else ()).items():
        found.setdefault(said, {}).update(claims)
    return found


def chance(case: CaseChange) -> Iterator[str]:
    """Yield sentences that explain a missing figure, the test, an undecided case, and any other differences."""
    if case.is_skipped and case.new.verdict:
        yield f"skipped on both kernels: {case.new.verdict.reason}"
    for side, result in (("base", case.base), ("new", case.new)):
        if result.verdict and result.verdict.kind == "skipped" and not case.is_skipped:
            yield f"not compared, skipped on the {side} kernel: {result.verdict.reason}"
        if result.verdict and result.verdict.kind == "invalid" and not result.measured and not case.is_disturbed:
            yield f"no figure on the {side} kernel: {result.verdict.reason}"
    if case.emulators and not case.identical:
        yield f"real time, so not compared: {case.emulators}"
    if case.shift:
        yield _tested(case.shift, "repeats" if case.real_time else "seeds")
        if case.change == "cannot tell":
            yield f"cannot tell, {_missing(case.shift)}"
        yield from _left_out(case.base, case.new)
    if case.shift and case.is_apart:
        yield "the two kernels' repeats ran at different times, so the machine may have drifted"


def _tested(shift: Shift, what: str) -> str:
    said = f"{shift.sizes[0]} against {shift.sizes[1]} {what}"
    if found := shift.ratio:
        bounds = (f"{100 * (bound - 1):+.3g} %" for bound in (found.low, found.high) if bound is not None)
        said += f", {100 * (found.number - 1):+.3g} % ({' to '.join(bounds)} in {100 * (found.coverage or 0):.3g} %)"
    said += f", p {shift.test.p:.2g}"
    if shift.p is not None and shift.tests > 1:
        said += f" ({shift.p:.2g} corrected for {shift.tests} tests)"
    return said + f", effect {shift.test.effect:+.2f}"


def _missing(shift: Shift) -> str:
    if not shift.is_testable:
        return f"because p cannot be below {shift.test.least:.2g} with so few figures"
    if shift.detectable is None:
        return "because a figure is 0, so no ratio has an interval that would show that nothing changed"
    return f"because only a change of about {100 * shift.detectable:.2g} % would show"


def _left_out(*sides: Result) -> Iterator[str]:
    for side, result in zip(("base", "new"), sides, strict=True):
        if result.valid < result.repeats:
            yield f"{result.valid} of {result.repeats} repeats count on the {side} kernel"
