"""Simulate one direction of a path without loss: compute when a packet that is sent now arrives.

Source: net/sched/sch_netem.c (netem_enqueue(), packet_time_ns()). Times are whole nanoseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from lab.guest.network import Direction


def overflowing(hops: Iterable[Direction], peaks: Iterable[int]) -> list[Direction]:
    """Return the hops that drop frames because they would have to hold more than their limit: netem_enqueue()."""
    return [hop for hop, peak in zip(hops, peaks, strict=True) if peak > hop.limit]


class Wire:
    """Simulates hops in a row. Each hop is busy until it has sent all its frames.

    A frame is `overhead` bytes longer than its payload.
    """

    def __init__(self, hops: Iterable[Direction], overhead: int) -> None:
        self._hops = tuple(hops)
        self._delays = tuple(hop.delay.ns for hop in self._hops)
        self._overhead = overhead
        self._idle = [0] * len(self._hops)  # when each hop has sent all its frames
        self._held: tuple[deque[int], ...] = tuple(deque() for _ in self._hops)  # arrivals of the frames on each
        self._each = tuple(zip(range(len(self._hops)), self._held, self._delays, strict=True))
        self.peaks = [0] * len(self._hops)  # the most frames that each hop held, queued and in flight, as netem counts
        self._taken: dict[int, tuple[int, ...]] = {}  # payload -> the time of a frame on each hop

    def carry(self, now: int, payload: int) -> int:
        """Send a packet with `payload` bytes now, and return its arrival time."""
        times, idle, peaks = self._taken.get(payload) or self._times(payload), self._idle, self.peaks
        for index, held, delay in self._each:
            sent = idle[index]
            idle[index] = sent = (sent if sent > now else now) + times[index]
            while held and held[0] <= now:
                held.popleft()
            now = sent + delay
            held.append(now)
            if len(held) > peaks[index]:
                peaks[index] = len(held)
        return now

    def carry_each(self, times: Sequence[int], payload: int) -> list[int]:
        """Send a packet with `payload` bytes at each of these times, in order, and return the arrival times."""
        taken = self._taken.get(payload) or self._times(payload)
        arrivals = [*times]
        for index, held, delay in self._each:
            idle, peak, time = self._idle[index], self.peaks[index], taken[index]
            pop, hold, arrivals = held.popleft, held.append, []
            for now in times:
                idle = (idle if idle > now else now) + time
                while held and held[0] <= now:
                    pop()
                arrival = idle + delay
                hold(arrival)
                if len(held) > peak:
                    peak = len(held)
                arrivals.append(arrival)
            self._idle[index], self.peaks[index], times = idle, peak, arrivals
        return arrivals

    def queue(self, now: int) -> int:
        """Return the time that a packet that leaves now waits for the packets ahead."""
        waited = 0
        for delay, idle in zip(self._delays, self._idle, strict=True):
            waited += max(0, idle - now)
            now = max(now, idle) + delay
        return waited

    def _times(self, payload: int) -> tuple[int, ...]:
        bits = 8 * (payload + self._overhead)
        times = tuple(bits * 10**9 // hop.rate.bps if hop.rate else 0 for hop in self._hops)
        return self._taken.setdefault(payload, times)
