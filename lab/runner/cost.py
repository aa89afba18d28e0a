"""Estimate the cost of a trial in virtual time from its network, workload and probes, before the trial runs.

Idle time costs nothing, so the cost depends on frames, program wake-ups, writes and samples, and not on seconds of
virtual time. The figures are for one core of a 2026 server (docs/measurements/scale.md shows the errors of the
estimates). The lab uses the estimates to order and divide work, and to predict its disk space and memory. No result
depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lab.guest.network import Network
from lab.guest.probe import Capture, ExpertInfo, QueueState, TcpInfo
from lab.guest.task import Traffic
from lab.guest.workload.program import Program
from lab.runner.memory import memory_of

BOOT = 0.69  # seconds for every guest: its start, its network, its end
PART = 0.02  # for each of several workloads
FRAME = 2.5e-6  # for a frame, in the kernel and in the captures
WAKE = 18e-6  # for a program that reads each time data arrives
WRITE = 14e-6  # for one small write, or one answer
SAMPLE = 1e-3  # for one sample of a probe with an interval
UNKNOWN = 1.0  # assumed seconds of sending, for a program without a duration
WINDOW = 0.7  # the share of a buffer that a window reaches
_BUFFERS = {"net.ipv4.tcp_rmem": 6_291_456, "net.ipv4.tcp_wmem": 4_194_304}  # bytes, Linux's defaults

FILES = 25_000  # bytes of a record without captures and samples
PACKET = 16  # in a capture, before each packet
ACK = 66  # of a captured ACK
ACKS = 0.5  # per data frame
SUPER = 10  # frames of a super-packet, if an end makes them
LOOK = 300  # bytes of a sample of one connection
GUEST, NODE = 100 << 20, 1 << 20  # bytes of memory: for a guest with a small network, and for each further node
IN_FLIGHT = 3  # bytes of memory for each byte of a window, because the kernel adds to each frame


@dataclass(frozen=True)
class Cost:
    """Holds the estimated cost of a trial."""

    seconds: float  # of one core
    disk: int  # bytes of its record
    memory: int  # bytes of the host's memory while it runs


@dataclass(frozen=True)
class _Work:
    until: float  # seconds of virtual time from the start in which probes see anything
    frames: float = 0.0
    wakes: float = 0.0
    writes: float = 0.0


def estimate(network: Network, workload: Traffic, probes: Iterable[object] = ()) -> Cost:
    """Return the estimated cost of a trial.

    For flows that share a network, the network's time counts only once: the time of the most expensive flow. Each flow
    adds the start of a program.
    """
    parts = [(part.start.seconds, part.workload) for part in workload.parts()] or [(0.0, workload)]
    works = [_work(network, each, start) for start, each in parts]
    frames, until = max(work.frames for work in works), max(work.until for work in works)
    snaps = [each.snap.bytes for each in probes if isinstance(each, Capture)]
    snaps += [Capture().snap.bytes for each in probes if isinstance(each, ExpertInfo)]
    looks = sum(until / each.interval.seconds for each in probes if isinstance(each, TcpInfo | QueueState))
    busy = max(work.wakes * WAKE + work.writes * WRITE for work in works) + PART * (len(works) - 1)
    writes = max(work.writes for work in works)
    packets = frames / SUPER if _has_super_packets(network) else frames
    captured = (packets + writes) * sum(PACKET + snap + ACKS * (PACKET + ACK) for snap in snaps)
    window = _window(network) * len(works) if network.links else 0.0
    return Cost(
        seconds=BOOT + frames * FRAME + looks * SAMPLE + busy,
        disk=round(FILES + captured + looks * LOOK * len(works)),
        memory=round(min(memory_of(network).bytes, GUEST + NODE * len(network.nodes) + IN_FLIGHT * window)),
    )


def _work(network: Network, workload: Traffic, start: float) -> _Work:
    writer = workload.writer()
    if writer.messages:
        return _Work(start, writes=writer.messages.count * (len(writer.messages.pieces) + 2))
    rate = _bytes_a_second(network)
    size = _size(workload, rate)
    frames = size / _mtu(network) if network.links else 0.0
    return _Work(start + size / rate, frames, frames if workload.tools else 0.0)


def _size(workload: Traffic, rate: float) -> float:
    """Return the number of bytes that the workload sends.

    A program's time limit does not determine this number.
    """
    writer = workload.writer()
    if writer.size is not None:
        return writer.size
    if not workload.greedy:
        return 0.0
    return rate * (UNKNOWN if writer.duration is None or isinstance(workload, Program) else writer.duration.seconds)


def _bytes_a_second(network: Network) -> float:
    """Return the lower of two rates, in bytes per second: the slowest link, or one window per round-trip time."""
    directions = [direction for link in network.links for _, direction, _ in link.directions()]
    rate = min((least.bps / 8 for each in directions if (least := each.least_rate)), default=125e6)
    rtt = sum(direction.delay.seconds for direction in directions)
    return min(rate, _window(network) / rtt) if rtt else rate


def _has_super_packets(network: Network) -> bool:
    return any(end.offloads.gso or end.offloads.gro for link in network.links for end in link.ends)


def _window(network: Network) -> float:
    return WINDOW * min(
        int(node.sysctls[name].split()[-1]) if name in node.sysctls else usual
        for node in network.nodes
        for name, usual in _BUFFERS.items()
    )


def _mtu(network: Network) -> int:
    return min(direction.mtu.bytes for link in network.links for _, direction, _ in link.directions())
