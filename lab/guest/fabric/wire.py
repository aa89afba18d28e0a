"""Set, change and read the netem at the end of a wire, or one netem for each delay if the delay depends on the
destination.

    arriving ─▶ wN: prio ─┬─▶ 1:1 netem with the direction's own delay
                          ├─▶ 1:2 netem with the delay to some destinations
                          └─▶ ...

A filter at the prio compares a frame's destination with each prefix, the longest first. The filter is one program of
classic BPF, whose instructions are read back. If the link has a rate, a shaper in front of the wire (`stage`) releases
frames one by one, so no frame waits in a netem, and each netem adds the frame's own time and its delay.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from msgspec import structs

from lab.guest.fabric import classifier, device, qdisc
from lab.guest.fabric.netlink import Netlink, attribute
from lab.guest.network import Direction

_PRIO = struct.Struct("=i16B")  # bands, and the band of each priority: the first is for frames that no filter matches
_FEWEST = 2  # bands, TCQ_MIN_PRIO_BANDS
_COUNTERS = ("packets", "bytes", "drops", "overlimits", "backlog")


def bands(direction: Direction) -> list[Direction]:
    """Return the settings of each netem of the wire. The first is for destinations without their own delay."""
    delays = dict.fromkeys((direction.delay, *(each.delay for each in direction.delays)))
    return [structs.replace(direction, delay=delay, delays=()) for delay in delays]


def insert(wires: Netlink, end: str, direction: Direction, chance: tuple[str, str, str]) -> None:
    """Add the qdiscs of this direction to its wire's end. `chance` holds seed, link and way for the random draws."""
    if not direction.delays:
        device.add_qdisc(wires, end, qdisc.netem(direction, qdisc.prng_seed(*chance)))
        return
    options = _PRIO.pack(max(_FEWEST, len(bands(direction))), *(0,) * 16)
    prio = [attribute(qdisc.TCA_KIND, "prio"), attribute(qdisc.TCA_OPTIONS, options)]
    device.add_qdisc(wires, end, prio, handle=device.SHAPER)
    for place, band, seed in _placed(direction, chance):
        device.add_qdisc(wires, end, qdisc.netem(band, seed), parent=place)
    classifier.add(wires, end, program(direction))


def change(wires: Netlink, end: str, direction: Direction, chance: tuple[str, str, str]) -> None:
    """Give the netems of a wire's end new settings and new random draws, and keep their queues."""
    for place, band, seed in _placed(direction, chance):
        device.change_qdisc(wires, end, qdisc.netem(band, seed), place)


def reported(wires: Netlink, end: str, direction: Direction, root: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what the kernel reports about the wire, in the form of `qdisc.describe`.

    With several netems, the options are those of the first, `delays` has the delay of each, and the counters are sums.
    `root` saves the request for a plain wire.
    """
    if not direction.delays:
        return root or device.qdiscs(wires)[end]
    found = [device.qdiscs(wires, place).get(end, {"options": {}}) for place, _, _ in _placed(direction, ("",) * 3)]
    first = found[0]
    sums = {key: sum(each.get(key, 0) for each in found) for key in _COUNTERS}
    delays = [each["options"].get("delay") for each in found]
    return {**first, **sums, "options": {**first["options"], "delays": delays}}


def differences(
    wires: Netlink, end: str, direction: Direction, chance: tuple[str, str, str] | None
) -> Iterator[tuple[str, object, object]]:
    """Yield (name, requested value, actual value) of the netems for destinations, and of their classifier.

    Without `chance`, seeds are not compared.
    """
    if not direction.delays:
        return
    for number, (place, band, seed) in enumerate(_placed(direction, chance or ("",) * 3)):
        actual = device.qdiscs(wires, place).get(end, {"options": {}})["options"]
        for key, wanted in qdisc.netem_wanted(band).items():
            yield f"delay {number}, {key}", wanted, actual.get(key)
        if chance and "seed" in actual:
            yield f"delay {number}, seed", qdisc.described_seed(seed), actual["seed"]
    yield "classifier", program(direction).hex(), classifier.read(wires, end).hex()


def program(direction: Direction) -> bytes:
    """Return the program that finds a frame's band by its destination."""
    delays = [band.delay for band in bands(direction)]
    return classifier.program([(each.to, delays.index(each.delay) + 1) for each in direction.delays])


def _placed(direction: Direction, chance: tuple[str, ...]) -> Iterator[tuple[int, Direction, int]]:
    """Yield (parent, settings, seed) of each netem. The first has the draws of a plain wire."""
    seed, link, way = chance
    if not direction.delays:
        yield device.TC_ROOT, direction, qdisc.prng_seed(seed, link, way)
        return
    for number, band in enumerate(bands(direction)):
        draws = f"{way}/{number}" if number else way
        yield device.SHAPER + 1 + number, band, qdisc.prng_seed(seed, link, draws)
