"""What a guest leaves as its result is read as what whoever is root there may have written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import MachineError
from lab.guest import part, perform
from lab.runner.guest import TrialFailed, _last_exception, _result


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
    with pytest.raises(TrialFailed, match="result is invalid"):
        _result(tmp_path)


@pytest.mark.parametrize("text", ["", '{"environment": {', '{"environment": ' + '{"a": ' * 100_000, "\xff"])
def test_a_result_that_is_cut_short_is_the_machines_affair(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(MachineError, match="is incomplete"):
        _result(tmp_path)


def test_a_result_is_a_short_file(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    with result.open("wb") as file:
        file.truncate(8 << 30)
    with pytest.raises(TrialFailed, match="the trial has no result: it left more than 1048576 bytes"):
        _result(tmp_path)
    result.unlink()
    (tmp_path / "elsewhere").write_text('{"environment": {}}')
    result.symlink_to("elsewhere")
    with pytest.raises(TrialFailed, match="the trial has no result: it left a link"):
        _result(tmp_path)
    result.unlink()
    result.mkdir()
    with pytest.raises(TrialFailed, match="the trial has no result: it left no file"):
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


@pytest.mark.parametrize(("main", "file"), [(perform.main, "trial.json"), (part.main, "part.json")])
def test_whatever_ends_a_trial_is_its_result(main: Callable[[Path], int], file: str, tmp_path: Path) -> None:
    """Not only errors of the lab's own: the user sees the reason, and the console log has the traceback."""
    (tmp_path / file).write_text("{}")
    assert main(tmp_path) == 1
    told = json.loads((tmp_path / "result.json").read_text())["error"]
    assert told.startswith("ValidationError: Object missing required field")


@pytest.mark.parametrize(
    ("console", "reason"),
    [
        ("Traceback (most recent call last):\n  x\nmsgspec.ValidationError: Invalid enum value 'rrul'\nreboot\n", True),
        ("Linux version 7.2\nreboot: System halted\n", False),
    ],
)
def test_a_trial_without_a_result_tells_the_last_exception_on_its_console(
    console: str, reason: bool, tmp_path: Path
) -> None:
    log = tmp_path / "console"
    log.write_text(console)
    assert _last_exception(log) == (": msgspec.ValidationError: Invalid enum value 'rrul'" if reason else "")
    assert _last_exception(tmp_path / "missing") == ""
