"""What is printed as JSON is JSON: strict readers know no Infinity."""

from __future__ import annotations

import json
from math import inf, nan

import pytest

from lab.cli.output import emit


def test_a_number_that_json_lacks_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"figures": [{"low": -inf, "measured": 1.5, "high": inf}, (nan, 2, True, None, "inf")]})
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said == {"figures": [{"low": None, "measured": 1.5, "high": None}, [None, 2, True, None, "inf"]]}
