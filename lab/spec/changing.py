"""Check and resolve a direction's settings that a plain wire does not have: queue, trace, changes and loss bursts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from lab.base import ethernet
from lab.guest.fabric.queue import red_cell
from lab.guest.network import BurstLoss, Change, Queue, Shaper, Slot
from lab.spec import buckets, destinations
from lab.spec.document import Place
from lab.spec.parts import MTU
from lab.units import Duration, Rate, Size

ChangedWay = Callable[[str], Any]  # returns a key's value in this direction, or None
MOST_CELL = 31  # red_check_params()
LONGEST_WAIT = 60  # s: htb_change_class() lets no class wait longer, so a frame that takes longer leaves too early
FASTEST = Rate(8 * 2**63)  # in front of which a queue can wait: the wire behind it is a little faster
# netem's tabledist() takes 32 bits modulo twice the jitter, which netem_change() caps. The low bits are not correlated.
# With a shorter jitter than this, netem draws the shortest delays twice as often as the others (`fabric.jitter`).
CORRELATED, MOST_JITTER = Duration.of("2144 ms"), Duration(2**31 - 1)
_GRAIN = 10**5  # ns, in messages about distributions


def contradictions(way: ChangedWay, place: Callable[[str], Place]) -> Iterator[tuple[Place, str]]:
    """Yield (place, message) for contradictory settings of a direction. `place` returns the place of a key in the
    file.
    """
    changes = way("changes") or ()
    queued = next((key for key in ("queue", "trace") if way(key) is not None), None)
    if queued is None and any(change.rate for change in changes):
        queued = "changes"
    if way("trace") is not None and way("rate") is not None:
        yield place("trace"), "the trace already sets when the link carries frames; leave out the rate"
    own = way("queue") is not None and way("queue").own_rate
    if way("queue") is not None and way("rate") is None and way("trace") is None and not own:
        yield place("queue"), "frames only queue on a link with a rate or a trace; give it one"
    if queued and way("shaper") is Shaper.NIC:
        yield place(queued), "a nic's own queue is a FIFO; use queue, trace or a changing rate with shaper: path"
    if queued and isinstance(way("limit"), int):
        yield place("limit"), f"it counts the frames of a plain wire: with {queued}, give the queue its own limit"
    if (queued or way("delays")) and way("rate") is not None and way("rate") > FASTEST:
        yield place("rate"), f"{way('rate')} is too fast for a queue; give {FASTEST} or less"
    yield from _too_slow(way, place, queued is not None)
    limited = way("rate")
    if (
        way("queue") is not None
        and way("queue").kind == "red"
        and limited
        and red_cell(way("queue"), limited) > MOST_CELL
    ):
        yield place("queue"), f"RED cannot count its idle time at {limited}; give a smaller ewma or avpkt"
    if way("queue") is not None and way("queue").kind == "bfifo":
        frame = Size((way("mtu") or MTU).bytes + ethernet.HEADER)
        if (room := Size.of(str(dict(way("queue").parameters)["limit"]))) < frame:
            yield (*place("queue"), "limit"), f"bfifo would lose each frame of more than {room}; give {frame} or more"
    if way("delays"):
        yield from destinations.contradictions(way, place)
        if way("rate") is not None and way("shaper") is Shaper.NIC:
            yield place("delays"), "frames have to wait in front of the delays; use shaper: path"
    if way("queue") is not None and way("queue").is_bucket:
        yield from buckets.contradictions(way("queue"), way, place)
    if way("loss_correlation") and not (way("loss") or any(change.loss for change in changes)):
        yield place("loss_correlation"), "there is no loss to correlate; give the link a loss"
    elif way("loss_correlation") == 1:
        yield place("loss_correlation"), "netem would lose all frames or none; use less than 100 %"
    if way("reorder_gap") is not None and not way("reorder"):
        yield place("reorder_gap"), "no frame overtakes others; give the link a reorder, such as 100 %"
    if way("burst_loss") is not None and way("loss"):
        yield place("burst_loss"), "it replaces loss; give only one of them"
    jitter = way("jitter")
    if jitter is not None:
        yield from _jitter(way, place)
    if way("jitter_correlation") and not (jitter and jitter.deviation):
        yield place("jitter_correlation"), "there is no jitter to correlate"
    elif way("jitter_correlation") and jitter.distribution is not None:
        yield place("jitter_correlation"), "netem does not correlate the draws from a table; use a plain jitter"
    elif way("jitter_correlation") and jitter.deviation < CORRELATED:
        yield place("jitter_correlation"), f"netem correlates a jitter evenly only from {CORRELATED} on"
    if way("trace") is not None and (way("mtu") or MTU) > way("trace").opportunity:
        yield place("mtu"), f"a frame of {way('mtu')} never fits an opportunity of {way('trace').opportunity}"
    yield from _changes(way, changes, place("changes"))


def _jitter(way: ChangedWay, place: Callable[[str], Place]) -> Iterator[tuple[Place, str]]:
    jitter, delay = way("jitter"), way("delay") or Duration(0)
    if jitter.drawn > MOST_JITTER and jitter.distribution is None:
        yield place("jitter"), f"netem cannot draw a jitter of more than {MOST_JITTER}"
    elif jitter.drawn > MOST_JITTER:
        most = Duration(MOST_JITTER.ns * jitter.deviation.ns // jitter.drawn.ns // _GRAIN * _GRAIN)
        yield place("jitter"), f"netem cannot draw a deviation of more than {most} for {jitter.distribution.name}"
    elif jitter.early > delay and jitter.distribution is None:
        yield place("jitter"), f"{jitter.deviation} is more than the delay of {delay}; give a longer delay"
    elif jitter.early > delay:
        early = Duration(-(-jitter.early.ns // _GRAIN) * _GRAIN)
        yield place("jitter"), f"a frame may be {early} early, but the delay is {delay}; give a longer delay"
    if jitter.in_order is False and _is_rated(way):
        yield place("jitter"), "frames stay in order on a link with a rate; put the jitter on a link without one"
    if jitter.in_order and way("reorder"):
        yield place("reorder"), "the jitter has in_order, which keeps frames in order; leave one of them out"


def _too_slow(way: ChangedWay, place: Callable[[str], Place], queued: bool) -> Iterator[tuple[Place, str]]:
    """Yield each rate of an HTB at which a full frame takes longer than an HTB waits."""
    queue, size = way("queue"), (way("mtu") or MTU).bytes
    frame = Size(size + ethernet.AROUND)
    rates: list[tuple[Place, Rate]] = []
    if queue is not None and queue.kind == "htb":
        given = {name: str(setting) for name, setting in queue.parameters}
        rates += [((*place("queue"), name), Rate.of(given[name])) for name in ("rate", "ceil") if name in given]
        overhead = Size.of(given.get("overhead", "0 B" if "rate" in given else f"{ethernet.OVERHEAD} B"))
        frame = max(Size(size + ethernet.HEADER + overhead.bytes), Size.of(given.get("mpu", "0 B")))
    own = queue is not None and (queue.kind == "tbf" or queue.own_rate is not None)
    if way("rate") is not None and (queued or way("delays")) and not own:
        rates.append((place("rate"), way("rate")))
    for index, change in enumerate(way("changes") or ()):
        if change.rate is not None:
            rates.append(((*place("changes"), index, "rate"), change.rate))
    least = Rate(-(-8 * frame.bytes // LONGEST_WAIT // 8) * 8)
    for where, rate in rates:
        if rate.bps // 8 * LONGEST_WAIT < frame.bytes:
            yield where, f"a frame of {frame} takes over a minute, the longest that a queue waits; give {least} or more"


def keeps_order(way: ChangedWay) -> bool:
    """Return whether netem must keep frames in order because the wire's rate does not."""
    return bool(way("jitter") and way("jitter").in_order and not _is_rated(way))


