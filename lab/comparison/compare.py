"""Compare two judgements of the same claims, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from lab.comparison.captures import PacketChange, captured, together
from lab.comparison.identity import ByteDifference, byte_differences
from lab.comparison.shift import Shift, corrected
from lab.errors import LabError
from lab.record.record import Record
from lab.spec.case import CaseKey
from lab.verdict import Result, Verdict
from lab.verdict.judged import JudgedClaim

__all__ = ["INTEREST", "CaseChange", "Change", "ClaimChange", "Incomparable", "compare"]

INTEREST = 0.005  # the smallest relative change of a figure that matters, unless another is declared

# From what weighs most to nothing. Only a claim has a changed verdict.
Change = Literal[
    "verdict changed",
    "figure moved",
    "undecided",
    "cannot tell",
    "packets differ",
    "same figures",
    "same packets",
    "identical",
]


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
    is_apart: bool = (
        False  # in real time: whether the two sides ran at different times, so the machine may have drifted
    )
    is_chance: bool = False  # whether another draw (a repeat in real time, a seed) gives another figure
    shift: Shift | None = None  # where chance has a part, both samples compared; None: there is nothing to compare
    interest: float = INTEREST

    @property
    def change(self) -> Change:
        """Say in a few words what changed in this case. A claim's verdict is another matter."""
        if self.identical:
            return "identical"
        if self.is_spoilt:
            return "undecided"
        if any(result.verdict and result.verdict.kind == "skipped" for result in (self.base, self.new)):
            return "cannot tell"  # one side did not run it: its kernel's variant is missing, say
        if (self.base.measured is None) != (self.new.measured is None):
            return "figure moved"
        if not self.was_compared:
            return "cannot tell"
        if self.has_same_packets:
            return "same packets"
        decision = self.shift.decide(self.interest) if self.shift else "same figures"
        if decision != "same figures":
            return decision
        if not self.is_chance and self._is_far:
            return "figure moved"
        return "packets differ" if self.packets.said == "differ" else "same figures"

    @property
    def has_same_packets(self) -> bool:
        """Say whether a capture shows that no packet differs, and the figure is exactly the same."""
        return self.packets.said in ("identical", "same") and self.base.measured == self.new.measured

    @property
    def was_compared(self) -> bool:
        """Say whether both sides have a record of the same trial."""
        return self.identical or bool(self.files or self.packets.said)

    @property
    def is_skipped(self) -> bool:
        """Say whether neither side ran it, because the kernel's variant is missing, say."""
        verdicts = [result.verdict for result in (self.base, self.new)]
        return not self.was_compared and all(verdict and verdict.kind == "skipped" for verdict in verdicts)

    @property
    def ratio(self) -> float | None:
        """Return the figures' ratio, new over base, by the estimator that suits; None when there is none."""
        if self.shift:
            return self.shift.ratio.number if self.shift.ratio else None
        then, now = self.base.measured, self.new.measured
        if then is None or now is None:
            return None
        if then.number == now.number:
            return 1.0
        return now.number / then.number if then.number else None

    @property
    def is_spoilt(self) -> bool:
        """Say whether the machine was too slow on either side: in real time, that says nothing about a kernel."""
        verdicts = [result.verdict for result in (self.base, self.new)]
        return self.real_time and any(verdict and verdict.kind == "invalid" for verdict in verdicts)

    @property
    def is_judged_anew(self) -> bool:
        """Say whether the case's own verdict differs by more than chance: a small step may cross a bound."""
        then, now = self.base.verdict, self.new.verdict
        if then is None or now is None or then.kind == now.kind or "skipped" in (then.kind, now.kind):
            return False
        return not self.is_spoilt and (self.shift is None or self.shift.is_significant)

    @property
    def _is_far(self) -> bool:
        """Say whether the exact figures differ by more than what matters."""
        return self.base.measured != self.new.measured and (self.ratio is None or abs(self.ratio - 1) > self.interest)

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        sides = {"base": self.base, "new": self.new}
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
            "change": self.change,
            **{side: result.measured.number if result.measured else None for side, result in sides.items()},
            "unit": self.new.unit or self.base.unit,
            "ratio": self.ratio,
            "intervals": {side: _interval(result) for side, result in sides.items()},
            "chance": self.is_chance,
            "shift": self.shift.plain() if self.shift else None,
            "apart": self.is_apart,
            "identical": self.identical,
            "packets": self.packets.said,
            "divergence": divergence,
            "files": [each.plain() for each in self.files],
        }


