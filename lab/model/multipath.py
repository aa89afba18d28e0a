"""Predict how long Multipath TCP takes over several paths at once: the sum of their rates, less what stays idle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from statistics import fmean

from msgspec import structs

from lab.model.line import ETHERNET, ModelError, base_rtt, one_way
from lab.model.packet import SYN
from lab.model.paths import Both
from lab.model.scenario import End, Scenario
from lab.model.simulation import TIMER_SLACK_NS
from lab.model.subflow import DSS
from lab.prediction import Prediction, law, simulation
from lab.units import Duration, Rate, Size, Value

__all__ = ["Path", "goodput_of_paths", "transfer_time_by_paths", "transfer_time_over_paths", "transfer_times"]

_PACKET, _HEADERS = 1500, 20 + 20 + 12 + DSS  # IPv4, TCP, timestamps
_INITIAL_WINDOW = 10  # segments: RFC 6928
START = 100  # bytes that are sent ahead of the wait
RULES_SINCE = (7, 2)  # mptcp_rcv_rtt_update()
PHASES = 8  # moments of a tick at which a transfer is begun


@dataclass(frozen=True, slots=True)
class Path:
    """Describes a path whose one link with a rate carries packets of 1500 bytes."""

    rate: Rate  # of whole frames, as a topology has it
    delay: Duration  # one way
    limit: int = 1000  # frames that it holds

    @property
    def frame(self) -> Fraction:
        """Return the seconds that a full frame takes."""
        return self.rate.time_for(Size(_PACKET + ETHERNET))

    @property
    def idle(self) -> float:
        """Return the seconds for which it carries nothing: until the first byte is there, and in slow start.

        Its window starts with ten segments and doubles each round trip. Until it covers one, the link idles for the
        rest of each.
        """
        trip, burst = 2 * self.delay.seconds + float(self.frame), _INITIAL_WINDOW * float(self.frame)
        idle = self.delay.seconds
        while burst < trip:
            idle, burst = idle + trip - burst, 2 * burst
        return idle


def goodput_of_paths(paths: Sequence[Path]) -> Value:
    """Return what all paths carry together when each is full: the sum of their rates, less the headers."""
    share = Fraction(_PACKET - _HEADERS, _PACKET + ETHERNET)
    return Value(float(share * sum(path.rate.bps for path in paths)), "bit/s")


def transfer_time_by_paths(paths: Sequence[Path], size: Size, client: End, wait: Duration = Duration(0)) -> Prediction:
    """Return the law for a transfer of `size` over these paths, by the first of which the connection is opened.

    Time counts from when the receiver's end is connected. The sender waits before it sends more than a few bytes.
    """

    @law(
        formula="Σ rate × (time − wait − delay − idle in slow start) × payload / frame = size",
        source="RFC 8684, 3.3.1; RFC 6928; RFC 5681, 3.1; IEEE 802.3",
    )
    def transfer_time(_: Scenario) -> Value:
        """All paths are full but at their begin, and no path waits for another: what scheduling costs is not in it."""
        total = sum(path.rate.bps for path in paths)
        missed = sum(path.rate.bps * path.idle for path in paths) / total
        lead = paths[0].delay.seconds * (1 if client == "receiver" else -1)  # who accepts is connected later
        return Value(wait.seconds + lead + missed + 8 * size.bytes / goodput_of_paths(paths).number, "s")

    return transfer_time


@lru_cache(maxsize=64)
def transfer_times(
    scenario: Scenario, paths: tuple[Path, ...], sizes: tuple[Size, Size], wait: Duration = Duration(0)
) -> tuple[float, ...]:
    """Play a transfer to the scenario's receiver, with another one the other way, begun at PHASES moments of a tick.

    An end writes its first bytes as soon as it is connected, and the rest after the wait. Time counts, in seconds, from
    when the receiver's end is connected until it has all. Raises ModelError where a subflow waits for its RTO, and for
    a kernel before 7.2, whose buffers grow by other rules.
    """
    if scenario.kernel.version < RULES_SINCE:
        raise ModelError("the model has the rules of Multipath TCP in Linux 7.2: receive buffers grew by others before")
    ways = tuple(over_path(scenario, path) for path in paths)
    tick = 10**9 // scenario.kernel.hz
    return tuple(_played(ways, sizes, wait, (2 * phase + 1) * tick // (2 * PHASES)) for phase in range(PHASES))


def transfer_time_over_paths(
    paths: Sequence[Path], sizes: tuple[Size, Size], client: End, wait: Duration = Duration(0)
) -> Prediction:
    """Return the simulation of a transfer over these paths, by the first of which the connection is opened.

    `sizes` are what the receiver of the transfer gets, and what it sends meanwhile; `client` is who connects.
    """
    by_law = transfer_time_by_paths(paths, sizes[0], client, wait)

    @simulation(
        of="mptcp_sendmsg(), mptcp_subflow_get_send(), __mptcp_sync_sndbuf(), tcp_ack() and CUBIC, Linux 7.2",
        law=by_law,
    )
    def transfer_time(scenario: Scenario) -> Value:
        """The mean of what the transfer takes that begins at any moment of a tick, by the scheduler's own rules."""
        towards = scenario if scenario.client == client else scenario.reversed()
        return Value(fmean(transfer_times(towards, tuple(paths), sizes, wait)), "s")

    return transfer_time


def over_path(scenario: Scenario, path: Path) -> Scenario:
    """Return the scenario over one path: whatever link has a rate is that path's."""
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
    """Return both ends of a transfer that is about to begin, and when its receiver's end is connected, in ns."""
    both, first = Both(ways[0]), ways[0]
    rtt = int(base_rtt(first, SYN).number * 1e9)
    client, server = (both.near, both.far) if first.client == "sender" else (both.far, both.near)
    connected = {client: phase + rtt}
    towards = first.forward if first.client == "sender" else first.reverse
    connected[server] = connected[client] + int(one_way(towards, SYN) * 1e9)
    both.at(phase + rtt, lambda: both.join(first))
    for way in ways[1:]:  # each joins while the ends wait
        both.at(phase + rtt + wait.ns // 2, partial(both.join, way))
    for end, size in zip((both.near, both.far), sizes, strict=True):
        both.write(end, connected[end], START)
        both.write(end, connected[end] + wait.ns + TIMER_SLACK_NS, size.bytes - START, closes=end is client)
    return both, connected[both.far]
