"""Run packetdrill scripts, each in its own guest, and judge them, or compare the runs on two kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from lab.app.options import SuiteOptions
from lab.errors import InputError, LabError
from lab.ext import alone
from lab.ext.suites.packetdrill.scripts import Script
from lab.ext.suites.script import JudgedRun, JudgedScript, Shift, judge, shifts
from lab.guest.trial import Trial
from lab.guest.workload.packetdrill import IpVersion, Packetdrill
from lab.record.record import Record
from lab.record.store import Store
from lab.report.ci.case import Case, Outcome
from lab.runner import programs
from lab.runner.plan import Settings
from lab.runner.schedule import Runner
from lab.units import Duration


@dataclass(frozen=True)
class ScriptRuns:
    """Holds the judged scripts in order and the differences from a second kernel."""

    scripts: tuple[JudgedScript, ...]
    kernel: str
    base: str = ""  # the second kernel
    shifts: tuple[Shift, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code: 1 if a script fails or differs between the kernels; an error has its own code."""
        codes = [script.error.exit_code for script in self.scripts if script.error]
        failed = self.shifts if self.base else [script for script in self.scripts if not script.passed]
        return max(codes, default=0) or int(bool(failed))

    def cases(self) -> tuple[Case, ...]:
        """Return a case for each script, for CI systems. The parts of a case are the IP versions."""
        changed = {shift.script: shift for shift in reversed(self.shifts)}
        return tuple(_case(script, self.base, changed.get(script.name)) for script in self.scripts)

    def plain(self) -> dict[str, Any]:
        """Return the results as plain data for JSON."""
        return {
            "kernel": self.kernel,
            "scripts": [script.plain() for script in self.scripts],
            "base": self.base or None,
            "shifts": [shift.plain() for shift in self.shifts],
        }


def run(
    scripts: Sequence[Script],
    settings: Settings,
    options: SuiteOptions,
    tolerance: Duration | None = None,
    base: Settings | None = None,
) -> ScriptRuns:
    """Run the scripts that are missing in the store, on one kernel or on two, and judge all scripts.

    Raises InputError, MachineError (no packetdrill, no userland) and Interrupted.
    """
    asked = [settings] if base is None else [base, settings]
    planned = [[trial_of(script, each) for script in scripts] for each in asked]
    trials = [trial for some in planned for trial in some]
    store = Store(options.folder)
    runner = Runner(store, [each.kernel for each in asked], options.jobs, options.limits)
    with store.held():
        outcomes = alone.outcomes(runner, trials, "scripts")
        *before, judged = [_judged(scripts, some, outcomes, tolerance) for some in planned]
    found = tuple(shift for pair in zip(*before, judged, strict=True) for shift in shifts(*pair)) if before else ()
    return ScriptRuns(judged, settings.kernel.name, base.kernel.name if base else "", found)


def trial_of(script: Script, settings: Settings) -> Trial:
    """Return the trial of a script. Raises InputError unless guests run the sealed userland in virtual time."""
    if settings.userland is None or settings.clock != "virtual":
        raise InputError("packetdrill needs the sealed userland and virtual time, in which its events have exact times")
    versions: tuple[IpVersion, ...] = tuple(each for each in get_args(IpVersion) if each in script.versions)
    workload = Packetdrill(script.path.name, versions, script.files)
    workload = workload.with_files(lambda name: (script.path.parent / name).read_bytes())
    versions_here = programs.versions(workload, settings.userland)
    source, name = script.path.read_bytes(), f"packetdrill/{script.name}"
    return alone.trial(name, "script", source, workload, settings, settings.userland, versions_here)


def _case(script: JudgedScript, base: str, changed: Shift | None) -> Case:
    group = f"packetdrill {script.group}"
    parts = tuple(_part(run) for run in script.runs)
    link = f"{script.address[:2]}/{script.address}"
    if script.error:
        return Case(group, script.name, "failed", str(script.error), link=link)
    if changed:
        message = f"line {changed.line} {changed.version}: {changed.new}, on {base} {changed.base}"
        return Case(group, script.name, "failed", message, "", script.seconds, parts, link)
    failed = [part for part in parts if part.outcome == "failed"]
    outcome: Outcome = "failed" if failed and not base else "passed"
    message = f"{failed[0].name}: {failed[0].message}" if outcome == "failed" else ""
    detail = "\n".join(f"{part.name}: {part.message}\n{part.detail}".strip() for part in failed)
    return Case(group, script.name, outcome, message, detail, script.seconds, parts, link)


def _part(judged: JudgedRun) -> Case:
    complaint = judged.complaint
    if complaint is None:
        return Case("", judged.run.version, "passed")
    at = f"line {complaint.line}: " if complaint.line else ""
    shown = f"expected {complaint.expected}\nseen     {complaint.seen or 'nothing'}" if complaint.expected else ""
    return Case("", judged.run.version, "failed", f"{at}{complaint.message}", shown)


def _judged(
    scripts: Iterable[Script],
    trials: Iterable[Trial],
    outcomes: Mapping[str, Record | LabError],
    tolerance: Duration | None,
) -> tuple[JudgedScript, ...]:
    return tuple(
        judge(script.name, script.group, trial.address, outcomes[trial.address], tolerance)
        for script, trial in zip(scripts, trials, strict=True)
    )