@dataclass(frozen=True)
class ClaimChange:
    """Compare a claim, then and now."""

    claim: str
    kernels: tuple[str, str]  # their names
    base: Verdict
    new: Verdict
    cases: tuple[CaseChange, ...]

    @property
    def change(self) -> Change:
        """Sum up in a few words what changed: what weighs most of its cases, unless the verdict did by itself.

        A verdict that differs by no more than chance cannot tell, nor can a claim that a side has no record of, unless
        its trials failed there alone. What neither side ran does not count.
        """
        another = self.base.kind != self.new.kind and "skipped" not in (self.base.kind, self.new.kind)
        if another and any(case.is_judged_anew for case in self.cases):
            return "verdict changed"
        found: set[Change] = {case.change for case in self.cases if not case.is_skipped}
        if another or not self.was_compared:
            found.add("cannot tell")
        order: tuple[Change, ...] = get_args(Change)
        return next((kind for kind in order if kind in found), "identical")

    @property
    def was_compared(self) -> bool:
        """Say whether both sides have records of it."""
        return any(case.was_compared for case in self.cases)

    @property
    def lacking(self) -> tuple[tuple[str, Verdict], ...]:
        """Return each side that has no record of the claim: its kernel, and the verdict that says why."""
        sides = (
            (self.kernels[0], self.base, [case.base for case in self.cases]),
            (self.kernels[1], self.new, [case.new for case in self.cases]),
        )
        return tuple((kernel, verdict) for kernel, verdict, found in sides if not any(each.trials for each in found))

    @property
    def has_changed(self) -> bool:
        """Return whether a verdict or a figure changed, by more than chance."""
        return self.change in ("verdict changed", "figure moved")

    @property
    def is_open(self) -> bool:
        """Return whether nobody can tell: the samples are too few, or the machine was too slow."""
        return self.change in ("undecided", "cannot tell")

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {
            "claim": self.claim,
            "change": self.change,
            "base": {"kernel": self.kernels[0], "verdict": self.base.kind, "reason": self.base.reason},
            "new": {"kernel": self.kernels[1], "verdict": self.new.kind, "reason": self.new.reason},
            "cases": [case.plain() for case in self.cases],
        }


def compare(
    base: Iterable[JudgedClaim], new: Iterable[JudgedClaim], interest: float = INTEREST
) -> tuple[ClaimChange, ...]:
    """Say what changed in every claim that both sides were asked for. Raises Incomparable, RecordError, CaptureError.

    Of some claims a side may have no record, because its trials failed, say. `interest` is the smallest relative change
    of a figure that matters. All tests are corrected for one another.
    """
    then = {judged.declared.id: judged for judged in base}
    pairs = ((then[each.declared.id], each) for each in new if each.declared.id in then)
    changes = [_claim(*pair, interest) for pair in pairs]
    tests = iter(corrected([case.shift for each in changes for case in each.cases if case.shift]))
    return tuple(
        replace(each, cases=tuple(replace(case, shift=next(tests)) if case.shift else case for case in each.cases))
        for each in changes
    )


def _claim(base: JudgedClaim, new: JudgedClaim, interest: float) -> ClaimChange:
    _check(base, new)
    return ClaimChange(
        claim=new.declared.id,
        kernels=(_kernel(base, "base"), _kernel(new, "new")),
        base=base.result.verdict,
        new=new.result.verdict,
        cases=tuple(_cases(base, new, interest)),
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
    if then and new.records and not then.keys() & {_name(record) for record in new.records}:
        raise Incomparable(f"{new.declared.id}: no trial in common: was it run with another seed?")


def _cases(base: JudgedClaim, new: JudgedClaim, interest: float) -> Iterator[CaseChange]:
    before = {result.key: result for result in base.result.results}
    chancy = {case.key for case in new.cases if case.network.is_left_to_chance}
    others = {case.key: CaseKey(case.relative_to or case.arm, case.point) for case in new.cases}
    for result in new.result.results:
        key = result.key
        pairs = _pairs(base.records, new.records, key)
        real_time = any(record.trial.clock == "real" for _, record in pairs)
        then, batches = before[key], {record.batch for pair in pairs for record in pair}
        case = CaseChange(
            base=then,
            new=result,
            identical=bool(pairs) and all(first.outputs == second.outputs for first, second in pairs),
            files=_files(pairs),
            packets=together(captured(*pair) for pair in pairs),
            real_time=real_time,
            is_apart=real_time and (len(batches) > 1 or "" in batches),
            is_chance=real_time or not chancy.isdisjoint((key, others[key])) or _varies(then) or _varies(result),
            interest=interest,
        )
        settled = case.identical or case.has_same_packets or not (then.measured and result.measured)
        if case.is_chance and not settled:
            case = replace(case, shift=Shift.between(then.sample.numbers, result.sample.numbers))
        yield case


def _varies(result: Result) -> bool:
    """Say whether seeds gave different figures."""
    return len({*result.sample.numbers}) > 1


def _interval(result: Result) -> dict[str, Any]:
    """Return how sure a side's figure is, for JSON."""
    return {name: result.plain()[name] for name in ("low", "high", "coverage", "valid", "repeats")}


def _files(pairs: Iterable[tuple[Record, Record]]) -> tuple[ByteDifference, ...]:
    """List every output that differs in one of the trials, by name, with where it differs in the first of them."""
    found: dict[str, ByteDifference] = {}
    for pair in pairs:
        for each in byte_differences(*pair):
            found.setdefault(each.output, each)
    return tuple(found[name] for name in sorted(found))


def _pairs(base: Sequence[Record], new: Sequence[Record], key: CaseKey) -> list[tuple[Record, Record]]:
    then = {_name(record): record for record in base}
    return [(then[_name(record)], record) for record in new if record.trial.key == key and _name(record) in then]


def _name(record: Record) -> tuple[CaseKey, int, int]:
    trial = record.trial
    return trial.key, trial.seed, trial.repeat


def _kernel(judged: JudgedClaim, side: str) -> str:
    if not judged.kernel:
        return f"the {side} kernel"
    return f"{judged.kernel['name']} ({judged.kernel.get('version', '')}, id {judged.kernel['id'][:8]})"
