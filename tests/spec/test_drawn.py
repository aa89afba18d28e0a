"""Each seed draws its network within the shares that are declared, and the trial has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.guest.network import Direction
from lab.spec import changing, find, queue
from lab.spec.changes import Changes
from lab.spec.direction import JitterPart
from lab.spec.drawn import Drawn


@given(st.integers(0, 2**32), st.floats(0.01, 0.2), st.floats(0.01, 0.2), st.floats(0.01, 0.2))
def test_a_draw_stays_within_its_shares(seed: int, delay: float, rate: float, limit: float) -> None:
    plain = find.topology("shared-bottleneck").network
    drawn = Drawn(delay, rate, limit).of(plain, seed)
    for before, after in zip(plain.links, drawn.links, strict=True):
        assert before.forward.rate
        assert after.forward.rate
        assert abs(after.forward.rate.bps / before.forward.rate.bps - 1) <= rate + 1e-6
        assert abs(after.forward.limit - before.forward.limit) <= before.forward.limit * limit + 1
        most = before.forward.delay.ns * (1 + delay) if before.forward.delay else 10e6 * delay
        assert after.forward.delay.ns <= most + 500, "a draw is rounded to a microsecond"
        assert after.forward.delay == after.back.delay, "both ways share a draw"


def test_a_seed_draws_the_same_again_and_another_seed_another() -> None:
    plain = find.topology("shared-bottleneck").network
    assert Drawn().of(plain, 3) == Drawn().of(plain, 3)
    assert len({Drawn().of(plain, seed).links[2].forward.delay for seed in range(10)}) == 10


def test_a_queue_of_its_own_is_drawn_by_its_limit() -> None:
    plain = find.topology("home-uplink").network
    queues = [Drawn().of(plain, seed).links[2].forward.queue for seed in range(20)]
    limits = {int(dict(queue.parameters)["limit"]) for queue in queues if queue}
    assert len(limits) > 5
    assert all(950 <= limit <= 1050 for limit in limits)


def test_to_draw_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="nothing is drawn"):
        Drawn(0, 0, 0)
    assert str(Drawn(0.05, 0, 0.1)) == "each seed draws delay within 5 %, buffer within 10 %"


BURST = {"burst": "4 kB", "limit": "9 kB"}
RED = {"kind": "red", "min": "15 kB", "max": "45 kB", "limit": "46 kB", "probability": "2 %"}
SLOW = {"rate": "2 Mbit/s", "delay": "20 ms"}
# Settings that contradict one another if only some of them are drawn.
EDGES: dict[str, dict[str, Any]] = {
    "as much jitter as delay": {"delay": "10 ms", "jitter": "10 ms"},
    "a table's jitter": {"delay": "41 ms", "jitter": {"deviation": "10 ms", "distribution": "normal"}},
    "delays with jitter": {"delay": "20 ms", "jitter": "10 ms", "delays": {"receiver": "10 ms"}},
    "a bucket just below the link": {**SLOW, "queue": {"kind": "tbf", "rate": "1.99 Mbit/s", **BURST}},
    "a peak just above the bucket": {
        **SLOW,
        "queue": {"kind": "tbf", "peakrate": "2.01 Mbit/s", "mtu": "2 kB", **BURST},
    },
    "a bucket for one frame": {**SLOW, "queue": {"kind": "tbf", "burst": "1514 B", "limit": "1514 B"}},
    "an htb": {**SLOW, "queue": {"kind": "htb", "rate": "1 Mbit/s", "ceil": "1 Mbit/s", "burst": "2 kB"}},
    "RED": {**SLOW, "queue": RED},
    "a slow link": {"rate": "3 kbit/s", "queue": {"kind": "pfifo", "limit": 9}},
}


def declared(way: Direction) -> Callable[[str], Any]:
    """Return a direction's settings as a topology file would give them."""
    jitter = JitterPart(deviation=way.jitter, distribution=way.distribution) if way.jitter else None
    given: dict[str, Any] = {"jitter": jitter, "delays": {each.to: each.delay for each in way.delays}}
    given |= {"limit": None, "reorder_gap": None}
    return lambda key: given[key] if key in given else getattr(way, key)


@given(st.integers(0, 2**32), st.sampled_from([0.05, 0.2]), st.sampled_from(sorted(EDGES)))
def test_a_drawn_direction_is_one_that_a_file_may_declare(seed: int, share: float, edge: str) -> None:
    network = find.topology("two-hosts").resolve(Changes(links={"path": {"forward": EDGES[edge]}}))
    (link,) = Drawn(share, share, share).of(network, seed).links
    wrong = [message for _, message in changing.contradictions(declared(link.forward), lambda key: (key,))]
    if link.forward.queue:
        wrong += [message for _, message in queue.read({"kind": link.forward.queue.kind, **_given(link.forward)})[1]]
    assert wrong == []


def _given(way: Direction) -> dict[str, Any]:
    assert way.queue
    return dict(way.queue.parameters)


def test_limits_in_bytes_and_a_buckets_own_rate_are_drawn() -> None:
    bucket = {"kind": "tbf", "rate": "1 Mbit/s", **BURST}
    for settings, drawn in (
        ({**SLOW, "queue": bucket}, ("rate", "limit")),
        ({**SLOW, "queue": {"kind": "tbf", "burst": "2 kB", "latency": "400 ms"}}, ("latency",)),
        ({**SLOW, "queue": {"kind": "bfifo", "limit": "40 kB"}}, ("limit",)),
        ({**SLOW, "queue": RED}, ("min", "max", "limit")),
    ):
        network = find.topology("two-hosts").resolve(Changes(links={"path": {"forward": settings}}))
        seen = [_given(Drawn().of(network, seed).links[0].forward) for seed in range(10)]
        for name in drawn:
            assert len({each[name] for each in seen}) > 5, name


def test_delays_by_destination_are_drawn_and_changes_are_not() -> None:
    """The scales of the judge's cases follow from the declared changes."""
    settings = {**SLOW, "delays": {"receiver": "60 ms"}, "changes": [{"at": "1 s", "rate": "2 Mbit/s"}]}
    network = find.topology("two-hosts").resolve(Changes(links={"path": {"forward": settings}}))
    seen = [Drawn().of(network, seed).links[0].forward for seed in range(10)]
    for way in seen:
        assert way.delays[0].delay.ns / 60e6 == pytest.approx(way.delay.ns / 20e6, rel=1e-3)
        assert way.changes == network.links[0].forward.changes
    assert len({way.delays[0].delay for way in seen}) == 10
