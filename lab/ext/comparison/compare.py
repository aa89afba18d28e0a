"""Compare two judgements of the same claims, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from lab.base import version
from lab.errors import InputError
from lab.ext.comparison.captures import PacketChange, captured, together
from lab.ext.comparison.emulation import difference
from lab.ext.comparison.shift import Shift, corrected
from lab.record.identity import ByteDifference, byte_differences
from lab.record.record import Record
from lab.spec.case import CaseKey
from lab.spec.loaded import Commit
from lab.verdict import Result, Verdict
from lab.verdict.judged import JudgedClaim

INTEREST = 0.005  # the smallest relative change of a figure that matters, by default

# The most important first. Only a claim can have a changed verdict.
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


class Incomparable(InputError):
    """Raised for records of different trials: the experiment, the network or the seed differs."""


@dataclass(frozen=True)
class CaseChange:
    """Compares one arm at one point on two kernels."""

    base: Result
    new: Result
    identical: bool
    files: tuple[ByteDifference, ...]  # the outputs that differ, each with its first difference
    packets: PacketChange  # in virtual time, how the captures compare
    real_time: bool = False
    is_apart: bool = (
        False  # in real time: whether the two sides ran at different times, so the machine may have drifted
    )
    emulators: str = ""  # in real time: why figures cannot be compared, because the sides' emulators differ
    is_chance: bool = False  # whether a different draw (a repeat in real time, a seed) gives a different figure
    shift: Shift | None = None  # for a random figure: both samples compared; None: there is nothing to compare
    interest: float = INTEREST

    @property
    def change(self) -> Change:
        """Return the change of this case in a few words. A change of the claim's verdict is not included."""
        if self.identical:
            return "identical"
        if self.is_disturbed:
            return "undecided"
        if self.emulators:
            return "cannot tell"
        if any(result.verdict and result.verdict.kind == "skipped" for result in (self.base, self.new)):
            return "cannot tell"  # one side did not run it, for example because its kernel's variant is missing
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
        """Return whether the captures have the same packets and the figures are exactly the same."""
        return self.packets.said in ("identical", "same") and self.base.measured == self.new.measured

    @property
    def was_compared(self) -> bool:
        """Return whether both sides have a record of the same trial."""
        return self.identical or bool(self.files or self.packets.said)

    @property
    def is_skipped(self) -> bool:
        """Return whether neither side ran the case, for example because the kernel variant is missing."""
        verdicts = [result.verdict for result in (self.base, self.new)]
        return not self.was_compared and all(verdict and verdict.kind == "skipped" for verdict in verdicts)

    @property
    def ratio(self) -> float | None:
        """Return the ratio of the figures, new over base, with the estimator for random or for exact figures.

        Return None if a side has no figure, or if the figures cannot be compared.
        """
        if self.emulators:
            return None
        if self.shift:
            return self.shift.ratio.number if self.shift.ratio else None
        then, now = self.base.measured, self.new.measured
        if then is None or now is None:
            return None
        if then.number == now.number:
            return 1.0
        return now.number / then.number if then.number else None

    @property
    def is_disturbed(self) -> bool:
        """Return whether the machine was too slow on either side.

        Such a real-time result is not evidence about a kernel.
        """
        verdicts = [result.verdict for result in (self.base, self.new)]
        return self.real_time and any(verdict and verdict.kind == "invalid" for verdict in verdicts)

    @property
    def is_judged_anew(self) -> bool:
        """Return whether the case's own verdict differs by more than chance. Even a small change may cross a bound."""
        then, now = self.base.verdict, self.new.verdict
        if then is None or now is None or then.kind == now.kind or "skipped" in (then.kind, now.kind):
            return False
        return not self.is_disturbed and not self.emulators and (self.shift is None or self.shift.is_significant)

    @property
    def _is_far(self) -> bool:
        """Return whether the exact figures differ by more than `interest`."""
        return self.base.measured != self.new.measured and (self.ratio is None or abs(self.ratio - 1) > self.interest)

    def plain(self) -> dict[str, Any]:
        """Return the change as plain data for JSON."""
        sides = {"base": self.base, "new": self.new}
        where = self.packets.divergence
        divergence = (
            {
                "capture": self.packets.capture,
                "packet": where.number,
                "what": where.what,
                "base": where.base,
                "new": where.new,
                "topic": where.meaning.topic,
                "meaning": where.meaning.says,
                "before": list(where.before),
                "after": {"base": list(where.base_after), "new": list(where.new_after)},
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
            "not_compared": self.emulators or None,
            "identical": self.identical,
            "packets": self.packets.said,
            "divergence": divergence,
            "files": [each.plain() for each in self.files],
        }


@dataclass(frozen=True)
class ClaimChange:
    """Compares a claim on two kernels."""

    claim: str
    kernels: tuple[str, str]  # their names
    base: Verdict
    new: Verdict
    cases: tuple[CaseChange, ...]
    commits: tuple[Commit, ...] = ()  # commits that are known to have changed the claim

    @property
    def change(self) -> Change:
        """Return the claim's change in a few words: a changed verdict, else the most important change of its cases.

        A verdict that may differ by chance is undecided. A claim without a record on one side is also undecided, unless
        its trials failed only on that side. Cases that neither side ran are ignored.
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
        """Return whether both sides have records of the claim."""
        return any(case.was_compared for case in self.cases)

    @property
    def lacking(self) -> tuple[tuple[str, Verdict], ...]:
        """Return each side without a record of the claim: its kernel, and the verdict with the reason."""
        sides = (
            (self.kernels[0], self.base, [case.base for case in self.cases]),
            (self.kernels[1], self.new, [case.new for case in self.cases]),
        )
        return tuple((kernel, verdict) for kernel, verdict, found in sides if not any(each.trials for each in found))

    @property
    def has_changed(self) -> bool:
        """Return whether a verdict or a figure changed by more than chance."""
        return self.change in ("verdict changed", "figure moved")

    @property
    def is_open(self) -> bool:
        """Return whether the comparison is undecided, because the samples are too few or the machine was too slow."""
        return self.change in ("undecided", "cannot tell")

    def plain(self) -> dict[str, Any]:
        """Return the change as plain data for JSON."""
        return {
            "claim": self.claim,
            "change": self.change,
            "base": {"kernel": self.kernels[0], "verdict": self.base.kind, "reason": self.base.reason},
            "new": {"kernel": self.kernels[1], "verdict": self.new.kind, "reason": self.new.reason},
            "cases": [case.plain() for case in self.cases],
            "commits": [{"commit": each.commit, "title": each.title, "known": each.known} for each in self.commits],
        }


def compare(
    base: Iterable[JudgedClaim], new: Iterable[JudgedClaim], interest: float = INTEREST
) -> tuple[ClaimChange, ...]:
    """Return the comparison of every claim that both sides should have run.

    A side may have no record of some claims, for example because its trials failed. `interest` is the smallest relevant
    relative change of a figure. The tests are corrected for their number. Raises Incomparable, RecordError and
    CaptureError.
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
        commits=tuple(_commits(base, new)),
    )


