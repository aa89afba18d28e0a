"""Find when a queue stood at the bottleneck of a drawn transfer, from the captures at both ends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.draw import Drawn
from lab.ext.explain.limits import SHORTEST_ROUND_NS, STANDING, STANDING_LEAST_NS
from lab.guest import outputs
from lab.metric.arrays import Bools, Ints, np
from lab.metric.capture import Capture
from lab.record.record import Record

ENDS = ("sender", "receiver")
STEPS = 16  # moments of a round trip, for the mean wait


@dataclass(frozen=True)
class Queue:
    """Holds when segments left, and for how long each kept the bottleneck busy from then on: both in ns, in order."""

    left: Ints
    busy: Ints

    def stood(self, times: Ints, least: int) -> Bools:
        """Return at which times there was what `lab explain` takes for a queue, in the mean of a round trip."""
        mean = np.zeros(len(times))
        for step in range(STEPS):
            mean += self._waiting(times - step * span(least) // STEPS) / STEPS
        found: Bools = mean >= max(STANDING * least, STANDING_LEAST_NS)
        return found

    def _waiting(self, times: Ints) -> Ints:
        """Return how long a segment would have waited that had left at each of these times."""
        if not len(self.left):
            return np.zeros(len(times), np.int64)
        last = np.searchsorted(self.left, times, side="right") - 1
        waiting = np.maximum(self.left[last] + self.busy[last] - times, 0)
        return np.where(last >= 0, waiting, 0)


def span(least: int) -> int:
    """Return the time in ns that counts as a round trip: never less than a label covers."""
    return max(least, SHORTEST_ROUND_NS)


def queue_of(record: Record, drawn: Drawn) -> Queue:
    """Return the queue as the segments show it that arrived, from the captures at both ends.

    From its departure to its arrival, less the link's delay, a segment waits for others and is sent. If it was sent
    several times, the last departure before the arrival counts. A super-packet counts as its last segment.
    """
    way = drawn.case.network.links[0].forward
    (sent, left), (came, arrived) = (_ends(record.path(outputs.capture(end, "eth0"))) for end in ENDS)
    came, first = np.unique(came, return_index=True)
    at = np.searchsorted(came, sent)
    at[at == len(came)] = 0
    arrival = arrived[first][at] if len(came) else left
    ahead = (came[at] == sent) & (left + way.delay.ns <= arrival) if len(came) else np.zeros(len(sent), bool)
    sent, left, busy = sent[ahead], left[ahead], (arrival - left - way.delay.ns)[ahead]  # not the other way
    _, again = np.unique(sent[::-1], return_index=True)
    last = np.sort(len(sent) - 1 - again)
    return Queue(left[last], busy[last])


def _ends(path: Path) -> tuple[Ints, Ints]:
    """Return (port and number at which it ends, time) of each captured data segment, in order of time."""
    capture = Capture(path)
    tcp, payload, seq, port, time = capture.columns("tcp", "payload", "seq", "source_port", "time_ns")
    data = np.flatnonzero(tcp & (payload > 0))
    data = data[np.argsort(time[data], kind="stable")]
    ends = (seq[data].astype(np.uint64) + payload[data].astype(np.uint64)) & np.uint64(0xFFFFFFFF)
    return port[data].astype(np.uint64) << np.uint64(32) | ends, time[data].astype(np.int64)
