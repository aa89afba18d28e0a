"""Resolve a topology file to a `Network` in which every address, rate and limit is set."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil
from typing import Any, Literal

from lab.base import ethernet
from lab.guest.network import WAYS, Direction, Interface, Kind, Link, Network, Node, Offloads, Shaper, Vrf
from lab.spec import baseline, buckets, carried, changing, destinations, layers, mtus, multicast, tunnels
from lab.spec.addressing import End, mtu, subnets
from lab.spec.declared import RouteTables, tables_of
from lab.spec.direction import AMPLE, JitterPart
from lab.spec.document import Place
from lab.spec.format import TopologyPart
from lab.spec.parts import Mistakes
from lab.spec.routing import Routing
from lab.units import Duration, Rate, Size

USUAL_QUEUE, FEWEST = Duration.of("100 ms"), 20  # the RTT for which router buffers are sized; frames
HEADER, MOST_FRAMES = 14, 2**32 - 1  # bytes of Ethernet; netem counts frames, and an interface's tbf counts bytes
UNLIMITED = 1_000_000  # frames; a link without a rate never queues, but may have a window or more in flight


def ample_limit(rate: Rate | None, delay: Duration, jitter: Duration, mtu: Size) -> int:
    """Return the number of frames that a wire must hold so that a single flow loses no frames.

    netem counts queued frames and frames in flight together. The frames in flight fill rate x (delay + jitter) with
    frames of the smallest size. The queued frames hold one window as large as the baseline's receive buffer, in full
    frames: a path has no back-pressure on its sender, so with a short delay, a single flow puts its whole window into
    the queue. Such a window has 4195 frames of 1500 B, which is 52 ms at 1 Gbit/s but 5 s at 10 Mbit/s. Only frames
    that are present use memory.
    """
    return _in_flight(rate, delay, jitter) + _window(mtu) if rate else UNLIMITED


def usual_limit(rate: Rate | None, delay: Duration, jitter: Duration, mtu: Size) -> int:
    """Return the number of frames that a wire holds by default: the frames in flight, plus `usual_queue`."""
    return _in_flight(rate, delay, jitter) + usual_queue(rate, mtu) if rate else UNLIMITED


def usual_queue(rate: Rate, mtu: Size) -> int:
    """Return the number of full frames that can queue by default: `USUAL_QUEUE` at the link's rate.

    The minimum is `FEWEST`, two initial windows of RFC 6928. The maximum is one receive window (`ample_limit`).
    """
    frames = ceil(Fraction(rate.bps * USUAL_QUEUE.ns, 10**9 * 8 * (mtu.bytes + ethernet.AROUND)))
    return min(max(frames, FEWEST), _window(mtu))


def _in_flight(rate: Rate, delay: Duration, jitter: Duration) -> int:
    return ceil(Fraction(rate.bps * (delay.ns + jitter.ns), 10**9 * 8 * ethernet.SMALLEST))


def _window(mtu: Size) -> int:
    return ceil(Fraction(baseline.WINDOW, mtu.bytes))


def network(name: str, topology: TopologyPart) -> Network:
    """Return the network of `topology`. Raises Mistakes if its parts contradict one another."""
    if mistakes := [*carried.mistakes(topology)]:
        raise Mistakes(mistakes)
    found = subnets(topology)
    addresses = {end: texts for subnet in found for end, texts in subnet.addresses.items()}
    names = _interface_names(topology)
    layers.name(topology, names)
    macs = layers.macs(topology)
    links = tuple(
        _link(topology, link, names, macs, addresses) for link, part in topology.links.items() if not part.carried
    )
    overlays = tuple(
        layers.overlay(topology, name, names, _ends(topology, name, names, macs, addresses), addresses)
        for name in carried.Carriers.of(topology).overlays
    )
    routing = Routing(topology, found, names)
    routes = RouteTables(topology, found, routing).every()
    if mistakes := [
        *tunnels.mistakes(topology, found, routing, routes),
        *mtus.mistakes(topology, found, routing, routes),
    ]:
        raise Mistakes(mistakes)
    groups = multicast.trees(topology, routing)
    if mistakes := [*multicast.declared_twice(topology, groups, routes)]:
        raise Mistakes(mistakes)
    hosts = [(Kind.HOST, host) for host in topology.hosts] + [(Kind.ROUTER, router) for router in topology.routers]
    versions: dict[str, set[int]] = {}  # node -> the IP versions of its addresses
    for (_, node), texts in addresses.items():
        versions.setdefault(node, set()).update(texts)
    nodes = [
        Node(
            node,
            kind,
            _sysctls(topology, node, versions.get(node)),
            (*routes[node], *groups.routes.get(node, ())),
            _vrfs(topology, node, names),
            tuple(groups.forwarding.get(node, ())),
        )
        for kind, node in hosts
    ]
    nodes += [Node(switch, Kind.SWITCH, {}, ()) for switch in topology.switches]
    return Network(name, tuple(nodes), links, overlays, topology.neighbours, topology.names or "")


def _interface_names(topology: TopologyPart) -> dict[End, str]:
    names: dict[End, str] = {}
    count: Counter[str] = Counter()
    for name, link in topology.links.items():
        for node in link.ends if not link.carried else ():
            names[name, node] = f"eth{count[node]}"
            count[node] += 1
    return names


def _vrfs(topology: TopologyPart, node: str, names: dict[End, str]) -> tuple[Vrf, ...]:
    part = topology.node(node)
    tables = tables_of(part)
    return tuple(Vrf(vrf, tables[vrf], tuple(names[link, node] for link in links)) for vrf, links in part.vrfs.items())


def _sysctls(topology: TopologyPart, node: str, versions: set[int] | None) -> dict[str, str]:
    sysctls = dict(baseline.HOST)
    if node in topology.routers:
        sysctls |= baseline.ROUTER
    if versions is not None and 6 not in versions:
        sysctls |= baseline.IPV4_ONLY
    return sysctls | topology.sysctls | topology.node(node).sysctls


def _link(
    topology: TopologyPart,
    name: str,
    names: dict[End, str],
    macs: dict[End, str],
    addresses: dict[End, dict[int, str]],
) -> Link:
    ends = _ends(topology, name, names, macs, addresses)
    forward, back = (_direction(topology, name, way, addresses) for way in WAYS)
    return Link(name, ends, forward, back)


def _ends(
    topology: TopologyPart,
    name: str,
    names: dict[End, str],
    macs: dict[End, str],
    addresses: dict[End, dict[int, str]],
) -> tuple[Interface, Interface]:
    first, second = (
        _interface(topology, (name, node), names[name, node], macs[name, node], addresses.get((name, node), {}))
        for node in topology.links[name].ends
    )
    return first, second


def _interface(topology: TopologyPart, end: End, name: str, mac: str, addresses: dict[int, str]) -> Interface:
    link, node = end
    own, shared = topology.links[link].ends[node], topology.node(node)

    def choose(key: str) -> Any:
        return getattr(shared, key) if getattr(own, key) is None else getattr(own, key)

    offloads = shared.offloads.model_dump(exclude_none=True) | own.offloads.model_dump(exclude_none=True)
    coalescing = choose("coalescing") or Duration(0)
    return Interface(
        node=node,
        name=name,
        mac=mac,
        mtu=_device_mtu(topology, link, node),
        addresses=tuple(addresses[version] for version in sorted(addresses)),
        offloads=Offloads(**offloads),
        gso_max_segs=choose("gso_max_segs"),
        gro_flush_timeout=coalescing,
        # With one deferral the timer starts the next poll, not the next frame. Network cards work like that.
        napi_defer_hard_irqs=1 if coalescing else 0,
    )


def _device_mtu(topology: TopologyPart, link: str, node: str) -> Size:
    """Return the MTU of a link's device: a wire's also takes the frames of the wider direction."""
    if topology.links[link].carried:
        return carried.Carriers.of(topology).mtu(link, node)
    return max(mtu(topology, link, way) for way in WAYS)


def _by_node(topology: TopologyPart, addresses: dict[End, dict[int, str]]) -> dict[str, list[str]]:
    """Return the addresses of every node, with prefix lengths."""
    found: dict[str, list[str]] = {node: [] for node in (*topology.hosts, *topology.routers, *topology.switches)}
    for (_, node), texts in addresses.items():
        found[node] += texts.values()
    return found


def _direction(
    topology: TopologyPart, name: str, way: Literal["forward", "back"], addresses: dict[End, dict[int, str]]
) -> Direction:
    link = topology.links[name]
    rate = link.way(way, "rate")
    delay = link.way(way, "delay") or Duration(0)
    jitter = link.way(way, "jitter") or JitterPart(deviation=Duration(0))
    size = mtu(topology, name, way)
    given = changing.resolved(lambda key: link.way(way, key), link.shares(way, "changes"))
    place: Place
    if delays := link.way(way, "delays"):
        place = ("links", name, "delays") if link.shares(way, "delays") else ("links", name, way, "delays")
        given["delays"] = destinations.resolved(delays, _by_node(topology, addresses), place)
    asked = link.way(way, "limit")
    most = (*changing.most(rate, delay, given), jitter.late, size)
    waits_outside = changing.waits_outside(given, rate)
    ample = ample_limit(*most) if asked == AMPLE or waits_outside or not rate else usual_limit(*most)
    limit = asked if isinstance(asked, int) else ample + buckets.most_at_once(given.get("queue"))
    shaper = link.way(way, "shaper") or Shaper.PATH
    if limit > MOST_FRAMES or (shaper is Shaper.NIC and limit * (size.bytes + HEADER) > MOST_FRAMES):
        key = "limit" if isinstance(asked, int) else "delay"
        held = f"the {'interface' if shaper is Shaper.NIC else 'wire'} would hold {limit} frames"
        place = ("links", name, key) if link.shares(way, key) else ("links", name, way, key)
        raise Mistakes([(place, f"{held}, too many for the kernel; give a smaller limit, delay or rate")])
    fifo = usual_queue(most[0], size) if waits_outside and most[0] and asked != AMPLE else limit
    return Direction(
        rate=rate,
        delay=delay,
        jitter=jitter.deviation,
        loss=float(link.way(way, "loss") or 0),
        reorder=float(link.way(way, "reorder") or 0),
        duplicate=float(link.way(way, "duplicate") or 0),
        mtu=size,
        limit=limit,
        shaper=shaper,
        **changing.with_queue(given, rate, fifo),
    )
