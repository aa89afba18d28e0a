"""Put a direction's queue in front of its wire. A veth pair in the wires' namespace carries the shaper and the queue.

`shaper` documents the path of the frames. Each arriving frame is copied to the stage, so that it no longer belongs to
its sender's socket. A path's queue exerts no back-pressure on a sender, and does not see the sender's state (fq would
read its pacing rate).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

from lab.errors import MachineError
from lab.guest.fabric import bucket, device, offload, queue, shaper
from lab.guest.fabric.netlink import Netlink, NetlinkError
from lab.guest.network import WAYS, Direction, Link, Network, Offloads, Queue
from lab.units import Size


def ends(number: int, side: int) -> tuple[str, str]:
    """Return (in, out): the names of the veth pair before the wire's end for interface 1 - `side` of link `number`."""
    return f"q{number}{'ab'[1 - side]}", f"p{number}{'ab'[1 - side]}"


def staged(network: Network) -> Iterator[tuple[int, int, Link, Direction]]:
    """Yield (link number, side, link, direction) of every direction that has a queue; side 0 is forward."""
    for number, link in enumerate(network.links):
        for side, (_, direction, _) in enumerate(link.directions()):
            if direction.queue:
                yield number, side, link, direction


def insert(wires: Netlink, number: int, side: int, name: str, direction: Direction, target: str) -> None:
    """Lead the frames that enter the first of `ends` through the direction's queue, and out through `target`.

    Raises MachineError if the kernel does not have the queue, or refuses its parameters.
    """
    assert direction.queue is not None
    inward, outward = ends(number, side)
    mtu = shaper.GATE_MTU if direction.trace else Size(max(direction.mtu.bytes, 1500))
    device.pair(wires, inward, outward, mtu)
    for end in (inward, outward):
        offload.write(wires, end, Offloads())
    try:
        if direction.queue.is_bucket:
            _insert_bucket(wires, inward, direction)
        else:
            _insert_queue(wires, inward, direction, direction.queue)
    except NetlinkError as error:
        where = f"link {name}, {WAYS[side]}: the queue {direction.queue.kind}"
        if error.code == errno.ENOENT:
            raise MachineError(f"{where} is not in this kernel: it needs sch_{direction.queue.kind}") from None
        raise MachineError(f"{where} is refused by the kernel, with its parameters: {error}") from None
    for end in (inward, outward):
        device.up(wires, end)
    device.redirect(wires, outward, target)


def _insert_queue(wires: Netlink, inward: str, direction: Direction, held: Queue) -> None:
    """Add the shaper that releases frames one by one, and the queue below it."""
    if direction.rate:
        device.add_qdisc(wires, inward, shaper.htb(), handle=device.SHAPER)
        device.set_class(wires, inward, shaper.htb_class(direction.rate), new=True)
    else:
        device.add_qdisc(wires, inward, shaper.gate(fifo_limit(held)), handle=device.SHAPER)
    device.add_qdisc(wires, inward, queue.told(held, direction.rate), parent=device.LEAF)


def _insert_bucket(wires: Netlink, inward: str, direction: Direction) -> None:
    """Add a token bucket, which is shaper and queue in one."""
    assert direction.queue is not None
    if direction.queue.kind == "tbf":
        device.add_qdisc(wires, inward, bucket.tbf(direction), handle=device.SHAPER)
        return
    device.add_qdisc(wires, inward, shaper.htb(), handle=device.SHAPER)
    device.set_class(wires, inward, bucket.htb_class(direction), new=True)
    device.add_qdisc(wires, inward, queue.told(bucket.htb_fifo(direction), None), parent=device.LEAF)


def place(held: Queue) -> int:
    """Return the parent of the qdisc with the queue's counters: the root for a bucket, otherwise a shaper's class."""
    return device.TC_ROOT if held.is_bucket else device.LEAF


def fifo_limit(found: Queue) -> int:
    """Return the limit of a FIFO in its unit, which a TBF sets along with its own limit; 0 for any other queue."""
    limit = dict(found.parameters).get("limit", 0)
    match found.kind:
        case "pfifo":
            return int(limit)
        case "bfifo":
            return Size.of(str(limit)).bytes
        case _:
            return 0


def differences(
    wires: Netlink, found: dict[tuple[str, str], dict[str, Any]], network: Network
) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) of every queue and its shaper.

    `found` maps link and interface to qdiscs.
    """
    for number, side, link, direction in staged(network):
        assert direction.queue is not None
        inward, _ = ends(number, side)
        where = f"link {link.name}, {WAYS[side]}: queue"
        actual = found.get((link.name, inward), {"kind": None, "options": {}})
        yield f"{where} kind", direction.queue.kind, actual["kind"]
        if direction.queue.is_bucket:
            yield from _bucket_differences(where, direction, actual["options"])
            continue
        for key, wanted in queue.wanted(direction.queue).items():
            yield f"{where} {key}", wanted, actual["options"].get(key)
        if direction.rate:
            shaped = shaper.htb_described(device.class_options(wires, inward))
            for key, value in shaper.htb_wanted(direction.rate).items():
                yield f"{where} {key}", value, shaped.get(key)


def bucket_options(wires: Netlink, inward: str, held: Queue) -> dict[str, Any]:
    """Return the options that a bucket reports, and the limit of its FIFO."""
    if held.kind == "tbf":
        return device.qdiscs(wires, describe=bucket.tbf_described)[inward]
    fifo = device.qdiscs(wires, device.LEAF).get(inward, {"options": {}})["options"]
    return {**bucket.htb_described(device.class_options(wires, inward)), **fifo}


def _bucket_differences(
    where: str, direction: Direction, reported: dict[str, Any]
) -> Iterator[tuple[str, object, object]]:
    requested = bucket.wanted(direction)
    if direction.queue and direction.queue.kind == "htb":
        requested |= queue.wanted(bucket.htb_fifo(direction))
    for key, value in requested.items():
        yield f"{where} {key}", value, reported.get(key)
