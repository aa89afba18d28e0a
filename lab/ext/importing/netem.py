"""Translate tc's parameters of netem and of queues to the keys and values of a topology.

Sources: iproute2, tc/q_netem.c, tc/q_tbf.c and the tc/q_*.c of each queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.ext.importing import quantities
from lab.guest.fabric.distribution import reach, stretched
from lab.guest.network import ACK_FILTER, DIFFSERV, DISTRIBUTIONS, ISOLATION, Distribution
from lab.guest.share import Percent
from lab.spec import queue
from lab.spec.changing import MOST_JITTER
from lab.units import Duration, Rate, Size

NETEM_LIMIT = 1000  # packets, netem's default
# netem accepts any beginning of these words; the first that fits counts.
NETEM_WORDS = (
    *("limit", "latency", "delay", "reorder", "drop", "loss", "duplicate", "corrupt", "gap", "distribution", "rate"),
    *("slot", "ecn", "seed"),
)
_TIME = {"target", "interval", "ce_threshold", "tupdate", "rtt", "step_thresh", "min_qlen_step", "refill_delay"}
_TIME |= {"horizon"}
_SIZE = {"quantum", "initial_quantum", "memory_limit", "memlimit", "min", "max", "avpkt"}
_ALIASES = {"ce-threshold": "ce_threshold", "split-gso": "split_gso", "ack-filter": "ack_filter"}


class RefusedWords(ValueError):
    """Raised for words that tc would refuse, too, or that the lab does not know."""


@dataclass
class ReadSettings:
    """Holds what one qdisc's parameters mean for a direction, and the parameters that have no counterpart."""

    keys: dict[str, Any] = field(default_factory=dict)  # of a direction, with a topology's values
    untaken: list[str] = field(default_factory=list)


class _Words:
    """Walks over the words of a command."""

    def __init__(self, words: list[str]) -> None:
        self.left = list(reversed(words))

    def __iter__(self) -> Iterator[str]:
        while self.left:
            yield self.left.pop()

    def next(self, after: str) -> str:
        if not self.left:
            raise RefusedWords(f"the value of '{after}' is missing")
        return self.left.pop()

    def if_number(self) -> str | None:
        """Return the next word if it begins with a digit."""
        return self.left.pop() if self.left and self.left[-1][:1] in "0123456789." else None


def netem(words: list[str]) -> ReadSettings:
    """Return what netem's parameters mean. Raises RefusedWords, or ValueError for a wrong value."""
    found, left = ReadSettings(), _Words(words)
    found.keys["limit"] = NETEM_LIMIT
    for word in left:
        name = next((each for each in NETEM_WORDS if each.startswith(word)), None)
        if name is None:
            raise RefusedWords(f"netem has no parameter '{word}'")
        _netem(name, left, found)
    _complete(found)
    return found


