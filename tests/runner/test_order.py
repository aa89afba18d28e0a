"""In real time what drifts falls on every arm alike: each repeat of all comes before the next repeat of any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.guest.clock import Clock
from lab.guest.trial import Trial
from lab.record.record import Record
from lab.record.store import Store
from lab.runner import schedule
from lab.runner.schedule import Runner, _interleaved
from tests import trials
from tests.conftest import Quiet


@given(st.integers(1, 6), st.integers(1, 6))
def test_repeats_come_in_shuffled_blocks(arms: int, repeats: int) -> None:
    trials: list[Any] = [
        SimpleNamespace(arm=str(arm), repeat=repeat) for arm in range(arms) for repeat in range(repeats)
    ]
    order = _interleaved(trials, "a")
    for repeat in range(repeats):
        block = order[repeat * arms : (repeat + 1) * arms]
        assert {each.repeat for each in block} == {repeat}
        assert {trial.arm for trial in block} == {str(arm) for arm in range(arms)}
    assert order == _interleaved(trials, "a"), "the name of a batch says its order"


def test_the_order_is_one_of_chance() -> None:
    trials: list[Any] = [SimpleNamespace(arm=str(arm), repeat=repeat) for arm in range(8) for repeat in range(4)]
    order = [each.arm for each in _interleaved(trials, "a")]
    assert len({tuple(order[block : block + 8]) for block in range(0, 32, 8)}) > 1
    assert order != [each.arm for each in _interleaved(trials, "b")], "another batch has another order"


# -- what the runner does with it; nothing is booted

KERNEL: Any = SimpleNamespace(id="k")
KERNEL_SAYS = {"name": "7.2", "version": "7.2.13-1", "id": "k", "hz": 1000, "patches": []}
Run = Callable[..., dict[str, Record]]


def trial(arm: str, repeat: int, clock: Clock = "real") -> Trial:
    """A trial of nothing."""
    return trials.trial(claim="a/b", arm=arm, kernel=KERNEL_SAYS, clock=clock, repeat=repeat)


TRIALS = [trial(arm, repeat) for arm in "abcd" for repeat in range(3)]
VIRTUAL = trial("e", 0, "virtual")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs trials, which leave nothing but their record."""

    def perform(asked: Trial, store: Store, _: Any, __: int, ___: Any, ____: Any, place: Any) -> Record:
        with store.stage(asked) as stage:
            return stage.commit({}, host=place)

    monkeypatch.setattr(schedule, "run_in_guest", perform)

    def run(trials: list[Trial], together: bool = False) -> dict[str, Record]:
        found = Runner(Store(tmp_path), [KERNEL], together=together).run(trials, Quiet())
        assert all(isinstance(each, Record) for each in found.values())
        return found  # type: ignore[return-value]

    return run


def batches(records: dict[str, Record]) -> set[str]:
    return {record.batch for record in records.values()}


def test_every_real_time_record_knows_its_batch_and_its_place(run: Run) -> None:
    found = run([*TRIALS, VIRTUAL])
    virtual = found.pop(VIRTUAL.address)
    assert (virtual.batch, "order" in virtual.host) == ("", False)
    assert len(batches(found)) == 1
    assert sorted(record.host["order"] for record in found.values()) == list(range(len(TRIALS)))
    by_order = sorted(found.values(), key=lambda record: record.host["order"])
    assert [record.trial.repeat for record in by_order] == [0] * 4 + [1] * 4 + [2] * 4
    assert [record.trial for record in by_order] == _interleaved(TRIALS, batches(found).pop())


def test_what_is_compared_ran_together(run: Run) -> None:
    before = run([*TRIALS[:6], VIRTUAL])
    first, host = batches(before), before[VIRTUAL.address].host
    apart = run([*TRIALS, VIRTUAL])
    assert len(batches({address: apart[address] for address in apart if address != VIRTUAL.address})) == 2
    again = run([*TRIALS, VIRTUAL], together=True)
    virtual = again.pop(VIRTUAL.address)
    assert len(batches(again)) == 1
    assert batches(again).isdisjoint(first)
    assert virtual.host == host, "in virtual time nothing drifts"
    assert batches(run(TRIALS, together=True)) == batches(again), "they are together already"


# -- a run that several trials share


def test_what_leaves_the_same_bytes_is_performed_once(run: Run) -> None:
    same = [trial(arm, 0, "virtual") for arm in "ab"]
    found = run([*same, trial("a", 1, "virtual"), *TRIALS[:2]])
    first, second = (found[each.address] for each in same)
    assert (first.run_of, second.run_of) == ("", first.address)
    assert second.trial == same[1]
    others = [record for record in found.values() if record.address != second.address]
    assert len(others) == 4
    assert not any(record.run_of for record in others), "another repeat is performed, and so is real time"


def test_the_end_of_a_shared_run_is_told_of_each_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Record:
        raise LabError("it broke")

    monkeypatch.setattr(schedule, "run_in_guest", fail)
    predicted: list[Trial] = []
    ended: list[tuple[Trial, str]] = []
    seen: Any = SimpleNamespace(started=lambda _: None, ended=lambda each, why, _: ended.append((each, str(why))))
    same = [trial(arm, 0, "virtual") for arm in "ab"]
    found = Runner(Store(tmp_path), [KERNEL], before=predicted.append).run(same, seen)
    assert ended == [(each, "it broke") for each in same]
    assert set(found) == {each.address for each in same}
    assert predicted == same[:1]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("asked", [VIRTUAL, TRIALS[0]], ids=["virtual", "real"])
def test_what_another_run_has_just_kept_stays(tmp_path: Path, asked: Trial) -> None:
    """It looked for a record before, and may be reading it: another run of the same claim on the same store."""
    store = Store(tmp_path)

    def another(asked: Trial) -> None:
        with store.stage(asked) as stage:
            stage.commit({}, host={"user": "another"})

    found = Runner(store, [KERNEL], before=another).run([asked], Quiet())[asked.address]
    assert isinstance(found, Record)
    assert found.host == {"user": "another"}
