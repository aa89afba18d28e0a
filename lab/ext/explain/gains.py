"""Read what it is worth to undo each limit of a rebuilt transfer, from the trials that `lab run` left in the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.app import stored
from lab.app.options import Folder
from lab.errors import InputError
from lab.ext.explain.explaining import Explained, Explanation
from lab.ext.explain.files import CHECK, GAINS, GOODPUT, ROUND_TRIP, RebuiltFrom, source_of
from lab.ext.explain.limits import MEANING
from lab.ext.explain.opening import digest
from lab.report.claims import Claims
from lab.report.wording import figure
from lab.units import Value

WORTH = 1.02  # times the goodput: less is within the few per cent by which the seeds' paths differ


@dataclass(frozen=True)
class Gain:
    """Holds what one change is worth: factors of goodput and round trip, with intervals; None without a figure."""

    change: str
    goodput: Value | None
    round_trip: Value | None


@dataclass(frozen=True)
class Gains:
    """Holds how near a rebuilt transfer comes to the original, and what undoing each limit is worth."""

    verdict: str  # on the rebuilt transfer, as `lab run` prints it
    near: tuple[tuple[str, Value | None, Value | None], ...]  # figure, original, rebuilt
    gains: tuple[Gain, ...]
    source: RebuiltFrom  # the connection that was rebuilt

    @property
    def best(self) -> Gain | None:
        """Return the change with the largest certain gain of goodput, or None if no change has one."""
        worth = [each for each in self.gains if _least(each.goodput) >= WORTH]
        return max(worth, key=lambda each: _least(each.goodput), default=None)

    def plain(self) -> dict[str, Any]:
        """Return the gains as plain data for JSON: factors, each with its interval or null."""
        return {
            "connection": self.source.connection,
            "verdict": self.verdict,
            "near": [
                {"figure": name, "original": _number(original), "rebuilt": _number(rebuilt)}
                for name, original, rebuilt in self.near
            ],
            "changes": [
                {"change": each.change, "goodput": _plain(each.goodput), "round_trip": _plain(each.round_trip)}
                for each in self.gains
            ],
        }


def _number(value: Value | None) -> float | None:
    return None if value is None else value.number


def _plain(value: Value | None) -> dict[str, float | None] | None:
    return None if value is None else {"factor": value.number, "low": value.low, "high": value.high}


def _least(value: Value | None) -> float:
    if value is None:
        return 0.0
    return value.number if value.low is None else value.low


def read(folder: Path, results: Folder = None) -> Gains:
    """Return the gains of a rebuilt transfer from its folder, judged from the records in `results`.

    Raises InputError if the folder is no rebuilt transfer or was not run, and SpecError for mistakes in its files.
    """
    source = source_of(folder)
    found = stored.load(folder, results=results)
    names = {claim.name for claim in found}
    if not {CHECK, GAINS} <= names:
        raise InputError(f"{folder} is no rebuilt transfer; write one with `lab explain FILE --rebuild DIR`")
    if not found[GAINS].records:
        raise InputError(f"{folder} was not run; run `lab run {folder}` first")
    return _read(found, source)


def _read(found: Claims, source: RebuiltFrom) -> Gains:
    check, study = found[CHECK], found[GAINS]
    near = tuple((each.case.title, each.claimed, each.result.measured) for each in check.tested)
    gains: dict[str, dict[str, Value | None]] = {}
    for each in study.tested:
        if each.case.relative_to:
            gains.setdefault(each.case.title, {})[each.case.figure] = each.result.measured
    return Gains(
        check.verdict.kind,
        near,
        tuple(Gain(change, of.get(GOODPUT), of.get(ROUND_TRIP)) for change, of in gains.items()),
        source,
    )


def rows(found: Gains) -> list[tuple[str, str, str]]:
    """Return a row for each change, the largest gain first: the change, and the factors with their intervals."""
    ordered = sorted(found.gains, key=lambda each: -(each.goodput.number if each.goodput else 0))
    return [(each.change, _factor(each.goodput), _factor(each.round_trip)) for each in ordered]


def _factor(value: Value | None) -> str:
    if value is None:
        return "-"
    text = f"{value.number:.2f}×"
    return text if value.low is None or value.high is None else f"{text} ({value.low:.2f} to {value.high:.2f})"


def compared(found: Gains) -> str:
    """Return how near the rebuilt transfer comes to the original."""
    said = [f"{name} {figure(rebuilt)} instead of {figure(original)}" for name, original, rebuilt in found.near]
    return f"The rebuilt transfer of connection {found.source.connection} has {', '.join(said)} ({found.verdict})."


def sentence(each: Explanation, found: Gains | None) -> str:
    """Return the sentence that an operator needs: the largest limit, and the change that is worth most."""
    limit, percent = next(iter(each.percents.items()))
    said = f"For {percent} % of the time, {MEANING[limit]}."
    if found is None:
        return said
    best = found.best
    if best is None:
        return f"{said} No single change carries {100 * WORTH - 100:.0f} % more."
    return f"{said} The largest gain: {best.change}, {_factor(best.goodput)} of the goodput."


def transfer_of(found: Explained, gains: Gains) -> Explanation:
    """Return the connection that was rebuilt. Raises InputError if it is not among the explained ones."""
    number = gains.source.connection
    for each in found.connections:
        if each.number == number and each.facts:
            return each
    raise InputError(f"the gains are those of connection {number}, which is not explained; choose --flow {number}")


def check_capture(gains: Gains, capture: Path) -> None:
    """Raise InputError if `capture` is not the one with the rebuilt transfer."""
    if digest(capture) != gains.source.sha256:
        raise InputError(f"{capture} is not the capture whose transfer was rebuilt; name that one, or rebuild this one")
