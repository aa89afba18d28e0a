"""Estimate what a trial in virtual time costs, from its network and its workload, before anything has run.

The figures are of one core of a 2026 server (docs/scale.md says how far the estimates are off). They order and divide
work; no result depends on them.
"""

from __future__ import annotations

from lab.spec.network import Network
from lab.spec.task import Traffic, Writer

__all__ = ["seconds"]

BOOT = 0.5  # of every guest: its start, its network, its end
PART = 0.02  # of each of several workloads
FRAME = 1.2e-6  # of a frame, in the kernel
WAKE = 60e-6  # of a program that reads whenever something has come
WAKES_A_SECOND = 100_000  # the most of these in a second of its time
WRITE = 15e-6  # of one small write, or of the answer to some
RUNNING = 0.01  # of a second of virtual time, for timers and probes
UNKNOWN = 1.0  # seconds for which a program sends that does not say so
WINDOW = 0.7  # the part of a buffer that a window comes to
_BUFFERS = {"net.ipv4.tcp_rmem": 6_291_456, "net.ipv4.tcp_wmem": 4_194_304}  # bytes, Linux's


def seconds(network: Network, workload: Traffic) -> float:
    """Return the seconds of one core that a trial is estimated to take.

    Flows that share a network take its time only once: the dearest of them, and a program's start for each.
    """
    if parts := workload.parts():
        return max(part.start.seconds * RUNNING + seconds(network, part.workload) for part in parts) + PART * len(parts)
    writer = workload.writer()
    rate = _bytes_a_second(network)
    duration = writer.duration.seconds if writer.duration else UNKNOWN if workload.greedy else 0.0
    writes = writer.messages.count * (len(writer.messages.pieces) + 2) if writer.messages else 0
    size = _size(writer, rate * duration)
    sending = size / rate if size else 0.0
    frames = size / _mtu(network) if network.links else 0.0
    wakes = min(frames, sending * WAKES_A_SECOND) if workload.tools else 0.0
    return BOOT + frames * FRAME + wakes * WAKE + writes * WRITE + max(sending, duration) * RUNNING


def _size(writer: Writer, otherwise: float) -> float:
    if writer.messages:
        return writer.messages.count * writer.messages.size
    return otherwise if writer.size is None else writer.size


def _bytes_a_second(network: Network) -> float:
    """Return what the slowest link, or a window in the round-trip time, lets through."""
    directions = [direction for link in network.links for _, direction, _ in link.directions()]
    rate = min((direction.rate.bps / 8 for direction in directions if direction.rate), default=125e6)
    rtt = sum(direction.delay.seconds for direction in directions)
    window = WINDOW * min(
        int(node.sysctls[name].split()[-1]) if name in node.sysctls else usual
        for node in network.nodes
        for name, usual in _BUFFERS.items()
    )
    return min(rate, window / rtt) if rtt else rate


def _mtu(network: Network) -> int:
    return min(direction.mtu.bytes for link in network.links for _, direction, _ in link.directions())
