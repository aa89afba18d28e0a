"""Make each prediction once: a transfer is played ACK by ACK, and a page should not play it again to show it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import lab.model
from lab.meaning import meaning
from lab.model import ModelError
from lab.model.path import Path as NetworkPath
from lab.prediction import Prediction
from lab.record import canonical
from lab.spec.case import Case
from lab.units import Value

__all__ = ["Predictions"]


@dataclass(frozen=True)
class Predictions:
    """Predictions of one experiment file are kept in `folder`, under the hash of all that decides them.

    That is the model's own code, the experiment's, the arm, the point, the function's name, and the path. Nothing is
    kept if `folder` is None or cannot be written.
    """

    folder: Path | None
    source_sha256: str

    def of(self, case: Case, prediction: Prediction, path: NetworkPath) -> Value:
        """Return the figure for this path, of the case's prediction or of the law beside it.

        Raises ModelError, and whatever else the prediction raises.
        """
        if self.folder is None:
            return prediction(path)
        file = self.folder / self._key(case, prediction, path)
        kept = _read(file)
        if kept is None:
            try:
                kept = _plain(prediction(path))
            except ModelError as error:
                kept = {"error": str(error)}
            _write(file, kept)
        if "error" in kept:
            raise ModelError(kept["error"])
        return Value(**kept)

    def _key(self, case: Case, prediction: Prediction, path: NetworkPath) -> str:
        decided = [_models(), self.source_sha256, case.claim, *case.key, prediction.name, repr(path)]
        return hashlib.sha256(canonical(decided)).hexdigest()


@cache
def _models() -> str:
    """Return the SHA-256 of what all code means that a prediction may use."""
    total = hashlib.sha256()
    for file in _sources():
        total.update(file.name.encode() + b"\0" + meaning(file.read_bytes()) + b"\0")
    return total.hexdigest()


def _sources() -> Iterator[Path]:
    models = Path(lab.model.__file__).parent
    yield from sorted(models.glob("*.py"))
    yield models.parent / "units.py"


def _plain(value: Value) -> dict[str, Any]:
    return {"number": value.number, "unit": value.unit, "low": value.low, "high": value.high}


def _read(file: Path) -> dict[str, Any] | None:
    try:
        kept = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) else None


def _write(file: Path, kept: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent, delete=False) as fresh:
            json.dump(kept, fresh)
        Path(fresh.name).replace(file)
