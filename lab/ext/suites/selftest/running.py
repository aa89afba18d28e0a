"""Run the kernel's own network selftests, each in its own guest, and judge them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.app.options import SuiteOptions
from lab.base.building import Progress
from lab.errors import InputError, LabError
from lab.ext import alone
from lab.ext.suites.selftest.needs import lacking
from lab.ext.suites.selftest.packing import PackedTests, pack
from lab.ext.suites.selftest.tree import Selftest
from lab.ext.suites.selftest.verdict import JudgedSelftest, judge, skipped
from lab.guest.trial import Trial
from lab.machine.kernel import UmlKernel
from lab.machine.userland.cache import Userland
from lab.record.record import Record
from lab.record.store import Store
from lab.report.ci.case import Case
from lab.runner.plan import Settings
from lab.runner.schedule import Runner

INSIDE, ARCHIVE = Path(__file__).with_name("inside.py"), "selftest.tar.xz"  # the files for a guest
PLACE = "/tmp/own"


@dataclass(frozen=True)
class SelftestRuns:
    """Holds the judged tests in order."""

    tests: tuple[JudgedSelftest, ...]
    kernel: str

    @property
    def exit_code(self) -> int:
        """The exit code: 1 if a test fails; an error has its own code."""
        codes = [test.error.exit_code for test in self.tests if test.error]
        return max(codes, default=0) or int(any(test.outcome == "failed" for test in self.tests))

    def cases(self) -> tuple[Case, ...]:
        """Return a case for each test, for CI systems. The parts of a case come from the test's TAP output."""
        return tuple(_case(test) for test in self.tests)

    def plain(self) -> dict[str, Any]:
        """Return the results as plain data for JSON."""
        return {"kernel": self.kernel, "tests": [test.plain() for test in self.tests]}


@dataclass(frozen=True)
class _Planned:
    """Holds a test, its trial (None if the test cannot run), and the needs that the guest does not meet."""

    test: Selftest
    trial: Trial | None
    lacks: tuple[str, ...]


def run(
    tests: Sequence[Selftest],
    settings: Settings,
    options: SuiteOptions,
    progress: Progress,
) -> SelftestRuns:
    """Run the tests that are missing in the store, and judge all tests. Raises InputError, MachineError and
    Interrupted.
    """
    planned = []
    progress.say("compiling the programs of the tests")
    for number, test in enumerate(tests, 1):
        planned.append(_planned(test, settings))
        progress.step(number, len(tests))
    trials = [each.trial for each in planned if each.trial]
    store = Store(options.folder)
    runner = Runner(store, [settings.kernel], options.jobs, options.limits)
    with store.held():
        outcomes = alone.outcomes(runner, trials, "tests")
        return SelftestRuns(tuple(_judged(each, outcomes) for each in planned), settings.kernel.name)


def _planned(test: Selftest, settings: Settings) -> _Planned:
    kernel, userland = settings.kernel, settings.userland
    if not isinstance(kernel, UmlKernel) or userland is None:
        raise InputError(
            "selftests need a kernel that is built here, and the sealed userland that they are compiled for"
        )
    packed = pack(test)
    lacks = (*packed.lacks, *lacking(packed.text, kernel.configuration, userland))
    return _Planned(test, None if test.compiled and packed.lacks else _trial(test, packed, settings, userland), lacks)


def _trial(test: Selftest, packed: PackedTests, settings: Settings, userland: Userland) -> Trial:
    seconds = test.collection.seconds
    contents = {INSIDE.name: INSIDE.read_bytes(), ARCHIVE: packed.archive}
    command = (f"{{files}}/{INSIDE.name}", f"{{files}}/{ARCHIVE}", test.path, f"{seconds:g}")
    workload = alone.program(PLACE, command, contents, seconds)
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
