"""Run the kernel's own network selftests, one guest for each, and judge them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.building import Progress
from lab.ci.case import Case
from lab.errors import InputError, LabError
from lab.kernel import Budget, UmlKernel
from lab.record.record import Record
from lab.record.store import Store
from lab.record.trial import Trial
from lab.runner.plan import Settings
from lab.runner.schedule import Runner
from lab.selftest import inside
from lab.selftest.needs import lacking
from lab.selftest.packing import Packed, pack
from lab.selftest.tree import Selftest
from lab.units import Duration
from lab.usecases import alone
from lab.userland.cache import Userland
from lab.verdict.selftest import JudgedSelftest, judge, skipped
from lab.workload.program import Program

__all__ = ["SelftestRuns", "run"]

INSIDE, ARCHIVE = "inside.py", "selftest.tar.xz"  # the files that a guest gets
MARGIN_SECONDS = 30.0  # of the trial's clock, in which what a test left behind is ended


@dataclass(frozen=True)
class SelftestRuns:
    """Hold the judged tests in order."""

    tests: tuple[JudgedSelftest, ...]
    kernel: str

    @property
    def exit_code(self) -> int:
        """Return 1 when a test fails; an error has its own code."""
        codes = [test.error.exit_code for test in self.tests if test.error]
        return max(codes, default=0) or int(any(test.outcome == "failed" for test in self.tests))

    def cases(self) -> tuple[Case, ...]:
        """Return a case for each test, as CI systems have them; its parts are those of its TAP."""
        return tuple(_case(test) for test in self.tests)

    def plain(self) -> dict[str, Any]:
        """Return this for JSON."""
        return {"kernel": self.kernel, "tests": [test.plain() for test in self.tests]}


@dataclass(frozen=True)
class _Planned:
    """Hold a test with its trial, None where it cannot be run, and with what the guest lacks for it."""

    test: Selftest
    trial: Trial | None
    lacks: tuple[str, ...]


def run(
    tests: Sequence[Selftest],
    settings: Settings,
    results: Path,
    progress: Progress,
    jobs: int | None = None,
    budget: Budget = Budget(),
) -> SelftestRuns:
    """Run the tests that the store lacks, and judge them all. Raises InputError, MachineError, Interrupted."""
    planned = []
    progress.say("compiling what the tests start")
    for number, test in enumerate(tests, 1):
        planned.append(_planned(test, settings))
        progress.step(number, len(tests))
    trials = [each.trial for each in planned if each.trial]
    store = Store(results)
    runner = Runner(store, [settings.kernel], jobs, budget)
    with store.held():
        outcomes = alone.outcomes(runner, trials, "tests")
        return SelftestRuns(tuple(_judged(each, outcomes) for each in planned), settings.kernel.name)


def _planned(test: Selftest, settings: Settings) -> _Planned:
    kernel, userland = settings.kernel, settings.userland
    if not isinstance(kernel, UmlKernel) or userland is None:
        raise InputError(
            "selftests run on a kernel that is built here, in the sealed userland that they are compiled for"
        )
    packed = pack(test)
    lacks = (*packed.lacks, *lacking(packed.text, kernel.configuration, userland))
    return _Planned(test, None if test.compiled and packed.lacks else _trial(test, packed, settings, userland), lacks)


def _trial(test: Selftest, packed: Packed, settings: Settings, userland: Userland) -> Trial:
    seconds = test.collection.seconds
    contents = {INSIDE: Path(inside.__file__).read_bytes(), ARCHIVE: packed.archive}
    program = Program(
        argv=("python3", f"{{files}}/{INSIDE}", f"{{files}}/{ARCHIVE}", test.path, f"{seconds:g}"),
        client=alone.HOST,
        server=alone.HOST,
        files=tuple(contents),
        limit=Duration(round((seconds + MARGIN_SECONDS) * 1e9)),
    )
    workload = program.with_files(contents.__getitem__)
    return alone.trial(f"selftest/{test.name.replace('/', '-')}", "test", packed.archive, workload, settings, userland)


def _judged(planned: _Planned, outcomes: Mapping[str, Record | LabError]) -> JudgedSelftest:
    test, trial = planned.test, planned.trial
    if trial is None:
        return skipped(test.name, test.tree.version, "; ".join(planned.lacks))
    return judge(test.name, test.tree.version, trial.address, outcomes[trial.address], planned.lacks)


def _case(judged: JudgedSelftest) -> Case:
    return Case(
        f"selftests {judged.version}",
        judged.name,
        judged.outcome,
        judged.reason,
        "\n".join(judged.said),
        judged.seconds,
        tuple(Case("", part.name, part.outcome, part.reason) for part in judged.parts),
        f"{judged.address[:2]}/{judged.address}" if judged.address else "",
    )
