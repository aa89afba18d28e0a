"""The tool that writes the judge's reference figures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lab.errors import LabError
from lab.units import Value
from tests.ext.cc.cards import shipped_pack
from tools.references import lines

SAMPLE = SimpleNamespace(numbers=[0.1234567, 0.2])


def judged(missing: str = "") -> list[Any]:
    """Return every case as if its trials had given figures, without that of one case."""
    found = []
    for case in shipped_pack().cases:
        value = None if case.name == missing else Value(0.123456, case.scale.all.unit)
        results = [
            SimpleNamespace(arm="reno", figure=case.figure, measured=value, sample=SAMPLE),
            SimpleNamespace(arm="reno", figure="another", measured=Value(1, "1")),
        ]
        found.append(
            SimpleNamespace(
                declared=SimpleNamespace(id=case.name),
                kernel={"version": "7.2.13-1"},
                result=SimpleNamespace(results=results),
            )
        )
    return found


def test_each_case_has_a_line_with_its_figure() -> None:
    written = list(lines(judged()))
    assert written[:2] == ["kernel: 7.2.13-1", "rfc9743/one-flow: {reno: [0.12346, 0.2]}"]
    assert len(written) == 1 + len(shipped_pack().cases)


def test_a_missing_figure_is_named() -> None:
    with pytest.raises(LabError, match=r"rfc9743/ecn has no figure of reno; run `lab run congestion-judge`"):
        list(lines(judged("rfc9743/ecn")))
