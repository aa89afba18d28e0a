"""Evidence of a trial in real time that nobody ran, shared by the tests of judging and of comparing."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

RATE = 10_000_000
PERIOD_NS = 2_000_000
USUAL_NS = 60_000
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def wire(direction: str, **changes: Any) -> dict[str, Any]:
    plain = {"link": "path", "direction": direction, "delay": 0.01, "delay_wanted": 0.01}
    return {**plain, "frames": 16, "sending": 0.001, "burst": 0.0185, "burst_wanted": 0.0185, **changes}


def sample(number: int, idle: int = 9, full: float = 0.5, **changes: Any) -> dict[str, Any]:
    """The counters `number` tenths of a second after the start, of a CPU that was `idle` ticks of ten each time.

    `counters` changes those of the only wire, which had so much of its rate to send and never has a queue.
    """
    cpu = {**dict.fromkeys(FIELDS, 0), "user": (10 - idle) * number, "idle": idle * number}
    counted = {"bytes": int(full * RATE / 80 * number), "packets": 0, "drops": 0, "backlog": 0}
    place = {"link": "path", "direction": "forward", "rate_bps": RATE, "delay_ns": 0, "frame_bytes": 1538}
    wires = [{**place, **counted, **changes.pop("counters", {})}]
    cpu.update(changes.pop("cpu", {}))
    plain = {
        "ns": number * 10**8,
        "cpu": cpu,
        "cpus": 1,
        "own": cpu["user"] + cpu["system"],
        "processes": 3,
        "waited_ns": None,
        "turns": None,
        "dropped": 0,
        "squeezed": 0,
        "wires": wires,
    }
    return {**plain, **changes}


def evidence(**changes: Any) -> dict[str, Any]:
    """Ten seconds on a machine that was fast enough."""
    plain = {
        "version": 3,
        "greedy": True,
        "clock": {"source": "tsc", "resolution_s": 1e-9, "timer_slack_ns": 50_000},
        "wires": [wire("forward"), wire("back")],
        "wires_after": [wire("forward"), wire("back")],
        "began_ns": 0,
        "wakeups": {"policy": "fifo", "period_ns": PERIOD_NS, "late_ns": [USUAL_NS] * 5000},
        "tick": 0.01,
        "samples": [sample(number) for number in range(101)],
        "looks": None,
    }
    return {**plain, **changes}


def calm() -> bytes:
    """Evidence of a machine that was fast enough, as a trial leaves it."""
    return json.dumps(evidence()).encode()


def moments(seconds: float, seed: int) -> list[int]:
    """The grid's moments, in nanoseconds."""
    chance = random.Random(seed)
    return [start + chance.randrange(PERIOD_NS) for start in range(0, round(seconds * 1e9), PERIOD_NS)]


def stalls(seconds: float, share: float, length_ns: int, seed: int) -> list[tuple[int, int]]:
    """Stalls of that length and share of the time, [from, to) in nanoseconds: one at random in each stretch."""
    chance, stretch = random.Random(seed), round(length_ns / share)
    starts = (at + chance.randrange(stretch - length_ns) for at in range(0, round(seconds * 1e9), stretch))
    return [(start, start + length_ns) for start in starts]


def lateness(due: Iterable[int], away: Iterable[tuple[int, int]], seed: int) -> list[int]:
    """By how much the wake-ups come late: usually some 60 us; those that are due in a stall, when that ends."""
    chance, away = random.Random(seed), sorted(away)
    starts = [start for start, _ in away]

    def left(at: int) -> int:
        begun = bisect_right(starts, at)  # no two stalls are at once: the last that began is the one
        return max(0, away[begun - 1][1] - at) if begun else 0

    return [left(at) + round(USUAL_NS * chance.uniform(0.7, 1.5)) for at in due]
