"""Shards are disjoint and complete, about equally dear, and the same on every machine."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import InputError
from lab.runner import cost
from lab.runner.shard import Shard
from lab.spec import find
from lab.units import Duration, Size
from lab.workload import Bulk, Iperf3, SmallWrites

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


@pytest.mark.parametrize("text", ["3", "0/4", "5/4", "a/b", "1/0", "-1/4", "1/4/4", ""])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--shard"):
        Shard.parse(text)
    assert str(Shard.parse("3/16")) == "3/16"


def test_what_costs_more_is_estimated_to_cost_more() -> None:
    network = find.topology("symmetric-1g").resolve()
    brief, long = (cost.seconds(network, Bulk(duration=Duration.of(text))) for text in ("1 s", "10 s"))
    assert brief < long < 10 * brief, "a guest's boot costs the same"
    assert cost.seconds(network, Iperf3(duration=Duration.of("10 s"))) > 2 * long, "it wakes for every frame"
    assert cost.seconds(network, SmallWrites(messages=10_000)) > 1 + cost.seconds(network, SmallWrites(messages=10))
    assert cost.seconds(network, Bulk(size=Size.of("1 GiB"))) > cost.seconds(network, Bulk(size=Size.of("1 MiB")))
