"""In real time what drifts falls on every arm alike: each repeat of all comes before the next repeat of any."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lab.runner.schedule import _interleaved


@given(st.integers(1, 6), st.integers(1, 6))
def test_repeats_come_in_shuffled_blocks(arms: int, repeats: int) -> None:
    trials: list[Any] = [
        SimpleNamespace(arm=str(arm), repeat=repeat) for arm in range(arms) for repeat in range(repeats)
    ]
    order = _interleaved(trials)
    for repeat in range(repeats):
        block = order[repeat * arms : (repeat + 1) * arms]
        assert {each.repeat for each in block} == {repeat}
        assert {trial.arm for trial in block} == {str(arm) for arm in range(arms)}
    assert order == _interleaved(trials), "a run that is resumed goes on in the same order"


def test_the_order_is_one_of_chance() -> None:
    trials: list[Any] = [SimpleNamespace(arm=str(arm), repeat=repeat) for arm in range(8) for repeat in range(4)]
    order = [each.arm for each in _interleaved(trials)]
    assert len({tuple(order[block : block + 8]) for block in range(0, 32, 8)}) > 1
