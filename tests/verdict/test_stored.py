"""What a store says of a claim does not depend on when its records were written, or copied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.record.store import Store
from lab.runner.plan import Settings, plan
from lab.spec.find import find
from lab.verdict.judged import judge_stored
from tests.usecases.test_campaign import Stub


@pytest.mark.parametrize("order", [1, -1])
def test_a_run_in_virtual_time_is_one_whichever_record_is_older(tmp_path: Path, order: int) -> None:
    claims = find(["tcp-nodelay/nodelay"])
    trials = [trial for each in plan(claims, Settings(Stub())) for trial in each.trials]
    assert {trial.clock for trial in trials} == {"virtual", "real"}
    store = Store(tmp_path)
    for age, trial in enumerate(trials[::order]):
        with store.stage(trial) as stage:
            os.utime(stage.commit({}).folder, (age, age))
    (judged,) = judge_stored(claims, store)
    assert judged.result.clock == "virtual"
