"""Let each seed vary the declared network by a few per cent, so that no figure depends on a single phase.

On a deterministic wire with tail drop and equal frame sizes, a difference of 0.01 ms in round-trip time decides which
flow's frames are dropped. Source: Floyd and Jacobson (1992), "On Traffic Phase Effects in Packet-Switched Gateways".
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from random import Random
from typing import Annotated

from msgspec import Meta, structs

from lab.guest.network import Direction, Link, Network, Queue
from lab.guest.typed import Declared
from lab.units import Duration, Rate

_Share = Annotated[float, Meta(ge=0, le=0.2)]


@dataclass(frozen=True)
class Drawn(Declared):
    """Declares the largest difference between a seed's network and the declared one, as shares of declared values.

    Each link has its own draw, which both directions share. The trial records the resulting network.
    Raises ValueError if all shares are zero.
    """

    delay: _Share = 0.05  # of a link's delay, plus or minus; a link without delay gets up to this share of the longest
    rate: _Share = 0.02  # of a link's rate, plus or minus
    limit: _Share = 0.05  # of the frames that it holds, plus or minus

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delay + self.rate + self.limit:
            raise ValueError("nothing is drawn; leave it out")

    def __str__(self) -> str:
        parts = {"delay": self.delay, "rate": self.rate, "buffer": self.limit}
        said = [f"{name} within {100 * share:.3g} %" for name, share in parts.items() if not isclose(share, 0)]
        return f"each seed draws {', '.join(said)}"

    def of(self, network: Network, seed: int) -> Network:
        """Return the network that this seed draws. The network is the same for every arm and on every machine."""
        longest = max((way.delay.ns for link in network.links for way in (link.forward, link.back)), default=0)
        return structs.replace(network, links=tuple(self._link(link, seed, longest) for link in network.links))

    def _link(self, link: Link, seed: int, longest: int) -> Link:
        dice = Random(f"{seed} {link.name}")
        delay, rate, limit = (2 * dice.random() - 1 for _ in range(3))

        def drawn(way: Direction) -> Direction:
            ns = way.delay.ns * (1 + self.delay * delay) or longest * self.delay * (1 + delay) / 2
            return structs.replace(
                way,
                delay=Duration(_whole(ns, 1_000)),
                rate=way.rate and Rate(_whole(way.rate.bps * (1 + self.rate * rate), 8_000)),
                limit=round(way.limit * (1 + self.limit * limit)),
                queue=way.queue and _with_limit(way.queue, 1 + self.limit * limit),
            )

        return structs.replace(link, forward=drawn(link.forward), back=drawn(link.back))


def _whole(number: float, step: int) -> int:
    """Return the nearest multiple of `step`. The kernel stores rates in whole bytes per second."""
    return step * round(number / step)


def _with_limit(queue: Queue, factor: float) -> Queue:
    given = [
        (name, round(value * factor) if name == "limit" and isinstance(value, int) else value)
        for name, value in queue.parameters
    ]
    return structs.replace(queue, parameters=tuple(given))
