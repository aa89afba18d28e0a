"""Compare two judgements of the same claims, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from lab.comparison.captures import PacketChange, captured, together
from lab.comparison.identity import ByteDifference, byte_differences
from lab.comparison.statistics import MannWhitney, mann_whitney
from lab.errors import LabError
from lab.record import Record
from lab.spec.case import Case, CaseKey
from lab.verdict import Result, Verdict
from lab.verdict.judged import JudgedClaim
from lab.verdict.repeats import spoilt

__all__ = ["MOVED", "CaseChange", "Change", "ClaimChange", "Incomparable", "compare"]

MOVED = 0.005  # the relative accuracy of the models: a smaller step is no change of a claim

Change = Literal["identical", "same packets", "same figures", "moved", "regressed", "undecided"]


class Incomparable(LabError):
    """Two records are not of the same trial: another experiment, network or seed."""


@dataclass(frozen=True)
class CaseChange:
    """Compare one arm at one point, then and now."""

    base: Result
    new: Result
    identical: bool
    files: tuple[ByteDifference, ...]  # outputs that differ, each where it first does in one of the trials
    packets: PacketChange  # in virtual time, what the captures say
    real_time: bool = False
    shift: MannWhitney | None = None  # in real time, all repeats' figures against the base's; None: nothing to compare

    @property
    def has_same_packets(self) -> bool:
        """Say whether a capture shows that no packet differs, and the figure is exactly the same."""
        return self.packets.said in ("identical", "same") and self.base.measured == self.new.measured

    @property
    def is_skipped(self) -> bool:
        """Say whether neither side ran it, because the kernel's variant is missing, say: nothing of it was compared."""
        verdicts = [result.verdict for result in (self.base, self.new)]
        ran = self.identical or self.files
        return not ran and all(verdict and verdict.kind == "skipped" for verdict in verdicts)

    @property
    def ratio(self) -> float | None:
        """Return the measured figures' ratio, new over base; None when there is none."""
        then, now = self.base.measured, self.new.measured
        if then is None or now is None:
            return None
        if then.number == now.number:
            return 1.0
        return now.number / then.number if then.number else None

    @property
    def moved(self) -> bool:
        """Say whether the figure differs by more than the models' accuracy and than chance; a lost figure counts.

        A case that one side skipped was not compared: its kernel's variant was not built, say.
        """
        if any(result.verdict and result.verdict.kind == "skipped" for result in (self.base, self.new)):
            return False
        if (self.base.measured is None) != (self.new.measured is None):
            return True
        if self.base.measured == self.new.measured or self.is_chance:
            return False
        ratio = self.ratio
        return ratio is None or abs(ratio - 1) > MOVED

    @property
    def is_spoilt(self) -> bool:
        """Say whether the machine was too slow on either side: in real time, that says nothing about a kernel."""
        verdicts = [result.verdict for result in (self.base, self.new)]
        return self.real_time and any(verdict and verdict.kind == "invalid" for verdict in verdicts)

    @property
    def is_judged_anew(self) -> bool:
        """Say whether the case's own verdict differs: a small step may cross the tolerance's bound."""
        then, now = self.base.verdict, self.new.verdict
        return then is not None and now is not None and then.kind != now.kind and "skipped" not in (then.kind, now.kind)

    @property
    def is_chance(self) -> bool:
        """Say whether real-time figures differ between the two by no more than among themselves."""
        return self.shift is not None and not self.shift.significant

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        figures = {
            name: result.measured.number if result.measured else None
            for name, result in (("base", self.base), ("new", self.new))
        }
        where = self.packets.divergence
        divergence = (
            {
                "capture": self.packets.capture,
                "packet": where.number,
                "what": where.what,
                "base": where.base,
                "new": where.new,
            }
            if where
            else None
        )
        return {
            "arm": self.new.arm,
            "point": self.new.point,
            **figures,
            "unit": self.new.unit or self.base.unit,
            "ratio": self.ratio,
            "moved": self.moved,
            "identical": self.identical,
            "packets": self.packets.said,
            "divergence": divergence,
            "files": [each.plain() for each in self.files],
            "p": self.shift.p if self.shift else None,
            "effect": self.shift.effect if self.shift else None,
        }


@dataclass(frozen=True)
class ClaimChange:
    """Compare a claim, then and now."""

    claim: str
    expected: str  # the verdict that the experiment expects
    kernels: tuple[str, str]  # their names
    base: Verdict
    new: Verdict
    cases: tuple[CaseChange, ...]

    @property
    def change(self) -> Change:
        """Sum up in one word what changed.

        `regressed`: the verdict was the expected one and is not now. `moved`: a figure differs. `undecided`: nothing in
        virtual time changed, and in real time the machine was too slow to tell. `identical`: no byte differs. `same
        packets`: bytes differ, but packets in no trial. What neither side ran does not count.
        """
        counted = [case for case in self.cases if not case.real_time]
        if any(case.is_spoilt for case in self.cases) and not any(
            case.moved or case.is_judged_anew for case in counted
        ):
            return "undecided"
        compared = self.base.kind != self.new.kind and "skipped" not in (self.base.kind, self.new.kind)
        another = compared and not all(case.is_chance for case in self.cases)
        if another and self.base.kind == self.expected:
            return "regressed"
        if another or any(case.moved for case in self.cases):
            return "moved"
        ran = [case for case in self.cases if not case.is_skipped]
        if all(case.identical for case in ran):
            return "identical"
        return "same packets" if all(case.identical or case.has_same_packets for case in ran) else "same figures"

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {
            "claim": self.claim,
            "change": self.change,
            "expected": self.expected,
            "base": {"kernel": self.kernels[0], "verdict": self.base.kind, "reason": self.base.reason},
            "new": {"kernel": self.kernels[1], "verdict": self.new.kind, "reason": self.new.reason},
            "cases": [case.plain() for case in self.cases],
        }


