"""Compare the network that the kernel reports with the requested one, in the same way for every fabric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.guest.fabric import (
    addresses,
    build,
    device,
    multicast,
    neighbours,
    offload,
    overlay,
    qdisc,
    routes,
    stage,
    wire,
)
from lab.guest.fabric.netlink import Netlink
from lab.guest.fabric.spaces import WIRES, Spaces
from lab.guest.network import WAYS, Kind, Node


def qdiscs(spaces: Spaces) -> list[dict[str, Any]]:
    """Return every shaping qdisc, with its counters: wires, then queues, then nodes.

    See `qdisc.describe` for the fields.
    """
    found = []
    with spaces.inside(WIRES) as netlink:
        by_end = device.qdiscs(netlink)
        queues = {device.LEAF: device.qdiscs(netlink, device.LEAF), device.TC_ROOT: by_end}
        buckets = {
            stage.ends(number, side)[0]: stage.bucket_options(netlink, stage.ends(number, side)[0], direction.queue)
            for number, side, _, direction in stage.staged(spaces.network)
            if direction.queue and direction.queue.is_bucket
        }
        for number, link in enumerate(spaces.network.links):
            for side, (_, direction, _) in enumerate(link.directions()):
                end = build.wire_end(number, 1 - side)
                plain = wire.reported(netlink, end, direction, by_end[end])
                found.append({"node": link.name, "interface": end, "direction": WAYS[side], **plain})
    for number, side, link, direction in stage.staged(spaces.network):
        assert direction.queue is not None
        end, _ = stage.ends(number, side)
        held = queues[stage.place(direction.queue)][end]
        held = {**held, "options": buckets.get(end, held["options"])}
        found.append({"node": link.name, "interface": end, "direction": WAYS[side], **held})
    for node in spaces.network.nodes:
        with spaces.inside(node.name) as netlink:
            for interface, plain in device.qdiscs(netlink).items():
                if plain["kind"] != "noqueue":
                    found.append({"node": node.name, "interface": interface, "direction": "out", **plain})
    return found


def queue(spaces: Spaces, link: str, way: str) -> dict[str, Any]:
    """Return the qdisc in which this direction's frames wait. Raises FabricError if there is no such direction."""
    for number, each in enumerate(spaces.network.links):
        for side, (name, (_, direction, _)) in enumerate(zip(WAYS, each.directions(), strict=True)):
            if (each.name, name) == (link, way):
                with spaces.inside(WIRES) as netlink:
                    if direction.queue:
                        held = device.qdiscs(netlink, stage.place(direction.queue))
                        return held[stage.ends(number, side)[0]]
                    return wire.reported(netlink, build.wire_end(number, 1 - side), direction)
    raise build.FabricError(f"the network has no link {link}, {way}")


def differences(spaces: Spaces) -> list[str]:
    """Return the differences between the kernel's report and the requested network; empty if the network is exact."""
    compared = [each for node in spaces.network.nodes for each in _of_node(spaces, node)]
    compared += [*_of_wires(spaces), *overlay.differences(spaces)]
    return [f"{what} is {actual}, not {wanted}" for what, wanted, actual in compared if wanted != actual]


def _of_node(spaces: Spaces, node: Node) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) for every setting of a node."""
    ends = [*spaces.interfaces[node.name], *spaces.carried[node.name]]
    with spaces.inside(node.name) as netlink:
        for name, value in node.sysctls.items():
            yield f"{node.name}: {name}", value.split(), build.read_sysctl(name).split()
        for end in ends:
            wanted_offloads = offload.wanted(netlink, end.name, end.offloads)
            found = [each for each in offload.read(netlink, end.name) if each not in overlay.always_on(end.name)]
            yield f"{node.name}: {end.name} offloads", wanted_offloads, found
        links = device.links(netlink)
        if node.kind is not Kind.SWITCH:
            names = {state.index: name for name, state in links.items()}
            yield from routes.differences(netlink, node, ends, names)
            yield from addresses.differences(netlink, ends, names)
        yield from multicast.differences(node)
        known = sum(len(spaces.neighbours(end)) for end in ends)
        yield f"{node.name}: known neighbours", known, neighbours.known(netlink)
    for end in ends:
        where = f"{node.name}: {end.name}"
        if wanted := build.coalescing(end):
            with spaces.of(node.name).sysfs() as sysfs:
                for name, value in wanted.items():
                    yield f"{where} {name}", value, (sysfs / "class" / "net" / end.name / name).read_text().strip()
        yield f"{where} MTU", end.mtu.bytes, links[end.name].mtu
        if end.mac:
            yield f"{where} MAC", end.mac, links[end.name].mac
        if end.gso_max_segs is not None:
            yield f"{where} gso_max_segs", end.gso_max_segs, links[end.name].gso_max_segs


def _of_wires(spaces: Spaces) -> Iterator[tuple[str, object, object]]:
    found = {(each["node"], each["interface"]): each for each in qdiscs(spaces)}
    with spaces.inside(WIRES) as netlink:
        offloads = _offloads(netlink, len(spaces.network.links))
        yield from stage.differences(netlink, found, spaces.network)
        for number, link in enumerate(spaces.network.links):
            for side, (_, direction, _) in enumerate(link.directions()):
                chance = (spaces.seed, link.name, WAYS[side])
                end = build.wire_end(number, 1 - side)
                for what, wanted, actual in wire.differences(netlink, end, direction, chance):
                    yield f"link {link.name}, {WAYS[side]}: {what}", wanted, actual
    for number, link in enumerate(spaces.network.links):
        for side, (sender, direction, _) in enumerate(link.directions()):
            end = build.wire_end(number, 1 - side)
            way = WAYS[side]
            where = f"link {link.name}, {way}"
            actual = found[link.name, end]
            for key, wanted in qdisc.netem_wanted(direction).items():
                yield f"{where}: {key}", wanted, actual["options"].get(key)
            if "seed" in actual["options"]:  # kernels before 6.6 have none
                seed = qdisc.described_seed(qdisc.prng_seed(spaces.seed, link.name, way))
                yield f"{where}: seed", seed, actual["options"]["seed"]
            yield f"{where}: the wire's offloads", [], offloads[end]
            if card := build.nic(direction):
                actual = found.get((sender.node, sender.name), {"options": {}})
                for key, wanted in qdisc.tbf_wanted(*card).items():
                    yield f"{where}: NIC {key}", wanted, actual["options"].get(key)


def _offloads(netlink: Netlink, links: int) -> dict[str, list[str]]:
    """Return the offloads that are enabled at both inner ends of every wire."""
    ends = [build.wire_end(number, side) for number in range(links) for side in (0, 1)]
    return {end: offload.read(netlink, end) for end in ends}