def _commits(base: JudgedClaim, new: JudgedClaim) -> Iterator[Commit]:
    """Yield the article's commits that changed the claim, and that only the new kernel has."""
    if not base.kernel or not new.kernel:
        return
    then, now = (version.order(kernel["version"]) for kernel in (base.kernel, new.kernel))
    name = new.declared.id.partition("/")[2]
    for each in new.declared.article.commits:
        if name in each.claims and then < version.order(each.since) <= now:
            yield each


def _check(base: JudgedClaim, new: JudgedClaim) -> None:
    """Raise Incomparable unless the trials differ only in their kernel and its consequences."""
    if base.declared.source_sha256 != new.declared.source_sha256:
        raise Incomparable(f"{new.declared.id}: the experiment changed in between; run both sides with the same file")
    then = {_name(record): record for record in base.records}
    for record in new.records:
        other = then.get(_name(record))
        for what in ("network", "workload", "probes", "middleboxes", "clock") if other else ():
            if getattr(record.trial, what) != getattr(other.trial, what):  # type: ignore[union-attr]
                raise Incomparable(f"{new.declared.id}: {record.trial.arm} ran with a different {what}")
    if then and new.records and not then.keys() & {_name(record) for record in new.records}:
        raise Incomparable(f"{new.declared.id}: no trial in common: was it run with a different seed?")


def _cases(base: JudgedClaim, new: JudgedClaim, interest: float) -> Iterator[CaseChange]:
    before = {result.figure_key: result for result in base.result.results}
    chancy = {case.key for case in new.cases if case.network.is_left_to_chance}
    others = {case.key: CaseKey(case.relative_to or case.arm, case.point) for case in new.cases}
    for result in new.result.results:
        key = result.key
        pairs = _pairs(base.records, new.records, key)
        real_time = any(record.trial.clock == "real" for _, record in pairs)
        then, batches = before[result.figure_key], {record.batch for pair in pairs for record in pair}
        emulators = next(filter(None, (difference(first.trial, second.trial) for first, second in pairs)), "")
        case = CaseChange(
            base=then,
            new=result,
            identical=bool(pairs) and all(first.outputs == second.outputs for first, second in pairs),
            files=_files(pairs),
            packets=together(captured(*pair) for pair in pairs),
            real_time=real_time,
            is_apart=real_time and (len(batches) > 1 or "" in batches),
            emulators=emulators if real_time else "",
            is_chance=real_time or not chancy.isdisjoint((key, others[key])) or _varies(then) or _varies(result),
            interest=interest,
        )
        settled = case.identical or case.has_same_packets or bool(case.emulators)
        settled = settled or not (then.measured and result.measured)
        if case.is_chance and not settled:
            case = replace(case, shift=Shift.between(then.sample.numbers, result.sample.numbers))
        yield case


def _varies(result: Result) -> bool:
    """Return whether seeds gave different figures."""
    return len({*result.sample.numbers}) > 1


def _interval(result: Result) -> dict[str, Any]:
    """Return the uncertainty of one side's figure, for JSON."""
    return {name: result.plain()[name] for name in ("low", "high", "coverage", "valid", "repeats")}


def _files(pairs: Iterable[tuple[Record, Record]]) -> tuple[ByteDifference, ...]:
    """Return every output that differs in any trial, by name, with its difference in the first such trial."""
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
