"""What a guest leaves as its result is read as what whoever is root there may have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import MachineError
from lab.runner.guest import TrialFailed, _result


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "[]",
        "{}",
        '{"error": 1}',
        '{"error": "x", "exit_code": 0}',
        '{"error": "x", "exit_code": 77}',
        '{"environment": []}',
        '{"environment": {}, "invalid": [{}]}',
    ],
)
def test_a_result_that_is_none_fails_the_trial(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(TrialFailed, match="result is none"):
        _result(tmp_path)


@pytest.mark.parametrize("text", ["", '{"environment": {', '{"environment": ' + '{"a": ' * 100_000, "\xff"])
def test_a_result_that_is_cut_short_is_the_machines_affair(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(MachineError, match="whole"):
        _result(tmp_path)


def test_a_result_says_what_was_read_back_or_why_it_failed(tmp_path: Path) -> None:
    assert _result(tmp_path) is None
    (tmp_path / "result.json").write_text('{"environment": {"kernel": "Linux"}, "invalid": ["slow"]}')
    found = _result(tmp_path)
    assert found is not None
    assert (found.environment, found.invalid, found.error) == ({"kernel": "Linux"}, ["slow"], "")
    (tmp_path / "result.json").write_text('{"error": "no such tool", "exit_code": 3}')
    failed = _result(tmp_path)
    assert failed is not None
    assert (failed.error, failed.exit_code) == ("no such tool", 3)
