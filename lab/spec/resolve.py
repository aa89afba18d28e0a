"""Resolve what a topology file says to a `Network` with nothing left to decide."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil
from typing import Any, Literal

from lab.spec import baseline, changing
from lab.spec.addressing import End, mac, mtu, subnets
from lab.spec.format import NodePart, TopologyPart
from lab.spec.network import WAYS, Direction, Interface, Kind, Link, Network, Node, Offloads, Shaper
from lab.spec.routing import Routing
from lab.units import Duration, Rate, Size

SMALLEST_FRAME = Size(84)  # on the wire: 64 of IEEE 802.3, 8 of preamble, 12 of gap
UNLIMITED = 1_000_000  # frames; a link without a rate never queues, and has a window or more in flight


def derived_limit(rate: Rate | None, delay: Duration, jitter: Duration, mtu: Size) -> int:
    """Return how many frames a wire must hold to lose none by accident: netem counts queued and in flight together.

    In flight: rate x (delay + jitter) of the smallest frames. Queued: one window as large as the baseline's
    receive buffer, in full frames, since a path does not push back on its sender and a single flow puts all of it
    into the queue when the delay is short. That is 4195 frames of 1500 B: 52 ms at 1 Gbit/s but 5 s at 10 Mbit/s.
    Such a path is over-buffered; set `limit` where the queue is what matters. Only frames that are there take memory.
    """
    if rate is None:
        return UNLIMITED
    in_flight = Fraction(rate.bps * (delay.ns + jitter.ns), 10**9 * 8 * SMALLEST_FRAME.bytes)
    return ceil(in_flight) + ceil(Fraction(baseline.WINDOW, mtu.bytes))


def network(name: str, topology: TopologyPart) -> Network:
    """Resolve `topology` to its network. Raises Mistakes when addresses or MTUs contradict one another."""
    found = subnets(topology)
    addresses = {end: texts for subnet in found for end, texts in subnet.addresses.items()}
    names = _interface_names(topology)
    links = tuple(_link(topology, index, link, names, addresses) for index, link in enumerate(topology.links, 1))
    routing = Routing(topology, found, names)
    hosts = [(Kind.HOST, host) for host in topology.hosts] + [(Kind.ROUTER, router) for router in topology.routers]
    versions: dict[str, set[int]] = {}  # of IP that a node has addresses of, by its name
    for (_, node), texts in addresses.items():
        versions.setdefault(node, set()).update(texts)
    nodes = [Node(node, kind, _sysctls(topology, node, versions.get(node)), routing.of(node)) for kind, node in hosts]
    nodes += [Node(switch, Kind.SWITCH, {}, ()) for switch in topology.switches]
    return Network(name, tuple(nodes), links)


def _interface_names(topology: TopologyPart) -> dict[End, str]:
    names: dict[End, str] = {}
    count: Counter[str] = Counter()
    for name, link in topology.links.items():
        for node in link.ends:
            names[name, node] = f"eth{count[node]}"
            count[node] += 1
    return names


def _sysctls(topology: TopologyPart, node: str, versions: set[int] | None) -> dict[str, str]:
    sysctls = dict(baseline.HOST)
    if node in topology.routers:
        sysctls |= baseline.ROUTER
    if versions is not None and 6 not in versions:
        sysctls |= baseline.IPV4_ONLY
    return sysctls | topology.sysctls | _node(topology, node).sysctls


def _node(topology: TopologyPart, name: str) -> NodePart:
    return topology.hosts.get(name) or topology.routers.get(name) or NodePart()


def _link(
    topology: TopologyPart, index: int, name: str, names: dict[End, str], addresses: dict[End, dict[int, str]]
) -> Link:
    first, second = (
        _interface(topology, (name, node), names[name, node], mac(index, side), addresses.get((name, node), {}))
        for side, node in enumerate(topology.links[name].ends, 1)
    )
    return Link(name, (first, second), _direction(topology, name, "forward"), _direction(topology, name, "back"))


def _interface(topology: TopologyPart, end: End, name: str, mac: str, addresses: dict[int, str]) -> Interface:
    link, node = end
    own, shared = topology.links[link].ends[node], _node(topology, node)

    def choose(key: str) -> Any:
        return getattr(shared, key) if getattr(own, key) is None else getattr(own, key)

    offloads = shared.offloads.model_dump(exclude_none=True) | own.offloads.model_dump(exclude_none=True)
    coalescing = choose("coalescing") or Duration(0)
    return Interface(
        node=node,
        name=name,
        mac=mac,
        mtu=max(mtu(topology, link, way) for way in WAYS),
        addresses=tuple(addresses[version] for version in sorted(addresses)),
        offloads=Offloads(**offloads),
        gso_max_segs=choose("gso_max_segs"),
        gro_flush_timeout=coalescing,
        # One deferral lets the timer, not the next frame, start the next poll, as a network card's does.
        napi_defer_hard_irqs=1 if coalescing else 0,
    )


def _direction(topology: TopologyPart, name: str, way: Literal["forward", "back"]) -> Direction:
    link = topology.links[name]
    rate = link.way(way, "rate")
    delay = link.way(way, "delay") or Duration(0)
    jitter = link.way(way, "jitter") or Duration(0)
    size = mtu(topology, name, way)
    given = changing.resolved(lambda key: link.way(way, key))
    limit = link.way(way, "limit") or derived_limit(*changing.most(rate, delay, given), jitter, size)
    return Direction(
        rate=rate,
        delay=delay,
        jitter=jitter,
        loss=float(link.way(way, "loss") or 0),
        reorder=float(link.way(way, "reorder") or 0),
        duplicate=float(link.way(way, "duplicate") or 0),
        mtu=size,
        limit=limit,
        shaper=link.way(way, "shaper") or Shaper.PATH,
        **changing.with_queue(given, limit),
    )
