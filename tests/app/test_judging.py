"""What a run was told of is known to its end, whatever somebody removes from the store meanwhile."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lab.app.judging import Judging
from lab.record.store import Store
from tests.record.test_store import record
from tests.trials import trial


def test_a_record_that_goes_once_its_trial_has_ended(tmp_path: Path) -> None:
    """The store's own records are others to Python each time that they are asked for."""
    store = Store(tmp_path)
    ours, other = trial(), trial(seed=2)
    claim: Any = SimpleNamespace(id=ours.claim)
    planned: Any = SimpleNamespace(case=SimpleNamespace(claim=ours.claim), trials=(ours, other))
    settings: Any = None
    judging = Judging((claim,), (planned,), settings, tmp_path / "predictions")
    told = Store(tmp_path).get(record(store).address)
    assert told is not None
    assert judging.ended(ours, told) is None  # the other trial is missing
    store.remove(ours.address)
    assert told.host == {"wall": 1.5}
