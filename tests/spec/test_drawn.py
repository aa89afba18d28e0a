"""Each seed draws its network within the shares that are declared, and the trial has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.spec import find
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
        assert after.forward.delay.ns <= most + 1
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
