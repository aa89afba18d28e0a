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

from lab.guest.fabric.distribution import reach
from lab.guest.fabric.shaper import ETHERNET_HEADER
from lab.guest.network import DelayTo, Direction, Link, Network, Queue, Setting
from lab.guest.typed import Declared
from lab.units import Duration, Rate, Size

_COARSE = 400_000  # bit/s: with a lower rate, a step of 8 kbit/s is more than a share
_RATES = ("rate", "ceil", "peakrate")  # of a token bucket

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
        """Return the network that this seed draws. The network is the same for every arm and on every machine.

        A bucket's own rate, its latency, limits in bytes and delays by destination are drawn like those of the link.
        Changes keep their figures, so a change to the declared rate does not go back to the drawn one.
        """
        longest = max((way.delay.ns for link in network.links for way in (link.forward, link.back)), default=0)
        return structs.replace(network, links=tuple(self._link(link, seed, longest) for link in network.links))

    def _link(self, link: Link, seed: int, longest: int) -> Link:
        dice = Random(f"{seed} {link.name}")
        delay, rate, limit = (2 * dice.random() - 1 for _ in range(3))
        faster, deeper = 1 + self.rate * rate, 1 + self.limit * limit

        def longer(way: Direction, declared: Duration) -> Duration:
            """Return the drawn delay, which is at least the time by which the jitter may make a frame early."""
            ns = declared.ns * (1 + self.delay * delay) or longest * self.delay * (1 + delay) / 2
            return Duration(max(_whole(ns, 1_000), _early(way)))

        def drawn(way: Direction) -> Direction:
            return structs.replace(
                way,
                delay=longer(way, way.delay),
                rate=_rate(way.rate, faster),
                limit=round(way.limit * deeper),
                queue=way.queue and _queue(way, way.queue, faster, deeper),
                delays=tuple(DelayTo(each.to, longer(way, each.delay)) for each in way.delays),
            )

        return structs.replace(link, forward=drawn(link.forward), back=drawn(link.back))


def _whole(number: float, step: int) -> int:
    """Return the nearest multiple of `step`."""
    return step * round(number / step)


def _rate(rate: Rate | None, factor: float) -> Rate | None:
    """Return the drawn rate. The kernel stores rates in whole bytes per second."""
    return rate and Rate(_whole(rate.bps * factor, 8_000 if rate.bps >= _COARSE else 8))


def _early(way: Direction) -> int:
    """Return how much a frame may be earlier than the delay, in ns."""
    return (way.jitter if way.distribution is None else reach(way.distribution, way.jitter)[0]).ns


def _queue(way: Direction, queue: Queue, faster: float, deeper: float) -> Queue:
    """Return the drawn queue. RED's thresholds keep their place in its limit. A FIFO takes a full frame."""
    least = way.mtu.bytes + ETHERNET_HEADER.bytes if queue.kind in ("tbf", "bfifo") else 0

    def drawn(name: str, value: Setting) -> Setting:
        if name in _RATES:
            return str(Rate(_whole(Rate.of(str(value)).bps * faster, 8)))
        if name == "latency":
            return str(Duration(_whole(Duration.of(str(value)).ns * deeper, 1_000)))
        if name == "limit" and isinstance(value, int):
            return round(value * deeper)
        if name == "limit" or (queue.kind == "red" and name in ("min", "max")):
            return str(Size(max(round(Size.of(str(value)).bytes * deeper), least)))
        return value

    return structs.replace(queue, parameters=tuple((name, drawn(name, value)) for name, value in queue.parameters))
