"""Check a token bucket (tbf or htb) against the other settings of its direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

from lab.base import ethernet
from lab.guest.network import Queue
from lab.spec.document import Place
from lab.spec.parts import MTU
from lab.units import Duration, Rate, Size

FULLEST = Duration.of("270 s")  # the time in which a bucket fills: the kernel counts 64 ns in 32 bits
MOST = 2**32 - 1  # bytes of a FIFO


def contradictions(
    queue: Queue, way: Callable[[str], Any], place: Callable[[str], Place]
) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for contradictions between a bucket and the other settings of its direction."""
    given = {name: str(setting) for name, setting in queue.parameters}
    rate = queue.own_rate or way("rate")
    where = place("queue")
    if way("trace") is not None:
        yield where, f"the trace decides when frames leave, not {queue.kind}; leave one of them out"
    if any(change.rate for change in way("changes") or ()):
        yield place("changes"), f"the rate of {queue.kind} cannot change; use a different queue"
    if rate is None:
        return
    if queue.own_rate and way("rate") is not None and way("rate") <= queue.own_rate:
        own, link = queue.own_rate, way("rate")
        yield where, f"frames would wait behind the bucket at {own}; give less than the link's {link}"
    frame = Size((way("mtu") or MTU).bytes + ethernet.HEADER)
    if "peakrate" in given and queue.own_rate is None and not rate < Rate.of(given["peakrate"]):
        yield (*where, "peakrate"), f"{given['peakrate']} is not more than the rate of {rate}"
    for name in ("burst", "mtu", "limit") if queue.kind == "tbf" else ():
        if name in given and Size.of(given[name]) < frame:
            yield (*where, name), f"tbf would lose each frame of more than {given[name]}; give {frame} or more"
    yield from _too_much(queue, given, rate, where)


def _too_much(queue: Queue, given: dict[str, str], rate: Rate, where: Place) -> Iterator[tuple[Place, str]]:
    """Yield the sizes that the kernel cannot count."""
    rates = {
        "burst": rate,
        "cburst": Rate.of(given.get("ceil", str(rate))),
        "mtu": Rate.of(given.get("peakrate", "0 bit/s")),
    }
    for name, filling in rates.items():
        if name in given and filling and filling.time_for(Size.of(given[name])) > FULLEST.ns / 1e9:
            yield (*where, name), f"{given[name]} take more than {FULLEST} at {filling}; give less"
    if "latency" in given and _waiting(given, "burst", rate) > MOST:
        peak = Rate.of(given.get("peakrate", "0 bit/s"))
        if not peak or _waiting(given, "mtu", peak) > MOST:
            yield (*where, "latency"), f"{given['latency']} at {rate} and the burst are more than {MOST} B; give less"
    if queue.kind == "htb" and "rate" not in given and "ceil" in given and Rate.of(given["ceil"]) < rate:
        yield (*where, "ceil"), f"{given['ceil']} is less than the rate of {rate}"


def _waiting(given: dict[str, str], at_once: str, rate: Rate) -> int:
    """Return the bytes that a tbf holds for its latency, as tc counts them."""
    return rate.bps * Duration.of(given["latency"]).ns // (8 * 10**9) + Size.of(given[at_once]).bytes


def most_at_once(queue: Queue | None) -> int:
    """Return the number of frames that a bucket may send at once. The wire behind it must hold them."""
    if queue is None or not queue.is_bucket:
        return 0
    given = dict(queue.parameters)
    return ceil(Size.of(str(given["burst"])).bytes / ethernet.SMALLEST) + 1
