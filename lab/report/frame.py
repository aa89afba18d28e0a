"""Make a table of claims' figures with one row for each trial, so one for each seed, for polars, pandas and R."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from lab.errors import InputError
from lab.metric import table as arrow
from lab.record.record import Record, by_case
from lab.report.tested import TestedClaim
from lab.units import Value
from lab.verdict import Result
from lab.verdict.repeats import faults
from lab.verdict.sample import independent

CSV = ".csv"
COLUMNS: Mapping[str, str] = {  # the name of each column, and its type in Arrow; a missing number is null
    "claim": "string",
    "arm": "string",
    "point": "string",
    "part": "string",
    "figure": "string",  # its name in a study with several figures, else ""
    "kernel": "string",  # that the trial ran on
    "clock": "string",
    "seed": "uint64",
    "repeat": "uint32",
    "value": "float64",  # of this trial, in `unit`; in a relative arm, the ratio to the other arm's with this seed
    "low": "float64",  # bounds that the machine's other work causes, in real time; else the figure
    "high": "float64",
    "unit": "string",
    "claimed": "float64",
    "predicted": "float64",
    "law": "float64",
    "measured": "float64",  # of the whole case
    "verdict": "string",  # on the case
    "valid": "bool_",
    "why_invalid": "string",
    "trial": "string",  # its address
}


def rows(claims: Iterable[TestedClaim]) -> Iterator[dict[str, Any]]:
    """Yield a row for each trial: the claims in their order, then the cases, the seeds and the repeats.

    In virtual time, all repeats of a seed are the same, and have one row. A study's trial has a row for each of
    its figures. A missing number is None. A row's value is missing if too few trials of its case are valid, or the
    trial is not.
    """
    for claim in claims:
        for result, record in _trials(claim):
            yield _row(claim.id, result, record)


def table(claims: Iterable[TestedClaim]) -> Any:
    """Return the rows as a pyarrow.Table. Raises MachineError if pyarrow is missing."""
    module = arrow.pyarrow()
    schema = module.schema([(name, getattr(module, kind)()) for name, kind in COLUMNS.items()])
    return module.Table.from_pylist(list(rows(claims)), schema=schema)


def write(claims: Iterable[TestedClaim], path: Path) -> int:
    """Write the rows as CSV, Parquet or Arrow, depending on the file's suffix, and return their number.

    CSV has an empty field for a missing number. Raises InputError for any other suffix, MachineError if pyarrow is
    missing (not for CSV), and OSError if the write fails.
    """
    check(path)
    if path.suffix == CSV:
        with path.open("w", encoding="utf-8", newline="") as file:
            return _write_csv(claims, file)
    return arrow.save(table(claims).to_reader(), path)


def check(path: Path) -> None:
    """Raise InputError if the file's suffix names no format."""
    if path.suffix not in (CSV, *arrow.FORMATS):
        raise InputError(f"{path} has another format; write a file that ends in {CSV}, {' or '.join(arrow.FORMATS)}")


def _write_csv(claims: Iterable[TestedClaim], file: TextIO) -> int:
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    found = list(rows(claims))
    writer.writerows(found)
    return len(found)


def _trials(claim: TestedClaim) -> Iterator[tuple[Result, Record]]:
    found = by_case(claim.records)
    for result in claim.results:
        for record in independent(found.get(result.key, ())):
            yield result, record


def _row(claim: str, result: Result, record: Record) -> dict[str, Any]:
    trial, figure, why = record.trial, result.sample.figure_of(record), faults(record)
    claimed = result.claimed.value if result.claimed else None
    return {
        "claim": claim,
        "arm": trial.arm,
        "point": trial.point,
        "part": result.claimed.part if result.claimed else "",
        "figure": result.figure,
        "kernel": trial.kernel.get("name", ""),
        "clock": trial.clock,
        "seed": trial.seed,
        "repeat": trial.repeat,
        "value": _number(figure),
        "low": figure.bounds[0] if figure else None,
        "high": figure.bounds[1] if figure else None,
        "unit": result.unit or "",
        "claimed": _number(claimed),
        "predicted": _number(result.predicted),
        "law": _number(result.law),
        "measured": _number(result.measured),
        "verdict": result.verdict.kind if result.verdict else "",
        "valid": not why,
        "why_invalid": "; ".join(why),
        "trial": record.address,
    }


def _number(value: Value | None) -> float | None:
    return None if value is None else value.number
