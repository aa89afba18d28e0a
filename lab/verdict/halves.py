"""Check whether both halves of the time after the cut give the same long-run figure."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from statistics import fmean

from lab.record.record import Record
from lab.spec.case import Case
from lab.spec.metric import described
from lab.verdict import interval

MARGIN = 0.05  # of the figure: the most by which the halves may differ; less if the tolerance leaves less


def disagreement(case: Case, records: Sequence[Record]) -> str:
    """Return a sentence on the halves' disagreement; "" if they agree, or if the figure is not a long-run figure.

    For each seed, the difference between the second half and the first is expressed as a share of the mean of all
    figures. The halves disagree if the whole interval of the mean difference is beyond the margin; with one seed, if
    the difference is beyond the margin. A difference does not affect the verdict if both halves are out of the
    tolerance, or within a bound, by more than they differ.
    """
    over = described(case.metric).over_time
    if over is None or over.steady is None:
        return ""
    halves = [over.halves(record) for record in records]
    centre = fmean(map(fmean, halves))
    if not centre:
        return ""
    drifts = [(second - first) / centre for first, second in halves]
    drift = fmean(drifts)
    low, high = interval.mean(drifts, [1.0] * len(drifts)) if len(set(drifts)) > 1 else (drift, drift)
    margin = min(MARGIN, _room(case))
    if (-margin <= high and low <= margin) or _decided(case, *(fmean(half) for half in zip(*halves, strict=True))):
        return ""
    apart, allowed = f"{100 * drift:+.2g} %", f"{100 * margin:.2g} %"
    return f"the second half of the long run differs by {apart} from the first; {allowed} is allowed"


def _decided(case: Case, first: float, second: float) -> bool:
    """Return whether both halves are out of the tolerance, or within a bound, on one side and by more than they
    differ.
    """
    if case.claimed is None or case.tolerance is None or case.relative_to:
        return False
    bounds = [bound for bound in case.tolerance.bounds(case.claimed.value) if isfinite(bound)]
    clear = all(abs(second - bound) > abs(second - first) and (first < bound) == (second < bound) for bound in bounds)
    return clear and (len(bounds) == 1 or not min(bounds) <= second <= max(bounds))


def _room(case: Case) -> float:
    """Return the tolerance on either side as a share of the claim's figure, or 1 if the tolerance is a bound."""
    if case.claimed is None or case.tolerance is None or not case.claimed.value.number:
        return 1.0
    least, most = case.tolerance.bounds(case.claimed.value)
    room = (most - least) / 2 / abs(case.claimed.value.number)
    return room if 0 < room < 1 else 1.0