def _complete(found: ReadSettings) -> None:
    """Combine settings from different places of the command."""
    keys = found.keys
    kind = keys.pop("distribution", None)
    if "jitter" not in keys:
        keys.pop("jitter_correlation", None)
    elif kind is not None:
        shape, deviation = Distribution(kind), Duration.of(keys["jitter"])
        early, _ = reach(shape, deviation)
        if early > Duration.of(keys["delay"]):
            least = -(-early.ns // 10**5) / 10
            found.untaken.append(f"distribution {kind}: its earliest frames need a delay of at least {least:g} ms")
        elif stretched(shape, deviation) > MOST_JITTER:
            found.untaken.append(f"distribution {kind}: a jitter of {deviation} is too long for netem")
        else:
            keys["jitter"] = {"deviation": keys["jitter"], "distribution": kind}
            if keys.pop("jitter_correlation", None):
                found.untaken.append(f"jitter's correlation: netem does not correlate the delays of {kind}")
    if keys.get("reorder_gap", 0) <= 1:
        keys.pop("reorder_gap", None)
    elif "reorder" not in keys:
        keys["reorder"] = "100 %"  # netem_change(): a gap alone reorders each of these frames


def _netem(name: str, left: _Words, found: ReadSettings) -> None:
    keys = found.keys
    match name:
        case "limit":
            keys["limit"] = quantities.count(left.next(name))
        case "delay" | "latency":
            keys["delay"] = _time(name, left.next(name), found)
            if jitter := left.if_number():
                keys["jitter"] = _time("jitter", jitter, found)
                if correlation := left.if_number():
                    keys["jitter_correlation"] = quantities.share(correlation)
        case "loss" | "drop":
            _loss(left, found)
        case "duplicate" | "corrupt" | "reorder":
            keys[name] = quantities.share(left.next(name))
            if correlation := left.if_number():
                found.untaken.append(f"{name}'s correlation of {correlation}: the lab draws each frame independently")
        case "rate":
            keys["rate"] = quantities.rate(left.next(name))
            overhead = [word for word in (left.if_number() for _ in range(3)) if word]
            if overhead:
                found.untaken.append("the rate's overhead and cells: the lab's rates count the whole Ethernet frame")
        case "distribution":
            kind = left.next(name)
            if kind in DISTRIBUTIONS:
                keys["distribution"] = kind
            elif kind != "uniform":
                found.untaken.append(
                    f"distribution {kind}: the lab has {', '.join(DISTRIBUTIONS)}, and your own tables"
                )
        case "gap":
            keys["reorder_gap"] = quantities.count(left.next(name))
        case "slot":
            _slot(left, found)
        case "seed":
            left.next(name)  # the trial's own seed decides
        case _:
            found.untaken.append(f"{name} has no counterpart")


def _time(name: str, text: str, found: ReadSettings) -> str:
    found.untaken += [each for each in quantities.unitless(name, text) if each not in found.untaken]
    return quantities.netem_time(text)


def _loss(left: _Words, found: ReadSettings) -> None:
    word = left.next("loss")
    if word == "state":
        while left.if_number():
            pass
        found.untaken.append("loss state, a chain of four states: the closest alternative is burst_loss, with two")
        return
    if word == "gemodel":
        names = ("p", "r", "bad", "good")
        values = [quantities.share(each) for each in (left.if_number() for _ in names) if each]
        if not values:
            raise RefusedWords("the value of 'gemodel' is missing")
        given = dict(zip(names, values, strict=False))
        given.setdefault("r", _rest(given["p"]))
        # q_netem.c passes 1-h and 1-k: the loss in the bad and in the good state
        found.keys["burst_loss"] = given
        return
    share = left.next("loss") if word == "random" else word
    found.keys["loss"] = quantities.share(share)
    if (correlation := left.if_number()) and Percent.of(found.keys["loss"]):
        taken = quantities.share(correlation)
        if Percent.of(taken) < 1:
            found.keys["loss_correlation"] = taken
        else:
            found.untaken.append("a loss correlation of 100 %: netem would lose all frames or none")


def _rest(share: str) -> str:
    return quantities.share(f"{100 - float(share.split()[0]):.10f}")


def _slot(left: _Words, found: ReadSettings) -> None:
    word = left.next("slot")
    if word == "distribution":
        found.untaken.append("slot distribution: the lab's slots are between min and max")
        for _ in range(3):
            left.next("slot")
        return
    slot: dict[str, Any] = {"min": _time("slot", word, found)}
    slot["max"] = _time("slot", left.if_number() or word, found)
    while left.left and left.left[-1] in ("packets", "bytes"):
        name = left.next("slot")
        value = left.next(name)
        slot[name] = quantities.count(value) if name == "packets" else quantities.size(value)
    found.keys["slot"] = slot


def tbf(words: list[str]) -> ReadSettings:
    """Return what TBF's parameters mean: a rate, and a queue of as many bytes. Raises RefusedWords or ValueError."""
    found, left = ReadSettings(), _Words(words)
    given: dict[str, str] = {}
    for word in left:
        name = {"buffer": "burst", "maxburst": "burst", "mtu": "minburst"}.get(word, word)
        if name not in ("rate", "burst", "limit", "latency", "peakrate", "minburst", "mpu", "overhead", "linklayer"):
            raise RefusedWords(f"tbf has no parameter '{word}'")
        given[name] = left.next(word)
    if "rate" not in given:
        raise RefusedWords("tbf needs a rate")
    rate = Rate.of(quantities.rate(given["rate"]))
    found.keys["rate"] = str(rate)
    burst = Size.of(quantities.size(given.get("burst", "0").split("/")[0])).bytes
    if "limit" in given:
        found.keys["queue"] = {"kind": "bfifo", "limit": quantities.size(given["limit"])}
    elif "latency" in given:  # q_tbf.c: limit = rate * latency + burst
        latency = Duration.of(quantities.time(given["latency"]))
        limit = rate.bps * latency.ns // (8 * 10**9) + burst
        found.keys["queue"] = {"kind": "bfifo", "limit": f"{limit} B"}
    if burst:
        why = "each frame leaves at the rate; a queue of the kind tbf has a burst"
        found.untaken.append(f"tbf's burst of {burst:,} B: {why}")
    if "peakrate" in given:
        found.untaken.append("tbf's peakrate: each frame leaves at the rate; a queue of the kind tbf has one")
    return found


def fifo(kind: str, words: list[str]) -> dict[str, Any]:
    """Return a queue of this kind with tc's parameters. Raises RefusedWords or ValueError."""
    made: dict[str, Any] = {"kind": kind}
    left = _Words(words)
    for word in left:
        _parameter(kind, _ALIASES.get(word, word), left, made)
    if kind == "pfifo":
        made.setdefault("limit", 1000)  # the length of a device's queue
    return made


def _parameter(kind: str, word: str, left: _Words, made: dict[str, Any]) -> None:
    known = queue.KINDS[kind]
    if kind == "cake" and word in DIFFSERV:
        made["diffserv"] = word
    elif kind == "cake" and word in ISOLATION:
        made["isolation"] = word
    elif kind == "cake" and word in ACK_FILTER:
        made["ack_filter"] = word
    elif kind == "cake" and word == "bandwidth":
        made["bandwidth"] = quantities.rate(left.next(word))
    elif kind == "cake" and word == "unlimited":
        return
    elif word.startswith("no") and _flag(known, word[2:]):
        made[word[2:]] = False
    elif _flag(known, word):
        made[word] = True
    elif word in known:
        made[word] = _value(kind, word, left.next(word))
    else:
        raise RefusedWords(f"{kind}'s parameter '{word}' has no counterpart")


def _flag(known: Mapping[str, queue.ParameterReader], name: str) -> bool:
    """Return whether the topology's reader expects true or false for a parameter."""
    if name not in known:
        return False
    try:
        return known[name](True) is True
    except ValueError:
        return False


def _value(kind: str, name: str, text: str) -> Any:
    if name in _TIME:
        return quantities.time(text)
    if name in _SIZE or (name == "limit" and kind in ("bfifo", "red")):
        return quantities.size(text)
    if name == "maxrate":
        return quantities.rate(text)
    if name == "probability":
        return quantities.share(f"{float(text) * 100:.10f}")
    return f"{quantities.count(text)} s" if name == "perturb" else quantities.count(text)
