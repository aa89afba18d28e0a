"""Scenarios for the tests of the model: a path, and hosts that differ from the usual ones in what a test is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from lab.guest.network import Direction, Interface, Kind, Node, Offloads, Route, Shaper
from lab.model import Host, Scenario
from lab.units import Duration, Rate, Size


def hop(
    rate: str | None = "1 Gbit/s", delay: str = "0 s", mtu: int = 1500, limit: int = 10_000, loss: float = 0.0
) -> Direction:
    return Direction(
        rate=None if rate is None else Rate.of(rate),
        delay=Duration.of(delay),
        jitter=Duration(0),
        loss=loss,
        reorder=0.0,
        duplicate=0.0,
        mtu=Size(mtu),
        limit=limit,
        shaper=Shaper.PATH,
    )


def host(
    name: str = "host",
    *,
    gro: bool = False,
    coalescing: str = "0 s",
    gso_max_segs: int | None = None,
    advmss: int | None = None,
    **sysctls: object,
) -> Host:
    """A host, with sysctls by their names without net.ipv4."""
    route = Route("0.0.0.0/0", "eth0", None, None, None if advmss is None else Size(advmss))
    interface = Interface(
        node=name,
        name="eth0",
        mac="",
        mtu=Size(1500),
        addresses=(),
        offloads=Offloads(gro=gro),
        gso_max_segs=gso_max_segs,
        gro_flush_timeout=Duration.of(coalescing),
    )
    plain = Host(Node(name, Kind.HOST, {}, (route,)), interface)
    return tuned(plain, **sysctls)


def tuned(host: Host, **sysctls: object) -> Host:
    """The same host, with these sysctls."""
    changed = host.node.sysctls | {f"net.ipv4.{name}": str(value) for name, value in sysctls.items()}
    return replace(host, node=structs.replace(host.node, sysctls=changed))


def scenario(
    forward: Direction | Sequence[Direction],
    reverse: Direction | Sequence[Direction] | None = None,
    *,
    sndbuf: int = 4 << 20,
    rcvbuf: int = 6 << 20,
    timestamps: bool = True,
    sender: Host | None = None,
    receiver: Host | None = None,
    **other: Any,
) -> Scenario:
    """A way and the same way back; `sndbuf` and `rcvbuf` are the largest that the buffers grow to."""
    there, back = ((way,) if isinstance(way, Direction) else tuple(way) for way in (forward, reverse or forward))
    ends = tuned(sender or host("sender"), tcp_wmem=f"4096 16384 {sndbuf}"), receiver or host("receiver")
    if "net.ipv4.tcp_rmem" not in ends[1].node.sysctls:
        ends = ends[0], tuned(ends[1], tcp_rmem=f"4096 131072 {rcvbuf}")
    if not timestamps:
        ends = tuned(ends[0], tcp_timestamps=0), tuned(ends[1], tcp_timestamps=0)
    return Scenario(there, back, *ends, **other)
