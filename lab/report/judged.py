"""Claims judged by records: those that `lab run` has just got, or those that a store holds.

What an experiment declares comes as an object (`Declared`), so that pages need no experiment file to be found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from lab.model import ModelError
from lab.model.path import Path as NetworkPath
from lab.record import Record, RecordError, canonical
from lab.units import Value, to_plain
from lab.verdict import ClaimResult, Verdict, evaluate
from lab.verdict.claim import Case as Judgeable

__all__ = ["Article", "Case", "Declared", "Judged", "judge", "network_path", "stored"]

_NOTHING: Mapping[tuple[str, str], Verdict] = MappingProxyType({})


class Case(Judgeable, Protocol):
    """One arm at one point, as `lab.spec.load.Case` has it."""

    @property
    def value(self) -> Value | None: ...  # noqa: D102
    @property
    def network(self) -> Any: ...  # noqa: D102
    @property
    def workload(self) -> Any: ...  # noqa: D102
    @property
    def probes(self) -> Sequence[Any]: ...  # noqa: D102
    @property
    def path(self) -> tuple[str, str]: ...  # noqa: D102
    @property
    def tolerance(self) -> Any: ...  # noqa: D102


class Article(Protocol):
    """As `lab.spec.article.Article` has it."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def author(self) -> str: ...  # noqa: D102
    @property
    def date(self) -> str: ...  # noqa: D102
    @property
    def url(self) -> str: ...  # noqa: D102


class Declared(Protocol):
    """An experiment file, as `lab.spec.load.Loaded` has it."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def article(self) -> Article: ...  # noqa: D102
    @property
    def claim(self) -> str: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def source_sha256(self) -> str: ...  # noqa: D102
    @property
    def experiment(self) -> Any: ...  # noqa: D102
    def cases(self) -> Sequence[Case]: ...  # noqa: D102


@dataclass(frozen=True)
class Judged:
    """A claim, its result, and the records that it rests on. `kernel` as a trial describes it; None: no record."""

    declared: Declared
    cases: tuple[Case, ...]
    result: ClaimResult
    records: tuple[Record, ...]
    kernel: Mapping[str, Any] | None


def judge(
    cases: Sequence[Case],
    records: Iterable[Record],
    kernel: Mapping[str, Any] | None,
    clock: str,
    without: Mapping[tuple[str, str], Verdict] = _NOTHING,
) -> ClaimResult:
    """The result of one claim on one kernel, described as in a trial.

    `without` says what becomes of a case (arm, point) that has no record. In virtual time the repeats of a trial must
    not differ by a byte: a case whose do is invalid.
    """
    by_case: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        by_case.setdefault((record.trial.arm, record.trial.point), []).append(record)
    differing = {name for name, repeats in by_case.items() if clock == "virtual" and _differ(repeats)}
    chaos = Verdict("invalid", "the repeats of one trial differ: this kernel is not deterministic")
    return evaluate(
        cases,
        [record for name, repeats in by_case.items() if name not in differing for record in repeats],
        lambda case: network_path(case, kernel),
        kernel["name"] if kernel else "",
        clock,
        {**without, **dict.fromkeys(differing, chaos)},
    )


def network_path(case: Case, kernel: Mapping[str, Any] | None) -> NetworkPath:
    """What the prediction of a case is about. Raises ModelError without a kernel, InputError without a path."""
    if kernel is None:
        raise ModelError("nothing was run, so there is no kernel to predict for")
    return NetworkPath.of(to_plain(case.network), *case.path, kernel, to_plain(case.workload))


def stored(experiments: Iterable[Declared], records: Iterable[Record]) -> tuple[Judged, ...]:
    """The claims judged by these records, as far as they are of the experiments as they stand.

    Of several kernels the newest counts, of several seeds the lowest (1 is the default), of several records of one
    trial the last one.
    """
    by_claim: dict[str, list[Record]] = {}
    for record in records:
        try:
            by_claim.setdefault(record.trial.claim, []).append(record)
        except RecordError:
            continue  # nothing says whose it is: its trial counts as not run
    return tuple(_judged(declared, by_claim.get(declared.id, ())) for declared in experiments)


def _judged(declared: Declared, records: Iterable[Record]) -> Judged:
    cases = tuple(declared.cases())
    chosen = _chosen(_current(declared, cases, records))
    trial = chosen[0].trial if chosen else None
    todo = Verdict("skipped", f"not run (run `lab run {declared.id}`)")
    missing = {(case.arm, case.point): todo for case in cases}
    kernel = trial.kernel if trial else None
    result = judge(cases, chosen, kernel, trial.clock if trial else "virtual", missing)
    return Judged(declared, cases, result, chosen, kernel)


def _current(declared: Declared, cases: Sequence[Case], records: Iterable[Record]) -> list[Record]:
    """Those whose trial is one of these cases, unchanged."""
    wanted = {(case.arm, case.point): canonical([case.network, case.workload, list(case.probes)]) for case in cases}
    return [
        record
        for record in records
        for trial in [record.trial]
        if trial.source_sha256 == declared.source_sha256
        and wanted.get((trial.arm, trial.point)) == canonical([trial.network, trial.workload, trial.probes])
    ]


def _chosen(records: Sequence[Record]) -> tuple[Record, ...]:
    """Of one kernel, clock and seed; of each trial of it the last record."""
    if not records:
        return ()
    best = _setting(max(records, key=_rank))
    last: dict[tuple[str, str, int], Record] = {}
    for record in sorted(records, key=_age):
        if _setting(record) == best:
            last[record.trial.arm, record.trial.point, record.trial.repeat] = record
    return tuple(last.values())


def _setting(record: Record) -> tuple[str, str, str, int]:
    trial = record.trial
    return trial.kernel.get("id", ""), trial.on, trial.clock, trial.seed


def _rank(record: Record) -> tuple[bool, bool, list[int], int, tuple[float, str]]:
    """The higher, the likelier what a reader means: virtual time, no patches, the newest version, the lowest seed."""
    kernel = record.trial.kernel
    version = [int(number) for number in re.findall(r"\d+", kernel.get("version", ""))]
    virtual = record.trial.clock == "virtual"
    return virtual, not kernel.get("patches"), version, -record.trial.seed, _age(record)


def _age(record: Record) -> tuple[float, str]:
    return record.folder.stat().st_mtime, record.address


def _differ(repeats: Sequence[Record]) -> bool:
    return len({tuple(sorted((name, each.sha256) for name, each in record.outputs.items())) for record in repeats}) > 1
