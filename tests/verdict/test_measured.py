"""Figures that pass to another process are exactly those that were measured, or are missing there."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lab.spec.case import FigureKey
from lab.units import Value
from lab.verdict import measured

NUMBERS = st.floats() | st.integers()
VALUES = st.builds(
    Value,
    NUMBERS,
    st.sampled_from(["bit/s", "s", "B", "1"]),
    st.none() | NUMBERS,
    st.none() | NUMBERS,
    st.none() | NUMBERS,
)
KEYS = st.builds(FigureKey, st.text(), st.text(), st.text())
CLAIM: Any = SimpleNamespace(id="toy/claim", source_sha256="5")


@given(st.dictionaries(KEYS, st.dictionaries(st.text(), VALUES, max_size=3), max_size=3))
def test_what_arrives_was_measured(figures: dict[FigureKey, dict[str, Value]]) -> None:
    sent = json.dumps(measured.rows(CLAIM, figures), allow_nan=False)
    arrived = measured.read(json.loads(sent)).get((CLAIM.id, CLAIM.source_sha256), {})
    assert all(value == figures[key][trial] for key, trials in arrived.items() for trial, value in trials.items())


def test_what_json_cannot_hold_is_left_to_measure_again() -> None:
    ordinary = Value(0.1 + 0.2, "1", -1, 2**40, 0.95)
    others = Value(np.float64(1), "1"), Value(1, "1", 0, float("inf")), Value(10**30, "1"), Value(True, "1")
    trials = {"ordinary": ordinary} | {str(place): other for place, other in enumerate(others)}
    rows = json.loads(json.dumps(measured.rows(CLAIM, {FigureKey("arm", "at 5", ""): trials})))
    assert measured.read(rows) == {("toy/claim", "5"): {FigureKey("arm", "at 5", ""): {"ordinary": ordinary}}}
