"""Shards are disjoint and complete, about equally dear, and the same on every machine."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.ext.cluster.shard import Shard
from lab.guest.probe import Capture, TcpInfo
from lab.guest.workload import Bulk, Iperf3, Program, SmallWrites
from lab.runner.cost import estimate
from lab.runner.memory import MEMORY
from lab.spec import find
from lab.units import Duration, Size

COSTS = st.dictionaries(st.tuples(st.text("ab", max_size=3), st.integers(0, 20)), st.floats(0.01, 100.0))


@given(COSTS, st.integers(1, 9))
def test_every_trial_is_in_one_shard(costs: dict[tuple[str, int], float], of: int) -> None:
    parts = [Shard(number, of).part(costs) for number in range(1, of + 1)]
    assert sum(map(len, parts)) == len(costs)
    assert set().union(*parts) == costs.keys()


@given(COSTS, st.integers(1, 9), st.randoms(use_true_random=False))
def test_the_order_does_not_matter(costs: dict[tuple[str, int], float], of: int, chance: random.Random) -> None:
    shuffled = list(costs.items())
    chance.shuffle(shuffled)
    assert [Shard(1, of).part(dict(shuffled))] == [Shard(1, of).part(costs)]


@given(COSTS, st.integers(1, 9))
def test_no_shard_has_much_more_than_its_part(costs: dict[tuple[str, int], float], of: int) -> None:
    heaviest = max(sum(costs[key] for key in Shard(number, of).part(costs)) for number in range(1, of + 1))
    best = max(sum(costs.values()) / of, max(costs.values(), default=0.0))  # no division can do better
    assert heaviest <= best + max(costs.values(), default=0.0) + 0.001 * len(costs)


@pytest.mark.parametrize("text", ["3", "0/4", "5/4", "a/b", "1/0", "-1/4", "1/4/4", "", "1/" + "9" * 5000, "\u0661/4"])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--shard"):
        Shard.parse(text)
    assert str(Shard.parse("3/16")) == "3/16"


def test_of_a_billion_shards_most_have_nothing() -> None:
    costs = {("a", number): 1.0 + number for number in range(20)}
    assert Shard(1, 10**12).part(costs) == Shard(1, 20).part(costs) == {("a", 19)}
    assert Shard(10**12, 10**12).part(costs) == set()


def test_what_costs_more_is_estimated_to_cost_more() -> None:
    network = find.topology("symmetric-1g").resolve()
    brief, long = (estimate(network, Bulk(duration=Duration.of(text))).seconds for text in ("1 s", "10 s"))
    assert brief < long < 10 * brief, "a guest's boot costs the same"
    assert estimate(network, Iperf3(duration=Duration.of("10 s"))).seconds > 2 * long, "it wakes for every frame"
    few, many = (estimate(network, SmallWrites(messages=count)).seconds for count in (10, 10_000))
    assert many > few + 0.3
    small, large = (estimate(network, Bulk(size=Size.of(text))).seconds for text in ("1 MiB", "1 GiB"))
    assert small < large


def test_time_in_which_nothing_happens_costs_nothing() -> None:
    network = find.topology("symmetric-1g").resolve()
    patient = Bulk(size=Size.of("1 MB"), duration=Duration.of("14400 min"))
    assert estimate(network, patient) == estimate(network, Bulk(size=Size.of("1 MB")))
    waits, ends = (Program(argv=("sleep", "1"), limit=Duration.of(text)) for text in ("100 min", "1 s"))
    assert estimate(network, waits) == estimate(network, ends)


def test_what_is_looked_at_takes_room() -> None:
    network = find.topology("symmetric-1g").resolve()
    sent = Bulk(duration=Duration.of("1 s"))
    bare, captured = estimate(network, sent), estimate(network, sent, (Capture(),))
    assert captured.disk > 80_000 * 96 + bare.disk, "each of 81,000 frames"
    assert estimate(network, sent, (Capture(), Capture(node="sender"))).disk > 1.9 * captured.disk
    sampled = estimate(network, sent, (TcpInfo(interval=Duration.of("1 ms")),))
    assert sampled.seconds > bare.seconds
    assert sampled.disk > bare.disk
    assert 0 < bare.memory < MEMORY.bytes
