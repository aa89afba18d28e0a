"""Predict the time of a Multipath TCP transfer over several paths, from the sum of their rates minus the idle times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from statistics import fmean

from msgspec import structs

from lab.base import ethernet
from lab.ext.mptcp.model.paths import Both
from lab.ext.mptcp.model.subflow import DSS
from lab.model.line import base_rtt, one_way
from lab.model.packet import SYN
from lab.model.scenario import ModelError, PathEnd, Scenario
from lab.model.simulation import TIMER_SLACK_NS
from lab.spec.prediction import Prediction, law, simulation
from lab.units import Duration, Rate, Size, Value

_PACKET, _HEADERS = 1500, 20 + 20 + 12 + DSS  # IPv4, TCP, timestamps
_INITIAL_WINDOW = 10  # segments: RFC 6928
START = 100  # bytes that are sent before the wait
RULES_SINCE = (7, 2)  # mptcp_rcv_rtt_update()
PHASES = 8  # phases of a tick at which a simulated transfer starts


@dataclass(frozen=True, slots=True)
class Path:
    """Describes a path whose only link with a rate carries packets of 1500 bytes."""

    rate: Rate  # of whole frames, as in a topology
    delay: Duration  # in one direction
    limit: int = 1000  # frames that it can hold

    @property
    def frame(self) -> Fraction:
        """Return the time, in seconds, of a full frame on the link."""
        return self.rate.time_for(Size(_PACKET + ethernet.AROUND))

    @property
    def idle(self) -> float:
        """Return the time, in seconds, for which the link is idle: until the first byte arrives, and in slow start.

        The window starts at ten segments and doubles each round trip. Until the window covers a round trip, the link is
        idle for the rest of each round trip.
        """
        trip, burst = 2 * self.delay.seconds + float(self.frame), _INITIAL_WINDOW * float(self.frame)
        idle = self.delay.seconds
        while burst < trip:
            idle, burst = idle + trip - burst, 2 * burst
        return idle


def goodput_of_paths(paths: Sequence[Path]) -> Value:
    """Return the payload rate of all paths together if each path is full: the sum of their rates, minus the headers."""
    share = Fraction(_PACKET - _HEADERS, _PACKET + ethernet.AROUND)
    return Value(float(share * sum(path.rate.bps for path in paths)), "bit/s")


def transfer_time_by_paths(
    paths: Sequence[Path], size: Size, client: PathEnd, wait: Duration = Duration(0)
) -> Prediction:
    """Return the law for a transfer of `size` over these paths. The first path opens the connection.

    The time starts when the receiver's end is connected. The sender waits before it sends more than a few bytes.
    """

    @law(
        formula="Σ rate × (time − wait − delay − idle in slow start) × payload / frame = size",
        source="RFC 8684, 3.3.1; RFC 6928; RFC 5681, 3.1; IEEE 802.3",
    )
    def transfer_time(_: Scenario) -> Value:
        """All paths are full except at the start, and no path waits for another.

        The law ignores the cost of scheduling.
        """
        total = sum(path.rate.bps for path in paths)
        missed = sum(path.rate.bps * path.idle for path in paths) / total
        lead = paths[0].delay.seconds * (1 if client == "receiver" else -1)  # the accepting end is connected later
        return Value(wait.seconds + lead + missed + 8 * size.bytes / goodput_of_paths(paths).number, "s")

    return transfer_time


@lru_cache(maxsize=64)
def transfer_times(
    scenario: Scenario, paths: tuple[Path, ...], sizes: tuple[Size, Size], wait: Duration = Duration(0)
) -> tuple[float, ...]:
    """Return the times of a transfer to the scenario's receiver, with a transfer back, for PHASES phases within a tick.

    An end writes its first bytes as soon as it is connected, and the remaining bytes after the wait. The times are in
    seconds, from the moment when the receiver's end is connected until it has all bytes. Raises ModelError if a subflow
    waits for its RTO, and for kernels before 7.2, whose buffers grow by different rules.
    """
    if scenario.kernel.version < RULES_SINCE:
        raise ModelError("the model has the rules of Multipath TCP in Linux 7.2: receive buffers grew by others before")
    ways = tuple(over_path(scenario, path) for path in paths)
    tick = 10**9 // scenario.kernel.hz
    return tuple(_played(ways, sizes, wait, (2 * phase + 1) * tick // (2 * PHASES)) for phase in range(PHASES))


def transfer_time_over_paths(
    paths: Sequence[Path], sizes: tuple[Size, Size], client: PathEnd, wait: Duration = Duration(0)
) -> Prediction:
    """Return the simulation of a transfer over these paths. The first path opens the connection.

    `sizes` holds the numbers of bytes sent to the transfer's receiver and back. `client` is the end that connects.
    """
    by_law = transfer_time_by_paths(paths, sizes[0], client, wait)

    @simulation(
        of="mptcp_sendmsg(), mptcp_subflow_get_send(), __mptcp_sync_sndbuf(), tcp_ack() and CUBIC, Linux 7.2",
        law=by_law,
    )
    def transfer_time(scenario: Scenario) -> Value:
        """The mean time of a transfer that starts at a random phase of a tick, with the scheduler's own rules."""
        towards = scenario if scenario.client == client else scenario.reversed()
        return Value(fmean(transfer_times(towards, tuple(paths), sizes, wait)), "s")

    return transfer_time


def over_path(scenario: Scenario, path: Path) -> Scenario:
    """Return the scenario over one path: each link with a rate gets the path's rate."""
    rated = {"rate": path.rate, "delay": path.delay, "limit": path.limit}
    forward, reverse = (
        tuple(structs.replace(hop, **rated) if hop.rate else hop for hop in way)
        for way in (scenario.forward, scenario.reverse)
    )
    return replace(scenario, forward=forward, reverse=reverse)


def _played(ways: Sequence[Scenario], sizes: tuple[Size, Size], wait: Duration, phase: int) -> float:
    both, connected = begun(ways, sizes, wait, phase)
    return (both.run(lambda: both.far.ack_seq >= sizes[0].bytes) - connected) / 1e9


def begun(ways: Sequence[Scenario], sizes: tuple[Size, Size], wait: Duration, phase: int) -> tuple[Both, int]:
    """Return both ends of a transfer that is about to start, and when its receiver's end is connected, in ns."""
    both, first = Both(ways[0]), ways[0]
    rtt = int(base_rtt(first, SYN).number * 1e9)
    client, server = (both.near, both.far) if first.client == "sender" else (both.far, both.near)
    connected = {client: phase + rtt}
    towards = first.forward if first.client == "sender" else first.reverse
    connected[server] = connected[client] + int(one_way(towards, SYN) * 1e9)
    both.at(phase + rtt, lambda: both.join(first))
    for way in ways[1:]:  # each one joins while the ends wait
        both.at(phase + rtt + wait.ns // 2, partial(both.join, way))
    for end, size in zip((both.near, both.far), sizes, strict=True):
        both.write(end, connected[end], START)
        both.write(end, connected[end] + wait.ns + TIMER_SLACK_NS, size.bytes - START, closes=end is client)
    return both, connected[both.far]
