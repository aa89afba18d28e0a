"""Compute the data that a bulk transfer moves in a finite time: first in slow start, then at the rate of both windows.

There is no closed form for the kernel's rules together. A sender without free buffer sends a third of the buffer at a
time, because its writer sleeps until a third is free. A sender without free window waits until the window has room for
a burst. So `lab.model.simulation` simulates the transfer, on a path without loss.

The module simulates only the first part of a large transfer, up to a steady state, and extrapolates the rest.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from msgspec import structs

from lab.model.coverage import check
from lab.model.line import base_rtt
from lab.model.scenario import ModelError, Scenario
from lab.model.simulation import Simulation

REPLAYED = "tcp_sendmsg(), tcp_write_xmit(), tcp_rcv_established() and CUBIC, Linux 7.2"

# Full round trips, or bytes, after which a transfer counts as steady if its pace changes by no more than _STEADY_WITHIN
# from then on. The edge of a small window cuts bursts at ever different places, so only many bursts have a mean.
_STEADY_ROUNDS, _STEADY_BYTES, _STEADY_WITHIN = 32, 32 << 20, 1e-3


@dataclass(frozen=True, slots=True)
class Transfer:
    """Describes a transfer whose writer stops after its duration, or when all data is written.

    Times are in seconds since the first write.
    """

    seconds: float  # when the writer stops
    written: int  # bytes written to the socket by then
    total: int  # bytes in all: the writer still finishes a block that it has begun by then
    sent: int  # bytes sent to the wire by then
    queue: float  # how long a packet sent at the end waits for the wire, seconds
    started: float | None  # when the reader first wakes; None: never
    first: int  # bytes that the reader finds at that time
    drained: float  # when all written data has arrived
    peaks: tuple[int, ...]  # the most frames that each forward hop would hold without its limit
    peaks_back: tuple[int, ...]  # the same for each hop back
    # when ACKs arrived, the bytes acknowledged by then, and the largest window offered by then, in bytes
    acks: tuple[Sequence[float], Sequence[int], Sequence[int]] = field(repr=False)

    def acked(self, at: float) -> int:
        """Return the bytes that were acknowledged to the sender by that time."""
        times, acked, _ = self.acks
        return acked[bisect_right(times, at) - 1] if times and times[0] <= at else 0

    def grows(self) -> bool:
        """Return whether the offered window still grows in the second half of the transfer."""
        times, _, windows = self.acks
        return windows[-1] > windows[bisect_left(times, times[-1] / 2)]

    def ack_of(self, size: int) -> tuple[float, int]:
        """Return (time, bytes acknowledged) of the first ACK for at least `size` bytes."""
        times, acked, _ = self.acks
        first = bisect_left(acked, size)
        return times[first], acked[first]


def transfer(scenario: Scenario) -> Transfer:
    """Return the simulated transfer of the workload, without the hops' limits.

    Raises ModelError for a path that is not covered or has no rate, and for a workload without an end.
    """
    check(scenario)
    writer, size = scenario.writer, scenario.writer.size
    if scenario.rate is None or (writer.duration is None and size is None):
        raise ModelError("the model needs a path with a rate, and a workload with a duration or a size")
    forward, reverse = (
        tuple(structs.replace(hop, limit=0) for hop in way) for way in (scenario.forward, scenario.reverse)
    )
    return _played(replace(scenario, forward=forward, reverse=reverse))


def _pace(whole: Transfer, first: int, last: int) -> float:
    """Return the seconds per byte between the ACKs for `first` and `last` bytes. The very last ACKs may be late."""
    (begun, first), (ended, last) = whole.ack_of(first), whole.ack_of(last)
    return (ended - begun) / (last - first)


@lru_cache(maxsize=64)
def _played(scenario: Scenario) -> Transfer:
    """Return the transfer of a scenario without irrelevant fields, so that a sweep over such fields is simulated only
    once.

    If the first part of a large transfer is not steady, its simulation goes on from where the data was written, with as
    much data again.
    """
    writer, size = scenario.writer, scenario.writer.size
    if size is None:
        if writer.writes_per_poll is None and writer.write_size is None:
            raise ModelError("the model needs the size of its writer's writes")
        return _whole(Simulation(scenario))
    assert scenario.rate is not None
    part = max(int(_STEADY_ROUNDS * scenario.rate.bps / 8 * base_rtt(scenario).number), _STEADY_BYTES)
    simulation = _simulation(scenario, min(2 * part, size))
    while size > 2 * part:
        simulation.keeps = bool(writer.write_size and 2 * part % writer.write_size == 0 and not writer.writes_per_poll)
        whole = _whole(simulation)
        before, after = _pace(whole, part, part * 3 // 2), _pace(whole, part * 3 // 2, part * 31 // 16)
        if abs(after / before - 1) < _STEADY_WITHIN:
            end = whole.drained + (size - whole.written) * _pace(whole, part, part * 31 // 16)
            return replace(whole, seconds=end, drained=end, written=size, total=size, sent=size)
        part *= 2
        if simulation.written:
            simulation = simulation.written
            simulation.write_on(min(2 * part, size) - part)
        else:
            simulation = _simulation(scenario, min(2 * part, size))
    return _whole(simulation)


def _simulation(scenario: Scenario, size: int) -> Simulation:
    return Simulation(replace(scenario, writer=structs.replace(scenario.writer, size=size)))


def _whole(simulation: Simulation) -> Transfer:
    """Simulate a transfer to its end."""
    simulation.run(simulation.end)
    sender, start, end = simulation.sender, simulation.start, simulation.end
    written, sent, queue = sender.write_seq, sender.snd_nxt, simulation.forward.queue(end)
    if simulation.program.size is None and simulation.program.writes_per_poll:
        simulation.stop()
    simulation.run()
    times, acked, windows = simulation.acked
    return Transfer(
        seconds=(min(end, simulation.last) - start) / 1e9,
        written=written,
        total=sender.write_seq,
        sent=sent,
        queue=queue / 1e9,
        started=None if simulation.started is None else (simulation.started - start) / 1e9,
        first=simulation.first,
        drained=(simulation.last - start) / 1e9,
        peaks=tuple(simulation.forward.peaks),
        peaks_back=tuple(simulation.reverse.peaks),
        acks=(array("d", [(at - start) / 1e9 for at in times]), acked, windows),
    )