def compare(base: Iterable[JudgedClaim], new: Iterable[JudgedClaim]) -> tuple[ClaimChange, ...]:
    """Say what changed in every claim that both sides have run. Raises Incomparable, RecordError, CaptureError."""
    then = {judged.declared.id: judged for judged in base if judged.records}
    return tuple(
        _claim(then[judged.declared.id], judged) for judged in new if judged.records and judged.declared.id in then
    )


def _claim(base: JudgedClaim, new: JudgedClaim) -> ClaimChange:
    _check(base, new)
    return ClaimChange(
        claim=new.declared.id,
        expected=new.declared.experiment.expect,
        kernels=(_kernel(base), _kernel(new)),
        base=base.result.verdict,
        new=new.result.verdict,
        cases=tuple(_cases(base, new)),
    )


def _check(base: JudgedClaim, new: JudgedClaim) -> None:
    """Make sure that trials differ only in their kernel and in what follows from it. Raises Incomparable otherwise."""
    if base.declared.source_sha256 != new.declared.source_sha256:
        raise Incomparable(f"{new.declared.id}: the experiment changed in between: run both with the same file")
    then = {_name(record): record for record in base.records}
    for record in new.records:
        other = then.get(_name(record))
        for what in ("network", "workload", "probes", "middleboxes", "clock") if other else ():
            if getattr(record.trial, what) != getattr(other.trial, what):  # type: ignore[union-attr]
                raise Incomparable(f"{new.declared.id}: {record.trial.arm} ran with another {what}")
    if then and not then.keys() & {_name(record) for record in new.records}:
        raise Incomparable(f"{new.declared.id}: no trial in common: was it run with another seed?")


def _cases(base: JudgedClaim, new: JudgedClaim) -> Iterator[CaseChange]:
    before = {result.key: result for result in base.result.results}
    for result in new.result.results:
        key = result.key
        pairs = _pairs(base.records, new.records, key)
        real_time = any(record.trial.clock == "real" for _, record in pairs)
        yield CaseChange(
            base=before[key],
            new=result,
            identical=bool(pairs) and all(first.outputs == second.outputs for first, second in pairs),
            files=_files(pairs),
            packets=together(captured(*pair) for pair in pairs),
            real_time=real_time,
            shift=_shift(base, new, key),
        )


def _files(pairs: Iterable[tuple[Record, Record]]) -> tuple[ByteDifference, ...]:
    """List every output that differs in one of the trials, by name, with where it differs in the first of them."""
    found: dict[str, ByteDifference] = {}
    for pair in pairs:
        for each in byte_differences(*pair):
            found.setdefault(each.output, each)
    return tuple(found[name] for name in sorted(found))


def _shift(base: JudgedClaim, new: JudgedClaim, key: CaseKey) -> MannWhitney | None:
    """Test a case in real time; return None in virtual time, or when one side has no figures."""
    clocks = {record.trial.clock for record in new.records if record.trial.key == key}
    if "virtual" in clocks:
        return None
    samples = [_sample(judged, key) for judged in (base, new)]
    return mann_whitney(*samples) if all(samples) else None


def _sample(judged: JudgedClaim, key: CaseKey) -> list[float]:
    """Return the figure of every valid trial of a case.

    When the case is relative to another, each is divided by the other's figure of the same repeat.
    """
    case = next(each for each in judged.cases if each.key == key)
    figures = _figures(judged, case)
    if not case.relative_to:
        return list(figures.values())
    others = _figures(judged, next(each for each in judged.cases if each.key == CaseKey(case.relative_to, key.point)))
    return [figures[which] / others[which] for which in figures.keys() & others.keys() if others[which]]


def _figures(judged: JudgedClaim, case: Case) -> dict[tuple[int, int], float]:
    """Return (seed, repeat) -> what a case's metric says of each trial that counts, when it says something."""
    figures = {}
    for record in judged.records:
        if record.trial.key == case.key and not spoilt(record):
            with suppress(LabError):  # the verdict says it
                figures[record.trial.seed, record.trial.repeat] = case.metric(record).number
    return figures


def _pairs(base: Sequence[Record], new: Sequence[Record], key: CaseKey) -> list[tuple[Record, Record]]:
    then = {_name(record): record for record in base}
    return [(then[_name(record)], record) for record in new if record.trial.key == key and _name(record) in then]


def _name(record: Record) -> tuple[CaseKey, int, int]:
    trial = record.trial
    return trial.key, trial.seed, trial.repeat


def _kernel(judged: JudgedClaim) -> str:
    kernel = judged.kernel or {}
    return f"{kernel.get('name', '')} ({kernel.get('version', '')}, id {str(kernel.get('id', ''))[:8]})"
