"""Make each prediction once, before its trial, and keep it with the date: a trial's result must not decide it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import msgspec

import lab
from lab.meaning import fingerprint
from lab.prediction import Prediction
from lab.record.date import now
from lab.record.trial import canonical
from lab.spec.case import Case
from lab.units import Value
from lab.verdict.forecast import Forecast

if TYPE_CHECKING:
    from lab.model import Scenario

__all__ = ["Kept", "Predictions", "kept_for", "merge", "model_hash"]


@dataclass(frozen=True)
class Predictions:
    """Predictions of one experiment file for one kernel are kept in `folder`, one file for each that was ever made.

    What is predicted has a folder of its own: the experiment's code, the arm, the point, the function's name, the
    kernel's id, and the scenario. In it each model, by the hash of its code, has a file with its figure and the date.
    Nothing is kept if `folder` is None or cannot be written.
    """

    folder: Path | None
    source_sha256: str
    kernel: str

    def of(self, case: Case, prediction: Prediction, scenario: Scenario) -> Forecast:
        """Return what the case's prediction, or the law beside it, says of this scenario, and since when it stands.

        Another model that had said the same before counts: a figure that did not change was not chosen later. Raises
        whatever the prediction raises, but for ModelError.
        """
        if self.folder is None:
            return Forecast(**_figure(_made(prediction, scenario)))
        place = self.folder / self._key(case, prediction, scenario)
        file = place / f"{model_hash()}.json"
        kept = _read(file)
        if kept is None:
            kept = self._described(case, prediction) | _made(prediction, scenario)
            _write(file, kept)
        same = (
            other["made"] for other in map(_read, place.glob("*.json")) if other and _figure(other) == _figure(kept)
        )
        return Forecast(**_figure(kept), made=min(same, default=kept["made"]))

    def _key(self, case: Case, prediction: Prediction, scenario: Scenario) -> str:
        decided = [self.source_sha256, case.claim, *case.key, prediction.name, self.kernel, repr(scenario)]
        return hashlib.sha256(canonical(decided)).hexdigest()

    def _described(self, case: Case, prediction: Prediction) -> dict[str, str]:
        """Say for a reader of the file what is predicted, and by what."""
        about = {"claim": case.claim, "arm": case.arm, "point": case.point, "prediction": prediction.name}
        return about | {"kernel": self.kernel, "model": model_hash()}


class _Kept(msgspec.Struct, frozen=True):
    """Says what a file must hold, besides what is there for a reader."""

    made: str
    figure: _Figure | None
    why_not: str


class _Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Says what a figure must hold."""

    number: float
    unit: str
    low: float | None
    high: float | None


def merge(theirs: Path, ours: Path) -> None:
    """Add the predictions kept in the folder `theirs` to those in `ours`; of the same one, the older date stands."""
    for source in sorted(theirs.glob("*/*.json")):
        target = ours / source.relative_to(theirs)
        kept, other = _read(target), _read(source)
        if other and (kept is None or (_figure(kept) == _figure(other) and other["made"] < kept["made"])):
            _write(target, other)


@dataclass(frozen=True)
class Kept:
    """Names what is kept of one case's prediction."""

    folder: Path
    files: frozenset[str]  # those that can be read
    about: str  # claim, arm and point


def kept_for(folder: Path, claims: Collection[str]) -> Iterator[Kept]:
    """Yield what the folder `folder` keeps for these claims; what is damaged is left out, and is made again."""
    for place in sorted(folder.glob("*")):
        found = {file.name: kept for file in sorted(place.glob("*.json")) if (kept := _read(file))}
        for kept in found.values():
            if kept.get("claim") in claims:
                about = " ".join(str(kept.get(key, "")) for key in ("claim", "arm", "point")).rstrip()
                yield Kept(place, frozenset(found), about)
                break


def _made(prediction: Prediction, scenario: Scenario) -> dict[str, Any]:
    from lab.model import ModelError

    figure, why_not = None, ""
    try:
        value = prediction(scenario)
        figure = {"number": value.number, "unit": value.unit, "low": value.low, "high": value.high}
    except ModelError as error:
        why_not = str(error)
    return {"made": now(), "figure": figure, "why_not": why_not}


def _figure(kept: dict[str, Any]) -> dict[str, Any]:
    return {"value": Value(**kept["figure"]) if kept["figure"] else None, "why_not": kept["why_not"]}


@cache
def model_hash() -> str:
    """Return the SHA-256 of what all code means that a prediction may use."""
    return fingerprint({file.name: file.read_bytes() for file in _sources()})


def _sources() -> Iterator[Path]:
    models = Path(lab.__file__).parent / "model"
    yield from sorted(models.glob("*.py"))
    yield models.parent / "units.py"


def _read(file: Path) -> dict[str, Any] | None:
    """Return what a file keeps, or None where it cannot be read or holds something else: it is made again then."""
    try:
        kept: dict[str, Any] = msgspec.json.decode(file.read_bytes())  # which takes no infinite numbers
        msgspec.convert(kept, _Kept)
        _figure(kept)
    except (OSError, ValueError, RecursionError):  # of msgspec and of units, too
        return None
    return kept


def _write(file: Path, kept: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent, delete=False) as fresh:
            json.dump(kept, fresh)
        Path(fresh.name).replace(file)
