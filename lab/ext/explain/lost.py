"""Find which segments were lost, and which of their transmissions, as far as a capture shows it."""

from __future__ import annotations

from lab.ext.explain.exchange import NEVER, SegmentsAndAcks
from lab.ext.explain.explaining import Closely
from lab.metric.arrays import Ints, np

_LATE = 2.5  # round trips from a hole to the segment that fills it: its first retransmission was lost, too
_ENOUGH = 3  # later segments that make a sender retransmit at once (RFC 5681 3.2)


def lost(seen: Closely, most: int) -> list[tuple[int, int]] | None:
    """Return (sequence number, transmission) of each lost full segment, in the order of the numbers; None if more than
    `most` were lost.

    A transmission counts from 1. A capture at the sender shows each transmission: the earliest ACK or SACK that covers
    a byte shows which of them arrived, and a D-SACK that one more did (RFC 2883). Elsewhere, a hole shows that a
    segment was lost, and the time until it is filled how often.
    """
    facts = seen.explanation.facts
    assert facts is not None
    size = seen.found.end - seen.found.seq
    if int((-(-size[seen.found.again] // facts.mss)).sum()) > 2 * most:  # some may be spurious
        return None
    if facts.where.name == "sender":
        found = _by_acks(seen.found, facts.mss, facts.where.beyond or 0)
    else:
        found = _by_holes(seen.found, facts.mss, facts.where.rtt or 0)
    return found if len(found) <= most else None


def _by_acks(found: SegmentsAndAcks, mss: int, beyond: int) -> list[tuple[int, int]]:
    again = np.flatnonzero(found.again)
    numbers = {number for at in again.tolist() for number in range(int(found.seq[at]), int(found.end[at]), mss)}
    twice = (found.sack_right != NEVER) & (found.sack_right <= found.ack)
    selects = (found.sack_right != NEVER) & ~twice
    lost = []
    for number in sorted(numbers):
        first = int(np.searchsorted(found.highest, number, side="right"))
        covering = again[(found.seq[again] <= number) & (found.end[again] > number) & (again > first)]
        sent = found.time[np.concatenate(([first], covering))]
        arrived = int(np.searchsorted(sent, _known(found, number, selects) - beyond, side="right")) - 1
        duplicates = (found.sack_left[twice] <= number) & (found.sack_right[twice] > number)
        arrived = max(arrived - len(np.unique(found.ack[twice][duplicates])), 0)
        lost += [(number, 1 + sending) for sending in range(arrived)]
    return lost


def _known(found: SegmentsAndAcks, number: int, selects: Ints) -> int:
    """Return when the first ACK covered this byte; the end of the capture if none did."""
    at = int(np.searchsorted(found.ack, number, side="right"))
    known = int(found.ack_time[at]) if at < len(found.ack) else int(found.time[-1]) + int(found.rtt)
    by = np.flatnonzero(selects & (found.sack_left <= number) & (found.sack_right > number))
    return min(known, int(found.ack_time[by[0]])) if len(by) else known


def _by_holes(found: SegmentsAndAcks, mss: int, rtt: int) -> list[tuple[int, int]]:
    lost, holes = [], []  # a hole: its first byte, the byte after its last one, when it appeared, behind which segment
    reached = int(found.seq[0])
    interesting = np.flatnonzero((found.seq != found.before) | found.again)
    for at in interesting.tolist():
        start, end, time = int(found.seq[at]), int(found.end[at]), int(found.time[at])
        reached = max(int(found.before[at]), reached)
        if start > reached and at:
            holes.append((reached, start, time, at))
        rest = []
        for first, behind, appeared, place in holes:
            low, high = max(first, start), min(behind, end)
            if low >= high:
                rest.append((first, behind, appeared, place))
                continue
            queued = int(found.queued[place])
            known = queued != NEVER and int(np.searchsorted(found.time, appeared + rtt)) - place >= _ENOUGH
            times = 2 if known and time - appeared > _LATE * (rtt + queued) else 1
            if found.again[at]:
                lost += [(number, 1 + sending) for number in range(low, high, mss) for sending in range(times)]
            rest += [each for each in ((first, low, appeared, place), (high, behind, appeared, place))
                     if each[0] < each[1]]  # fmt: skip
        holes = rest
    return sorted(set(lost))
