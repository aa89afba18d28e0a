"""No store takes a record that no experiment could declare, or one with files that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ext.cluster.sharing import merge, push
from lab.record.record import Record
from lab.record.store import Store
from tests.forged import forge
from tests.record.test_declared import FORGED, LAID, Change
from tests.record.test_store import record


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_forged_trial_is_refused(tmp_path: Path, change: Change) -> None:
    record(Store(tmp_path / "results"))
    forge(record(Store(tmp_path / "results"), seed=2), change)
    merged = merge([tmp_path / "results"], tmp_path / "other")
    assert (merged.added, len(merged.refused)) == (1, 1)
    assert {path.name for path in tmp_path.iterdir()} == {"results", "other"}


@pytest.mark.parametrize("lay", [lay for lay, _ in LAID.values()], ids=LAID)
def test_what_is_no_file_of_a_record_is_refused(tmp_path: Path, lay: Callable[[Record], None]) -> None:
    lay(record(Store(tmp_path / "results")))
    assert len(merge([tmp_path / "results"], tmp_path / "other").refused) == 1
    assert len(push(tmp_path / "results", tmp_path / "shared").refused) == 1
