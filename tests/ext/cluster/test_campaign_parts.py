"""A campaign's parts do not depend on who runs them, and a plan says what lacks and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.errors import InputError, MachineError
from lab.ext.cluster.campaign import _own, _slots, campaign, read_costs
from lab.ext.cluster.shard import Shard
from lab.guest.clock import Clock, Place
from lab.guest.trial import Trial
from lab.machine.kernel import Start
from lab.machine.kernel.root import Root
from lab.machine.userland.cache import Userland
from lab.machine.userland.lock import locked
from lab.record.record import Record
from lab.record.store import Store
from lab.runner.plan import Settings, plan
from lab.spec.find import find
from lab.spec.variant import ResolvedVariant
from lab.units import Size


class Stub:
    """A user-mode kernel that nobody boots, on a machine that has its variants or lacks them."""

    on: Place = "uml"
    name, id = "7.2", "0" * 16
    clocks: tuple[Clock, ...] = ("virtual", "real")

    def __init__(self, complete: bool = True) -> None:
        self.complete = complete

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "version": "7.2.1-1", "id": self.id, "hz": 1000, "patches": []}

    def variant(self, wanted: ResolvedVariant) -> Stub:
        if not self.complete:
            raise MachineError(f"no variant: {wanted}")
        return self

    def lacks(self, queue: str) -> bool:
        return not queue

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:
        raise AssertionError(f"nothing is run here: {folder} {seed} {clock} {memory} {root}")


class Whole(Userland):
    """A userland that has every program, so that planning asks nothing of this machine."""

    def has(self, program: str) -> bool:
        return program != ""


def settings(kernel: Stub | None = None, seed: int = 1) -> Settings:
    """Settings of a run that is only planned."""
    return Settings(kernel or Stub(), seed=seed, userland=Whole(locked("guest").id, Path("nowhere")))


CLAIMS = find(["tcp-nodelay", "ack-rate/offload-cost"])


def kept(store: Store, trial: Trial, seconds: float) -> Record:
    with store.stage(trial) as stage:
        return stage.commit({}, host={"cpu_seconds": seconds})


def test_shards_are_the_same_where_variants_lack() -> None:
    complete, lacking = (plan(CLAIMS, settings(Stub(each))) for each in (True, False))
    assert any(each.skipped for each in lacking)
    parts = []
    for number in range(1, 5):
        own = _own(complete, Shard(number, 4), {})
        assert own == _own(lacking, Shard(number, 4), {})
        parts.append(own)
    travelling = [slot for each in complete if each.travels for slot in _slots(each)]
    assert sorted(slot for part in parts for slot in part) == sorted(travelling)
    assert len(travelling) < sum(len(each.samples) for each in complete), "what runs in real time is in no shard"


def test_trials_that_share_a_run_are_in_one_shard() -> None:
    planned = plan(CLAIMS, settings())
    runs: dict[Any, set[Any]] = {}
    for each in planned:
        for slot, trial in zip(_slots(each), each.trials, strict=True):
            if each.travels:  # the stub is its own variant
                runs.setdefault((trial.run_address, each.case.kernel), set()).add(slot)
    assert any(len(slots) > 1 for slots in runs.values())
    for number in range(1, 17):
        own = _own(planned, Shard(number, 16), {})
        assert all(slots <= own or not slots & own for slots in runs.values())


def test_a_plan_lacks_what_the_store_lacks(tmp_path: Path) -> None:
    store = Store(tmp_path)
    asked = [(CLAIMS, settings())]
    first = campaign(asked, tmp_path)
    assert first.stored == 0
    assert not any(each.recorded for each in first.lacking)
    assert {each.here for each in first.lacking} == {True, False}
    kept(store, first.lacking[0].trial, 7.5)
    second = campaign(asked, tmp_path)
    assert (second.stored, len(second.lacking)) == (1, len(first.lacking) - 1)
    other = campaign([(CLAIMS, settings(seed=2))], tmp_path)
    known = [each for each in other.lacking if each.recorded]
    assert known
    assert {each.cost.seconds for each in known} == {7.5}, "the record of another seed says what the trial takes"
    assert {each.trial.workload["kind"] for each in known} == {first.lacking[0].trial.workload["kind"]}


def test_a_plan_balances_shards(tmp_path: Path) -> None:
    planned = plan(CLAIMS, settings())
    found = campaign([(CLAIMS, settings())], tmp_path).plain()
    dear = next(each for each in found["trials"] if not each["here"])
    dear["seconds"] = 10_000.0
    (tmp_path / "plan.json").write_text(json.dumps(found))
    costs = read_costs(tmp_path / "plan.json")
    slot = tuple(dear[name] for name in ("claim", "arm", "point", "seed", "repeat"))
    (own,) = [part for number in (1, 2) if slot in (part := _own(planned, Shard(number, 2), costs))]
    assert own == {slot}, "it is as dear as all others together"


def test_a_record_of_the_same_case_says_what_a_changed_one_takes(tmp_path: Path) -> None:
    """Its network was another one, since somebody edited the topology; the model is not asked."""
    asked = [(CLAIMS, settings())]
    trial = campaign(asked, tmp_path).lacking[0].trial
    kept(Store(tmp_path), msgspec.structs.replace(trial, network=trial.network | {"name": "before"}), 7.5)
    changed = [each for each in campaign(asked, tmp_path).lacking if each.trial.key == trial.key]
    assert any(each.recorded and each.cost.seconds == 7.5 for each in changed)


def test_a_plan_says_what_room_it_needs(tmp_path: Path) -> None:
    found = campaign([(CLAIMS, settings())], tmp_path, jobs=2)
    runs = {each.trial.address if each.here else each.trial.run_address: each.cost for each in found.lacking}
    assert 0 < len(runs) < len(found.lacking), "of these claims, some trials share a run"
    assert found.needs.disk == sum(cost.disk for cost in runs.values())
    assert found.seconds == pytest.approx(sum(cost.seconds for cost in runs.values()))
    alone = campaign([(CLAIMS, settings())], tmp_path, jobs=1).needs.memory
    assert found.needs.memory is not None
    assert alone is not None
    assert alone < found.needs.memory
    assert found.plain()["free"]["disk"] > 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"trials": [{}]}', "nonsense"])
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InputError, match="is not a plan; write one with `lab cluster plan --json`"):
        read_costs(tmp_path / "plan.json")
