"""A machine that was too slow spoils a trial in real time, and the reason has the figures; a fast one does not."""

from __future__ import annotations

from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.units import UnitError, Value
from lab.verdict import median
from lab.verdict.fidelity import faults

RATE = 10_000_000
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def wire(direction: str, **changes: Any) -> dict[str, Any]:
    plain = {"link": "path", "direction": direction, "delay": 0.01, "delay_wanted": 0.01}
    return {**plain, "frames": 16, "sending": 0.001, "burst": 0.0185, "burst_wanted": 0.0185, **changes}


def sample(number: int, idle: int = 9, full: float = 0.5, **changes: Any) -> dict[str, Any]:
    """The counters `number` tenths of a second after the start, of a CPU that was `idle` ticks of ten each time."""
    cpu = {**dict.fromkeys(FIELDS, 0), "user": (10 - idle) * number, "idle": idle * number}
    counted = {"bytes": int(full * RATE / 80 * number), "packets": 0, "drops": 0, "backlog": 0}
    wires = [{"link": "path", "direction": "forward", "rate_bps": RATE, **counted}]
    cpu.update(changes.pop("cpu", {}))
    own = cpu["user"] + cpu["system"]
    return {
        "ns": number * 10**8,
        "cpu": cpu,
        "cpus": 1,
        "own": own,
        "processes": 3,
        "dropped": 0,
        "squeezed": 0,
        "wires": wires,
        **changes,
    }


def evidence(**changes: Any) -> dict[str, Any]:
    """Ten seconds on a machine that was fast enough."""
    plain = {
        "greedy": True,
        "clock": {"source": "tsc", "resolution_s": 1e-9, "timer_slack_ns": 50_000},
        "wires": [wire("forward"), wire("back")],
        "wakeups": {"policy": "fifo", "period_ns": 5_000_000, "late_ns": [60_000] * 2000},
        "tick": 0.01,
        "samples": [sample(number) for number in range(101)],
    }
    return {**plain, **changes}


def late(count: int) -> dict[str, Any]:
    return {"late_ns": [200_001] * count + [60_000] * (2000 - count)}


def test_a_machine_that_was_fast_enough_spoils_nothing() -> None:
    assert faults(evidence()) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"wakeups": late(29)}, "timers fired more than 0.2 ms late in 1.45 % of cases"),
        ({"wakeups": {"late_ns": [60_000] * 1798 + [150_000] * 202}}, "late together in 10.1 % of cases"),
        ({"wires": [wire("forward", delay=0.0103), wire("back")]}, "an idle RTT of 20.3 ms, not 20 ms"),
        ({"wires": [wire("forward", delay=0.0097), wire("back")]}, "an idle RTT of 19.7 ms, not 20 ms"),
        ({"wires": [wire("forward", delay=None), wire("back")]}, "no frame came through"),
        ({"wires": [wire("forward"), wire("back", burst=0.0189)]}, "path, back: 16 frames took 18.9 ms, not 18.5 ms"),
        ({"clock": {"source": "jiffies", "resolution_s": 0.004}}, "the clock moves 4 ms at a time"),
        ({"samples": [sample(0), sample(100, dropped=3, squeezed=7)]}, "dropped 3 frames (its softirq was squeezed 7"),
        (
            {"samples": [sample(0), sample(100, cpu={"steal": 19, "idle": 881})]},
            "the host or hypervisor took 1.9 % of the trial's CPU",
        ),
        (
            {"samples": [sample(0), sample(100, cpu={"idle": 881})]},
            "the host or hypervisor took 1.9 % of the trial's CPU",
        ),
        ({"samples": [sample(0), sample(100, own=80)]}, "other programs took 2 % of the trial's CPU"),
        ({"samples": [sample(number, idle=0) for number in range(101)]}, "no wire was full, for 100 % of the trial"),
    ],
)
def test_what_spoils_a_trial_is_said_with_its_figures(changes: dict[str, Any], said: str) -> None:
    (reason,) = faults(evidence(**changes))
    assert said in reason


@pytest.mark.parametrize(
    "changes",
    [
        {"wakeups": late(28)},  # which 1 % of 2000 gives by a chance of more than 5 %
        {"wires": [wire("forward", delay=0.01015), wire("back")]},
        {"wires": [wire("forward", delay=0.0103), wire("back", delay=0.0097)]},  # one way's is the other's loss
        {"wires": [wire("forward", delay=0.3, delay_wanted=None, burst=None, burst_wanted=None), wire("back")]},
        {"wires": [wire("forward", burst=0.0188), wire("back")]},
        {"wires": [wire("forward", burst=0.1), wire("back")], "greedy": False},
        {"wires": []},
        {"samples": [sample(0), sample(100, cpu={"steal": 17, "idle": 883})]},
        {"samples": [sample(0), sample(100, own=85)]},  # of three processes' ticks, six may lack
        {"samples": [sample(0), {**sample(0), "ns": 40_000_000}]},
        {"wakeups": {"late_ns": [60_000] * 30 + [10_000_000]}},
        {"samples": [sample(number, idle=0, full=0.995) for number in range(101)]},
        {"samples": [sample(number, idle=0) for number in range(101)], "greedy": False},
        {
            "samples": [sample(number, idle=0, wires=[], dropped=number) for number in range(101)],
            "wakeups": late(500),
        },  # the CPU is what is measured
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_keeps_the_promise_spoils_nothing(changes: dict[str, Any]) -> None:
    assert faults(evidence(**changes)) == ()


@given(st.integers(0, 2000))
def test_the_share_of_late_timers_decides_whatever_their_order(count: int) -> None:
    assert bool(faults(evidence(wakeups=late(count)))) == (count > 28)


def seconds(*numbers: float) -> list[Value]:
    return [Value(number, "s") for number in numbers]


def test_the_median_has_the_interval_of_order_statistics() -> None:
    """Six of six hold the median in 1 - 2/64 of cases; of twenty, the 6th to the 15th do in 95.9 %; three in 75 %."""
    assert median(seconds(5, 3, 1, 6, 2, 4)) == Value(3.5, "s", 1, 6, 1 - 2 / 64)
    of_twenty = median(seconds(*range(20)))
    assert (of_twenty.number, of_twenty.low, of_twenty.high) == (9.5, 5, 14)
    assert of_twenty.coverage == pytest.approx(1 - 2 * sum(comb(20, below) for below in range(6)) / 2**20)
    assert median(seconds(1, 9, 2)) == Value(2, "s", 1, 9, 0.75)
    assert median(seconds(7)) == median(seconds(7, 7)) == Value(7, "s")
    with pytest.raises(UnitError):
        median([Value(1, "s"), Value(1, "B")])


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50))
def test_the_median_is_within_its_interval(numbers: list[float]) -> None:
    value = median(seconds(*numbers))
    if value.low is not None and value.high is not None:
        assert min(numbers) <= value.low <= value.number <= value.high <= max(numbers)
