"""Pass measured figures to another process that judges the same claims, so that each trial is measured once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from msgspec import structs

from lab.spec.case import FigureKey
from lab.spec.loaded import LoadedExperiment
from lab.units import Value

KnownFigures = Mapping[FigureKey, Mapping[str, Value]]  # of a claim's cases: the trial's address -> its figure
MeasuredClaims = Mapping[tuple[str, str], KnownFigures]  # by the claim's id, and the hash of its experiment's code

_EXACT = 2**53  # JSON readers keep smaller whole numbers exactly


def rows(declared: LoadedExperiment, figures: KnownFigures) -> list[list[Any]]:
    """Return a claim's figures as plain data for JSON, one row for each trial and figure.

    The rows omit figures that JSON cannot hold exactly: infinite ones, and numbers of types other than Python's own.
    """
    return [
        [declared.id, declared.source_sha256, *key, trial, *structs.astuple(value)]
        for key, trials in figures.items()
        for trial, value in trials.items()
        if all(map(_is_plain, (value.number, value.low, value.high, value.coverage)))
    ]


def read(found: Iterable[list[Any]]) -> MeasuredClaims:
    """Return the figures in the rows that `rows` returned for several claims."""
    claims: dict[tuple[str, str], dict[FigureKey, dict[str, Value]]] = {}
    for claim, source, arm, point, figure, trial, *value in found:
        cases = claims.setdefault((claim, source), {})
        cases.setdefault(FigureKey(arm, point, figure), {})[trial] = Value(*value)
    return claims


def _is_plain(number: float | None) -> bool:
    return number is None or (type(number) in (int, float) and isfinite(number) and abs(number) < _EXACT)