def _is_rated(way: ChangedWay) -> bool:
    """Return whether the wire itself has the rate, and neither the sender's interface nor a token bucket before it."""
    queue = way("queue")
    bucket = queue is not None and queue.is_bucket and queue.own_rate is None
    return way("rate") is not None and way("shaper") is not Shaper.NIC and not bucket


def _changes(way: ChangedWay, changes: tuple[Any, ...], place: Place) -> Iterator[tuple[Place, str]]:
    once = [(index, change) for index, change in enumerate(changes) if not (change.every or change.every_about)]
    for (_, before), (index, change) in pairwise(once):
        if change.at <= before.at:
            yield (*place, index, "at"), f"{change.at} is not after {before.at}"
        elif before.down and change.down and change.at.ns <= before.at.ns + before.down.ns:
            yield (*place, index, "down"), f"the link is still down since {before.at}"
    for index, change in enumerate(changes):
        if change.rate is not None and way("rate") is None:
            yield (*place, index, "rate"), "the link has no rate that could change"
        if change.delay is not None and way("jitter") is not None and change.delay < way("jitter").early:
            yield (*place, index, "delay"), f"{change.delay} is less than the jitter of {way('jitter').early}"
        if change.loss is not None and way("burst_loss") is not None:
            yield (*place, index, "loss"), "the link has burst_loss instead of loss"
        if change.down is not None and not change.down:
            yield (*place, index, "down"), "should be longer than zero"
        if change.mtu is not None and change.mtu > (way("mtu") or MTU):
            yield (*place, index, "mtu"), f"{change.mtu} is more than the link's own, {way('mtu') or MTU}"


