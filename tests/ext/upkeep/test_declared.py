"""`lab store fsck` names a record that no experiment could declare, and one with files that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ext.upkeep.upkeep import check, usage
from lab.record.record import Record
from lab.record.store import Store
from tests.forged import forge
from tests.record.test_declared import FORGED, LAID, Change
from tests.record.test_store import record


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_forged_trial_is_named(tmp_path: Path, change: Change) -> None:
    record(Store(tmp_path / "results"))
    forged = forge(record(Store(tmp_path / "results"), seed=2), change)
    assert {folder for folder, _ in check(tmp_path / "results").faults} == {f"{forged.address[:2]}/{forged.address}"}
    usage(tmp_path / "results")


@pytest.mark.parametrize("lay", [lay for lay, _ in LAID.values()], ids=LAID)
def test_what_is_no_file_of_a_record_is_named(tmp_path: Path, lay: Callable[[Record], None]) -> None:
    lay(record(Store(tmp_path / "results")))
    assert check(tmp_path / "results").exit_code == 1
    usage(tmp_path / "results")
