"""Compute each prediction once, before its trial, and store it with the date, so that no result can affect it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lab.base.meaning import fingerprint
from lab.base.writing import write
from lab.errors import MachineError
from lab.guest.trial import Trial, canonical
from lab.record.date import is_possible, now
from lab.record.reading import files_below, regular
from lab.record.record import Fault
from lab.spec.case import Case
from lab.spec.prediction import Prediction
from lab.spec.shipped import PACKAGE
from lab.units import Value
from lab.verdict.forecast import Forecast
from lab.verdict.mark import is_altered, is_ours, mark

if TYPE_CHECKING:
    from lab.model import Scenario

_HASH = re.compile("[0-9a-f]{64}")
_MOST = 256  # the most predictions of a case that `merge` takes: of its file's versions, its kernels, models and laws
_MOST_BYTES = 16 << 10  # of one prediction
_SHOWN = 100  # characters of a shown reason


@dataclass(frozen=True)
class Predictions:
    """Stores the predictions of one experiment file for one kernel in `folder`, one file for each computed prediction.

    The experiment's code, the arm, the point, the function's name, the kernel's id and the scenario together decide a
    prediction's folder. In the folder, each model has a file with its figure and the date. The file is named after the
    hash of the model's code. Nothing is stored if `folder` is None or read-only. Predictions from another machine, and
    altered predictions, are recomputed. If the model gives the same figure, the prediction keeps its date; otherwise,
    it gets today's date, and the forecast holds the old prediction.
    """

    folder: Path | None
    source_sha256: str
    kernel: str

    def of(self, case: Case, prediction: Prediction, scenario: Scenario) -> Forecast:
        """Return the case's prediction, or the law's prediction for the same figure, for this scenario, with its date.

        The date is the date of the earliest model with an equal figure, because a figure that did not change was not
        chosen later. Raises the errors of the prediction, except ModelError.
        """
        if self.folder is None:
            return Forecast(**_figure(_made(prediction, scenario)))
        place = self.folder / self._key(case, prediction, scenario)
        file = place / f"{model_hash()}.json"
        kept = _read(file)
        if kept is None or not is_ours(file, kept):
            kept = mark(file, self._described(case, prediction) | _compared(kept, _made(prediction, scenario)))
            _write(file, kept)
        same = (
            other["made"] for other in map(_read, place.glob("*.json")) if other and _figure(other) == _figure(kept)
        )
        return Forecast(**_figure(kept), instead=kept.get("instead", ""), made=min(same, default=kept["made"]))

    def _key(self, case: Case, prediction: Prediction, scenario: Scenario) -> str:
        decided = [self.source_sha256, case.claim, *case.key, prediction.name, self.kernel, repr(scenario)]
        return hashlib.sha256(canonical(decided)).hexdigest()

    def _described(self, case: Case, prediction: Prediction) -> dict[str, str]:
        """Return a description of the prediction for a reader of the file."""
        about = {"claim": case.claim, "arm": case.arm, "point": case.point, "prediction": prediction.name}
        return about | {"kernel": self.kernel, "model": model_hash()}


class _Kept(msgspec.Struct, frozen=True):
    """Holds the required contents of a file. The rest is only for human readers."""

    made: str
    figure: _Figure | None
    why_not: str
    claim: str
    arm: str
    point: str
    instead: str = ""


class _Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the required contents of a figure."""

    number: float
    unit: str
    low: float | None
    high: float | None


def merge(theirs: Path, ours: Path, trials: Iterable[Trial]) -> None:
    """Add these trials' predictions from the folder `theirs` to the folder `ours`, up to a limit for each case.

    If both folders have the same prediction, the older date stands, unless only the one in `ours` comes from this
    machine.
    """
    left = {(trial.claim, trial.arm, trial.point): _MOST for trial in trials}
    for source in _kept_in(theirs):
        target, other = ours / source.relative_to(theirs), _read(source)
        if other is None or not left.get(about := (other["claim"], other["arm"], other["point"])):
            continue
        left[about] -= 1
        kept = _read(target)
        is_older = kept is not None and _figure(kept) == _figure(other) and other["made"] < kept["made"]
        if kept is None or (is_older and (is_ours(source, other) or not is_ours(target, kept))):
            _write(target, other)


def faults(folder: Path) -> Iterator[Fault]:
    """Yield the faults in a folder of predictions: foreign files, and altered predictions."""
    known = {file.relative_to(folder).as_posix(): file for file in _kept_in(folder)}
    for name in sorted(files_below(folder)) if folder.is_dir() else ():
        kept = _read(folder / name) if name in known else None
        if name not in known:
            yield Fault(name, "is not a prediction")
        elif kept is None:
            yield Fault(name, "cannot be read, or its date is not possible")
        elif is_altered(known[name], kept):
            yield Fault(name, "was altered")
        elif kept.get("instead"):
            yield Fault(name, f"differs from the model's figure, and was: {kept['instead']}")


def _kept_in(folder: Path) -> list[Path]:
    """Return the files that have the names of predictions, in order."""
    places = [place for place in folder.glob("*") if _HASH.fullmatch(place.name) and not place.is_symlink()]
    return sorted(file for place in places for file in place.glob("*.json") if _HASH.fullmatch(file.stem))


@dataclass(frozen=True)
class Kept:
    """Identifies the stored predictions of one case."""

    folder: Path
    files: frozenset[str]  # those that can be read
    about: str  # claim, arm and point


def kept_for(folder: Path, claims: Collection[str]) -> Iterator[Kept]:
    """Yield the predictions in `folder` for these claims, except damaged predictions, which are recomputed later."""
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


def _compared(kept: dict[str, Any] | None, fresh: dict[str, Any]) -> dict[str, Any]:
    """Return the fresh prediction.

    A fresh prediction that equals the stored prediction gets the stored date. Otherwise, it also holds the stored
    prediction.
    """
    if kept is None:
        return fresh
    if _figure(kept) == _figure(fresh):
        return fresh | {"made": kept["made"]} | ({"instead": kept["instead"]} if kept.get("instead") else {})
    value = _figure(kept)["value"]
    return fresh | {"instead": f"{value or kept['why_not'][:_SHOWN]}, of {kept['made'][:10]}"}


@cache
def model_hash() -> str:
    """Return a SHA-256 over all code that a prediction may use, without comments."""
    return fingerprint({file.name: file.read_bytes() for file in _sources()})


def _sources() -> Iterator[Path]:
    models = PACKAGE / "model"
    yield from sorted([*models.glob("*.py"), *PACKAGE.glob("ext/*/model/*.py")])
    yield from (PACKAGE / "units.py", PACKAGE / "base" / "ethernet.py")


def _read(file: Path) -> dict[str, Any] | None:
    """Return the contents of a file, or None if it is unreadable or invalid, in which case the prediction is
    recomputed.
    """
    try:
        kept: dict[str, Any] = msgspec.json.decode(regular(file, _MOST_BYTES))  # msgspec accepts no infinite numbers
        msgspec.convert(kept, _Kept)
        _figure(kept)
        if not is_possible(kept["made"]):
            return None
    except (OSError, ValueError, RecursionError):  # also those of msgspec and of units
        return None
    return kept


def _write(file: Path, kept: dict[str, Any]) -> None:
    with suppress(MachineError):  # the store may be read-only
        write(json.dumps(kept), file)