def resolved(way: ChangedWay, shared: bool) -> dict[str, Any]:
    """Return the fields of `Direction` that differ from a plain wire's defaults.

    `shared` tells whether the changes are those of both directions.
    """
    found: dict[str, Any] = {key: float(way(key) or 0) for key in ("jitter_correlation", "loss_correlation", "corrupt")}
    found["reorder_gap"] = gap if (gap := way("reorder_gap") or 0) > 1 else 0
    found |= {key: way(key) for key in ("queue", "trace")}
    if way("jitter") is not None and way("jitter").deviation:
        found |= {"distribution": way("jitter").distribution, "in_order": keeps_order(way)}
    if burst := way("burst_loss"):
        bad = 1.0 if burst.bad is None else float(burst.bad)
        found["burst_loss"] = BurstLoss(float(burst.p), float(burst.r), bad, float(burst.good or 0))
    if slot := way("slot"):
        found["slot"] = Slot(slot.min, slot.max, slot.packets, slot.bytes)
    found["changes"] = tuple(
        Change(
            at=each.at or Duration(0),
            rate=each.rate,
            delay=each.delay,
            loss=None if each.loss is None else float(each.loss),
            mtu=each.mtu,
            down=each.down,
            every=each.every,
            every_about=each.every_about,
            times=each.times,
            shared=shared and each.every_about is not None,
        )
        for each in way("changes") or ()
    )
    return {key: value for key, value in found.items() if value}


def most(rate: Rate | None, delay: Duration, found: dict[str, Any]) -> tuple[Rate | None, Duration]:
    """Return the highest rate and the longest delay that a direction has at any time."""
    own = [each.delay for each in found.get("delays", ())]
    rates = [each for each in (rate, *(change.rate for change in found.get("changes", ()))) if each is not None]
    delays = [
        each for each in (delay, *own, *(change.delay for change in found.get("changes", ()))) if each is not None
    ]
    return max(rates, default=None), max(delays)


def waits_outside(found: dict[str, Any], rate: Rate | None) -> bool:
    """Return whether frames wait before the wire, in a separate queue."""
    if "queue" in found or "trace" in found or any(change.rate for change in found.get("changes", ())):
        return True
    return "delays" in found and rate is not None


def with_queue(found: dict[str, Any], rate: Rate | None, limit: int) -> dict[str, Any]:
    """Return `found`, with a FIFO added if frames wait before the wire: because the wire's rate may change meanwhile,
    or because it has several delays.
    """
    if "queue" not in found and waits_outside(found, rate):
        return {**found, "queue": Queue("pfifo", (("limit", limit),))}
    return found
