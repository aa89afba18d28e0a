"""Show and compare the sources of a sender's round-trip times."""

from __future__ import annotations

from html import escape

import numpy as np

from lab.metric import RoundTrips, round_trips_of, tcp_info_of
from lab.report.drawing import ARMS, INK, MUTED, SMALL, Label, axes, draw, labels, picture
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_KINDS = ("segment acknowledged", "segment selected (SACK)", "timestamp only", "none")
_COLOURS = (*ARMS[:3], "#bdbdbd")


@draw("the sources of round-trip times")
def rtt_sources(claim: TestedClaim, *arms: str) -> Html:
    """Draw ACKs by the source of their round-trip time, one bar per arm, and mark the ACKs with a timestamp echo."""
    shown = claim.arms(*arms)
    figure, (panel,) = axes(size=(6.1, 0.62 * len(shown) + 1.3))
    said = []
    for row, each in enumerate(shown):
        found = _round_trips(each)
        echoes = int((found.echoed >= 0).sum())
        counts = _counts(found)
        left = 0.0
        for count, colour, kind in zip(counts, _COLOURS, _KINDS, strict=True):
            panel.barh(row, count / len(found), left=left, height=0.6, color=colour, label=kind if row == 0 else None)
            left += count / len(found)
        if echoes:
            panel.plot([echoes / len(found)] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=2)
        text = f" {len(found):,} ACKs"
        panel.annotate(text, (1, row), va="center", color=MUTED, annotation_clip=False)
        named = ", ".join(f"{kind} {count}" for count, kind in zip(counts, _KINDS, strict=True))
        said.append(f"{each.label}: {named}, of which a timestamp gives {echoes}")
    panel.set_yticks(range(len(shown)), [each.label for each in shown])
    panel.set(xlim=(0, 1), ylim=(len(shown) - 0.4, -0.6), xlabel="share of ACKs")
    panel.grid(False, axis="y")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, labelcolor=MUTED, fontsize=SMALL)
    caption = (
        "ACKs by what Linux takes their round-trip time from. Stroke across a bar: how many give one by their "
        "timestamp, which are those that acknowledge new data."
    )
    return picture(claim, "rtt-sources", figure, "; ".join(said), caption, shown)


@draw("round-trip times")
def rtt_samples(claim: TestedClaim, arm: str, seconds: float = 0.5) -> Html:
    """Draw the round-trip times of the first ACKs, from timestamps and from segments, and the kernel's own srtt."""
    shown = claim.arms(arm)[:1]
    found, record = _round_trips(shown[0]), shown[0].record
    assert record is not None
    start = int(found.time_ns[0])
    figure, (panel,) = axes(size=(6.1, 3.4))
    ends = []
    for trips, colour, size, name in (
        (found.taken, ARMS[0], 9, "segment's time"),
        (found.echoed, ARMS[1], 5, "timestamps"),
    ):
        having = (trips >= 0) & (found.time_ns - start <= seconds * 1e9)
        panel.scatter((found.time_ns[having] - start) / 1e9, trips[having] / 1e6, s=size, color=colour, linewidths=0)
        if having.any():
            ends.append(Label(float(trips[having][-1]) / 1e6, name, colour))
    kernel = tcp_info_of(record, shown[0].case.path[0])
    during = (kernel.time_ns >= start) & (kernel.time_ns - start <= seconds * 1e9)
    panel.plot((kernel.time_ns[during] - start) / 1e9, kernel["rtt"][during] / 1e3, color=INK, linewidth=1.4)
    ends.append(Label(float(kernel["rtt"][during][-1]) / 1e3, "kernel's srtt", INK))
    panel.set(xlim=(0, seconds), xlabel="time since the first ACK, s", ylabel="round trip, ms")
    labels(panel, ends)
    taken, echoed = (int((each >= 0).sum()) for each in (found.taken, found.echoed))
    alt = f"Round-trip times, {shown[0].label}: {taken} by the segment's time, {echoed} by timestamp"
    caption = (
        f"{escape(shown[0].label)}. By timestamp, a round trip is a whole number of milliseconds; by the segment's own "
        "time it is exact. Line: the kernel's own srtt (tcp_info)."
    )
    return picture(claim, f"rtt-samples-{arm}", figure, alt, caption, shown, of_first=True)


def _round_trips(tested: TestedCase) -> RoundTrips:
    assert tested.record is not None
    return round_trips_of(tested.record, tested.case.path[0])


def _counts(found: RoundTrips) -> list[int]:
    timed, sacked, echoed = found.timed >= 0, found.sacked >= 0, found.echoed >= 0
    kinds = (timed, sacked & ~timed, echoed & ~timed & ~sacked, ~(timed | sacked | echoed))
    return [int(np.count_nonzero(kind)) for kind in kinds]
