"""What a store says of a claim does not depend on when its records were written, or copied."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lab.record.store import Store
from lab.runner.plan import plan
from lab.spec.find import find
from lab.spec.variant import ResolvedVariant
from lab.verdict.judged import judge_stored
from tests.ext.cluster.test_campaign_parts import Stub, settings


@pytest.mark.parametrize("order", [1, -1])
def test_a_run_in_virtual_time_is_one_whichever_record_is_older(tmp_path: Path, order: int) -> None:
    claims = find(["tcp-nodelay/nodelay"])
    trials = [trial for each in plan(claims, settings()) for trial in each.trials]
    assert {trial.clock for trial in trials} == {"virtual", "real"}
    store = Store(tmp_path)
    for age, trial in enumerate(trials[::order]):
        with store.stage(trial) as stage:
            os.utime(stage.commit({}).folder, (age, age))
    (judged,) = judge_stored(claims, store)
    assert judged.result.clock == "virtual"


class Beside(Stub):
    """A kernel among others, which has variants."""

    def __init__(self, ident: str, hz: int = 1000, patches: tuple[str, ...] = (), base: str | None = None) -> None:
        super().__init__()
        self.id, self.hz, self.patches, self.base = ident * 16, hz, patches, base

    def describe(self) -> dict[str, Any]:
        variant = {"name": f"7.2-{self.id[0]}", "base": self.base} if self.base else {}
        return {**super().describe(), "id": self.id, "hz": self.hz, "patches": list(self.patches), **variant}

    def variant(self, wanted: ResolvedVariant) -> Stub:
        ident = {"1": "ab", "2": "cd"}[self.id[0]][bool(wanted.patches)]
        return Beside(ident, wanted.hz or self.hz, tuple(each.stem for each in wanted.patches), self.id)


@pytest.mark.parametrize("order", [1, -1])
def test_a_run_on_a_variant_is_not_one_on_its_base(tmp_path: Path, order: int) -> None:
    usual = Beside("1")
    other = Beside("2", 250, base=usual.id)
    claims = find(["tcp-nodelay/nagle-stall"])
    planned = {
        each: [trial for case in plan(claims, settings(each)) for trial in case.trials] for each in (usual, other)
    }
    store = Store(tmp_path)
    for age, trial in enumerate([*planned[usual], *planned[other]][::order]):
        with store.stage(trial) as stage:
            os.utime(stage.commit({}).folder, (age, age))
    for kernel, names in (usual, ("7.2", usual.id, None)), (other, ("7.2-2", other.id)):
        for name in names:
            (judged,) = judge_stored(claims, store, kernel=name)
            assert judged.kernel is not None
            assert judged.kernel["id"] == kernel.id
            assert sorted(each.address for each in judged.records) == sorted(each.address for each in planned[kernel])
    (judged,) = judge_stored(claims, store, kernel="7.2-a")
    assert judged.records == (), "it is what an arm ran on: no run was for it"
    assert "`lab run tcp-nodelay/nagle-stall --kernel 7.2-a`" in judged.result.verdict.reason
