"""Judge whether a packetdrill script holds with each IP version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lab.errors import LabError
from lab.ext.suites.packetdrill.verdict import Complaint, Moment, ScriptRun, runs
from lab.record.record import Record
from lab.units import Duration

EXACT = Duration.of("1 us")  # packetdrill's resolution: it counts whole microseconds


@dataclass(frozen=True)
class JudgedRun:
    """Holds a run of a script with its verdict."""

    run: ScriptRun
    tolerance: Duration | None  # the tolerance used; None: the script's own

    @property
    def late(self) -> Moment | None:
        """The first event time that is off by more than the tolerance."""
        if self.tolerance is None:
            return None
        return next((each for each in self.run.moments if _distance(each) > self.tolerance), None)

    @property
    def passed(self) -> bool:
        """Whether the script holds."""
        return self.run.holds and self.late is None

    @property
    def exact(self) -> bool:
        """Whether the run holds to the microsecond."""
        return self.run.holds and not any(_distance(each) > EXACT for each in self.run.moments)

    @property
    def complaint(self) -> Complaint | None:
        """The fault in the run, or None."""
        late = self.late
        if self.run.complaint is not None or late is None:
            return self.run.complaint
        way = "late" if late.off > 0 else "early"
        said = f"timing error: {late.what} came {_distance(late)} too {way}; tolerance {self.tolerance}"
        return Complaint(said, late.line)

    def plain(self) -> dict[str, Any]:
        """Return the run as plain data for JSON. Times are in seconds."""
        worst, complaint = self.run.worst, self.complaint
        return {
            "version": self.run.version,
            "passed": self.passed,
            "exact": self.exact,
            "events": len(self.run.moments),
            "worst": worst and {"line": worst.line, "event": worst.what, "off": worst.off / 1e6},
            "message": complaint and complaint.message,
            "line": complaint and complaint.line,
            "expected": (complaint and complaint.expected) or None,
            "seen": (complaint and complaint.seen) or None,
        }


@dataclass(frozen=True)
class JudgedScript:
    """Holds a script with its outcome: its runs, or the error of its trial."""

    name: str
    group: str  # its origin
    address: str  # of its trial
    runs: tuple[JudgedRun, ...]
    seconds: float = 0.0  # the time that its trial took here
    error: LabError | None = None

    @property
    def passed(self) -> bool:
        """Whether the script holds with every IP version."""
        return self.error is None and all(each.passed for each in self.runs)

    @property
    def exact(self) -> bool:
        """Whether the script holds to the microsecond with every IP version."""
        return self.error is None and all(each.exact for each in self.runs)

    def plain(self) -> dict[str, Any]:
        """Return the script as plain data for JSON."""
        return {
            "script": self.name,
            "group": self.group,
            "passed": self.passed,
            "exact": self.exact,
            "runs": [each.plain() for each in self.runs],
            "error": None if self.error is None else str(self.error),
            "trial": self.address,
        }


@dataclass(frozen=True)
class Shift:
    """Describes the difference between the runs of a script on two kernels, in the verdict or an event's time."""

    script: str
    version: str
    line: int | None  # of the script
    base: str
    new: str

    def plain(self) -> dict[str, Any]:
        """Return the difference as plain data for JSON."""
        return {"script": self.script, "version": self.version, "line": self.line, "base": self.base, "new": self.new}


def judge(
    name: str, group: str, address: str, outcome: Record | LabError, tolerance: Duration | None = None
) -> JudgedScript:
    """Judge the outputs of a script's trial, with the script's own tolerance or with `tolerance`. Raises
    RecordError.
    """
    if isinstance(outcome, LabError):
        return JudgedScript(name, group, address, (), error=outcome)
    judged = tuple(JudgedRun(run, tolerance) for run in runs(outcome))
    return JudgedScript(name, group, address, judged, float(outcome.host.get("wall_seconds", 0.0)))


def shifts(base: JudgedScript, new: JudgedScript) -> Iterator[Shift]:
    """Yield, for each IP version, the first difference of more than EXACT between two kernels."""
    if base.error or new.error:
        if str(base.error) != str(new.error):
            yield Shift(new.name, "", None, str(base.error or "it ran"), str(new.error or "it ran"))
        return
    for one, other in zip(base.runs, new.runs, strict=True):
        if (first := _first(one, other)) is not None:
            yield Shift(new.name, other.run.version, *first)


def _distance(moment: Moment) -> Duration:
    return Duration(1000 * abs(moment.off))


def _first(base: JudgedRun, new: JudgedRun) -> tuple[int | None, str, str] | None:
    for one, other in zip(base.run.moments, new.run.moments, strict=False):
        apart = Duration(1000 * abs(one.happened - other.happened))
        if (one.line, one.what) != (other.line, other.what) or apart > EXACT:
            return other.line, _said(one), _said(other)
    if base.run.holds != new.run.holds:
        return (base.complaint or new.complaint or Complaint("", None)).line, _ended(base), _ended(new)
    return None


def _said(moment: Moment) -> str:
    return f"{moment.what} at {moment.happened / 1000:.3f} ms"


def _ended(judged: JudgedRun) -> str:
    return "it holds" if judged.complaint is None else judged.complaint.message
