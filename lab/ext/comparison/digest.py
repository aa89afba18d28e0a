"""Sum up what changed between two kernels: the differences of packets, each once, and the claims with changed figures.

The terminal, the page and CI systems show this summary in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import get_args

from lab.ext.comparison.compare import CaseChange, Change, ClaimChange
from lab.ext.comparison.packets import PacketDifference

_SHOWN = ("verdict changed", "figure moved", "packets differ")  # the changes that differ between the kernels


@dataclass(frozen=True)
class TopicChange:
    """Describes one part of TCP in which first packets differ, with all cases that show it."""

    topic: str
    cases: tuple[tuple[ClaimChange, CaseChange], ...]  # the one that shows it best comes first

    @property
    def packets(self) -> PacketDifference:
        """Return the first packet that differs in the case that shows the difference best."""
        where = self.cases[0][1].packets.divergence
        assert where is not None
        return where

    @property
    def says(self) -> str:
        """Return the difference in words."""
        return self.packets.meaning.says or f"first packets differ in {self.packets.what}"

    @property
    def claims(self) -> Mapping[str, list[str]]:
        """Return the arms that show the difference, by claim."""
        return arms_by_claim(self.cases)


def ordered(changes: Iterable[ClaimChange]) -> list[ClaimChange]:
    """Return the claims, the most important changes first, and of equally important ones the largest first."""
    kinds = get_args(Change)
    return sorted(changes, key=lambda each: (kinds.index(each.change), -size(each), _least_p(each)))


def changed(changes: Iterable[ClaimChange]) -> list[ClaimChange]:
    """Return the claims with a changed verdict, figure or packet, in order."""
    return [each for each in ordered(changes) if each.change in _SHOWN]


def moved(change: ClaimChange) -> list[CaseChange]:
    """Return a claim's cases whose figure moved or whose own verdict changed, the largest change first."""
    found = [case for case in change.cases if case.change == "figure moved" or case.is_judged_anew]
    return sorted(found, key=lambda case: -_size(case))


def alike(cases: Iterable[CaseChange]) -> list[list[CaseChange]]:
    """Return cases with the same two figures together, in order."""
    found: dict[tuple[str, str], list[CaseChange]] = {}
    for case in cases:
        found.setdefault((str(case.base.measured), str(case.new.measured)), []).append(case)
    return list(found.values())


def size(change: ClaimChange) -> float:
    """Return the largest change of a figure, as the logarithm of its ratio; infinity if a figure is 0 or missing."""
    return max(map(_size, moved(change)), default=0.0)


def topics(changes: Iterable[ClaimChange]) -> list[TopicChange]:
    """Return each difference of packets once, those with the most changed claims first."""
    found: dict[str, list[tuple[ClaimChange, CaseChange]]] = {}
    for change in changes:
        for case in change.cases:
            if where := case.packets.divergence:
                found.setdefault(where.meaning.topic, []).append((change, case))
    every = [TopicChange(topic, tuple(_clearest_first(cases))) for topic, cases in found.items()]
    return sorted(every, key=_weight)


def headline(changes: Sequence[ClaimChange]) -> tuple[str, str]:
    """Return the most important change in a few words, and then in a sentence."""
    if found := topics(changes):
        first = found[0]
        others = f"; also: {', '.join(each.topic for each in found[1:])}" if found[1:] else ""
        return f"{first.topic} changed", f"{first.says}{others}"
    if shown := changed(changes):
        return "Figures changed", f"no capture shows a different packet; the largest change is in {shown[0].claim}"
    if any(each.is_open for each in changes):
        return "No change found", "some claims could not be compared"
    return "No change", "all claims have the same figures on both kernels"


def remarks(
    changes: Iterable[ClaimChange], said: Callable[[CaseChange], Iterable[str]]
) -> dict[str, dict[str, list[str]]]:
    """Return each remark once, with the arms that it is about, by claim. `said` yields the remarks on a case."""
    found: dict[str, list[tuple[ClaimChange, CaseChange]]] = {}
    for change in changes:
        for case in change.cases:
            for remark in said(case):
                found.setdefault(remark, []).append((change, case))
    return {remark: arms_by_claim(cases) for remark, cases in found.items()}


def arms_by_claim(cases: Iterable[tuple[ClaimChange, CaseChange]]) -> dict[str, list[str]]:
    """Return the arms of these cases, by claim."""
    found: dict[str, list[str]] = {}
    for change, case in cases:
        found.setdefault(change.claim, []).append(name(case))
    return found


def name(case: CaseChange) -> str:
    """Return the name of a case: its arm and point."""
    return f"{case.new.arm} {case.new.point}".strip()


def _size(case: CaseChange) -> float:
    return inf if not case.ratio or case.ratio < 0 else abs(log(case.ratio))


def _least_p(change: ClaimChange) -> float:
    return min((case.shift.p for case in moved(change) if case.shift and case.shift.p is not None), default=0.0)


def _weight(topic: TopicChange) -> tuple[int, int, int, str]:
    claims = {change.claim: change for change, _ in topic.cases}
    return (
        -sum(change.has_changed for change in claims.values()),
        -len(claims),
        -len(topic.cases),
        topic.topic,
    )


def _clearest_first(cases: Sequence[tuple[ClaimChange, CaseChange]]) -> Iterator[tuple[ClaimChange, CaseChange]]:
    """Yield the cases, first those with the most frequent difference, and of these those whose claim changed.

    The earliest packet comes first.
    """
    found = [(each, where) for each in cases if (where := each[1].packets.divergence)]
    times = Counter(where.meaning.says for _, where in found)
    for each, _ in sorted(
        found, key=lambda pair: (-times[pair[1].meaning.says], not pair[0][0].has_changed, pair[1].number)
    ):
        yield each
