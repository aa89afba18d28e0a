"""Check and resolve the delays of a direction that depend on a frame's destination."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lab.guest.network import MOST_DELAYS, DelayTo
from lab.spec.document import Place
from lab.spec.errors import suggestion
from lab.spec.parts import Mistakes, prefix
from lab.units import Duration

MOST = 256  # prefixes: the kernel runs at most 4096 instructions for each frame
# These settings depend on the previous frame, or on the number of frames. But each delay has its own netem.
_ALONE = ("burst_loss", "duplicate", "jitter_correlation", "loss_correlation", "reorder", "slot")


def contradictions(way: Callable[[str], Any], place: Callable[[str], Place]) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for contradictions between `delays` and the other settings of a direction."""
    delays: Mapping[str, Duration] = way("delays")
    for key in _ALONE:
        if way(key):
            yield place(key), "it cannot apply across different delays; leave out either it or the delays"
    jitter = way("jitter").early if way("jitter") else Duration(0)
    for name, delay in delays.items():
        if delay < jitter:
            yield (*place("delays"), name), f"{delay} is less than the jitter of {jitter}"
    if any(change.delay is not None for change in way("changes") or ()):
        yield place("changes"), "a delay cannot change on a link with delays by destination"
    if isinstance(way("limit"), int):
        yield place("limit"), "it counts the frames of a wire with a single delay; leave it out"
    if len({way("delay") or Duration(0), *delays.values()}) > MOST_DELAYS:
        yield place("delays"), f"there are at most {MOST_DELAYS} different delays, including that of all other frames"


def resolved(
    delays: Mapping[str, Duration], addresses: Mapping[str, Iterable[str]], place: Place
) -> tuple[DelayTo, ...]:
    """Return the delay of each prefix, the longest prefix first. `addresses` has those of each node.

    Raises Mistakes for a destination that is neither a node with an address nor a prefix.
    """
    found: dict[str, Duration] = {}
    mistakes: list[tuple[Place, str]] = []
    for name, delay in delays.items():
        try:
            for target in _prefixes(name, addresses):
                if target in found:
                    mistakes.append(((*place, name), f"{target} already has a delay of {found[target]}"))
                found[target] = delay
        except ValueError as error:
            mistakes.append(((*place, name), str(error)))
    if len(found) > MOST:
        mistakes.append((place, f"{len(found)} prefixes are too many; use {MOST} or fewer"))
    if mistakes:
        raise Mistakes(mistakes)
    ordered = sorted(found, key=lambda target: -ipaddress.ip_network(target).prefixlen)
    return tuple(DelayTo(target, found[target]) for target in ordered)


def _prefixes(name: str, addresses: Mapping[str, Iterable[str]]) -> Iterator[str]:
    if name in addresses:
        own = [ipaddress.ip_interface(text).ip for text in addresses[name]]
        if not own:
            raise ValueError(f"'{name}' has no address")
        yield from (f"{each}/{each.max_prefixlen}" for each in own)
        return
    if (found := prefix(name)) is None:
        known = suggestion(name, addresses) or "; name a node, an address or a prefix"
        raise ValueError(f"unknown destination '{name}'{known}")
    yield str(found)
