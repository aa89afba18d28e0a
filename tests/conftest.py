"""What the tests of several layers share."""

from __future__ import annotations

import fcntl
import gc
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from hypothesis import settings

import lab.cli
import lab.machine.kernel
from lab.app import userlands
from lab.errors import LabError
from lab.guest.clock import Clock
from lab.guest.fabric import FABRICS
from lab.guest.trial import HOST, Trial
from lab.machine.kernel import Budget, Kernel, UmlKernel
from lab.record.record import Record
from lab.record.store import Store
from lab.runner import tools
from lab.runner.schedule import Runner
from lab.spec import find
from lab.spec.changes import Changes
from lab.units import to_plain
from tests import memory, programs
from tests.examples import FULL, QUICK
from tests.kinds import Perform, Type
from tests.terminal import Terminal

pytest.register_assert_rewrite("tests.guest.fabric.cases")  # its checks fail with the figures that they compared
settings.register_profile("lab", deadline=None, max_examples=FULL)  # how long one takes is the machine's affair
settings.register_profile("quick", settings.get_profile("lab"), max_examples=QUICK)  # make check
settings.load_profile("lab")

APART = ("kernels", "calm", "mutation", "slurm", "emulated", "nightly")  # markers
HANGS = 600.0  # seconds after which a command that was typed is given up, on a machine with much else to do


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--times 50`: as often as the figures in docs/real-time.md say; CI has less time."""
    parser.addoption("--times", type=int, default=2, help="how often what is left to chance is repeated")
    parser.addoption("--programs", action="store_true", help="fail a test that starts a program which it does not name")
    parser.addoption("--in-memory", action="store_true", help="keep files of tests in memory, where there is room")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C and a hang-up end what tests start, even behind a shell's `&` or a `nohup`."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    gc.set_threshold(100_000)  # as the command line does: what tests import stays, and looking for garbage in it costs
    if config.getoption("--in-memory") and memory.has_room():
        os.environ.setdefault(memory.ROOT, str(memory.MEMORY))
    if config.getoption("--programs"):
        config.pluginmanager.register(programs.Recorder())


def names(item: pytest.Item) -> Sequence[str]:
    """Return the names of all fixtures that a test asks for, by itself or through others."""
    return getattr(item, "fixturenames", ())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that have a make target of their own, unless -m names their marker: pytest takes one -m only.

    A test that asks for a kernel, or for what boots one, is refused unless it has the marker `guest`.
    """
    if unmarked := [each.nodeid for each in items if "kernel" in names(each) and not each.get_closest_marker("guest")]:
        raise pytest.UsageError(f"mark these as guest, since they ask for a kernel: {' '.join(unmarked)}")
    named = re.findall(r"\w+", config.getoption("markexpr"))
    apart = {item for item in items if any(item.get_closest_marker(name) for name in APART if name not in named)}
    if apart:
        config.hook.pytest_deselected(items=[*apart])
        items[:] = [item for item in items if item not in apart]
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a program which this machine lacks: guests have their own, so a bare machine runs most."""
    if missing := programs.missing(item):
        pytest.skip(f"needs {', '.join(missing)} of this machine: make setup-host")


@pytest.fixture(autouse=True)
def _machine(request: pytest.FixtureRequest, common: Path) -> Iterator[None]:
    """Give a test marked `alone` the machine to itself; the other tests share it with those of other workers.

    These locks belong to this process alone. A child that a test forks would keep a lock of flock() after the test.
    """
    wanted = fcntl.LOCK_EX if request.node.get_closest_marker("alone") else fcntl.LOCK_SH
    with (common / "machine").open("a+") as machine:
        with (common / "gate").open("a+") as gate:  # a test that waits for the whole machine gets it next
            fcntl.lockf(gate, fcntl.LOCK_EX)
            fcntl.lockf(machine, wanted)
        yield


@pytest.fixture(scope="session", autouse=True)
def _unflushed() -> Iterator[None]:
    """Leave to the system when this process's files reach the disk. Only a power failure would show the difference.

    A record has some ten files, and to wait for each takes as long as the rest of a small test.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _assembled() -> Iterator[None]:
    """Put a command line together once for all that is typed: that takes longer than most commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder that all workers of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture
def times(request: pytest.FixtureRequest) -> int:
    """How often what is left to chance is repeated."""
    return int(request.config.getoption("--times"))


@pytest.fixture(scope="session")
def kernel() -> UmlKernel:
    """The default kernel under test, built on first use."""
    return lab.machine.kernel.build()


class Quiet:
    """A progress that nobody looks at."""

    def started(self, trial: Trial) -> None: ...

    def ended(self, trial: Trial, outcome: Record | LabError, stored: bool) -> None: ...


@pytest.fixture(scope="session")
def store(common: Path) -> Store:
    """One store for the whole run of the tests: a trial that one test ran does not run again for another."""
    return Store(common / "results")


@pytest.fixture(scope="session")
def perform(kernel: UmlKernel, store: Store) -> Perform:
    """Runs a trial for real: topology by name, workload, probes; `changes` as an arm would declare them."""

    def run(
        topology: str,
        workload: Any,
        probes: Sequence[Any] = (),
        *,
        middleboxes: Sequence[Any] = (),
        seed: int = 1,
        clock: Clock = "virtual",
        fabric: str = FABRICS[0],
        budget: Budget = Budget(),
        into: Path | None = None,
        on: Kernel = kernel,
        userland: str = "sealed",
        **changes: Any,
    ) -> Record:
        network = find.topology(topology).resolve(Changes(**changes))
        wanted = tools.needed([workload, *probes, *middleboxes]) | tools.of_fabric(fabric)
        programs = userlands.chosen(userland, on.on)
        trial = Trial(
            claim="test/trial",
            arm="only",
            point="",
            source_sha256="",
            network=to_plain(network),
            workload=to_plain(workload),
            probes=to_plain(list(probes)),
            middleboxes=to_plain(list(middleboxes)),
            kernel=on.describe(),
            on=on.on,
            clock=clock,
            seed=seed,
            repeat=0,
            tools=tools.versions(wanted) if programs is None else tools.sealed(wanted, programs),
            fabric=fabric,
            userland=HOST if programs is None else programs.id,
        )
        runner = Runner(Store(into) if into else store, [on], budget=budget)
        outcome = runner.run([trial], Quiet())[trial.address]
        if isinstance(outcome, LabError):
            raise outcome
        return outcome

    return run


@pytest.fixture
def busy() -> Callable[[], AbstractContextManager[None]]:
    """A context within which every core spins.

    Each core has a process of its own. If they could move, all of them could end up on one core, and leave the other
    one idle.
    """

    @contextmanager
    def spinning() -> Iterator[None]:
        spinners = []
        try:
            for core in os.sched_getaffinity(0):
                spinners.append(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
                os.sched_setaffinity(spinners[-1].pid, {core})
            yield
        finally:
            for spinner in spinners:
                spinner.kill()
                spinner.wait()

    return spinning


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Makes terminals whose programs end with the test."""
    opened: list[Terminal] = []

    def opening(*args: str) -> Terminal:
        opened.append(Terminal(tmp_path, *args))
        return opened[-1]

    yield opening
    for each in opened:
        each.program.kill()
        each.program.wait()
        os.close(each.master)
        os.close(each.slave)


@pytest.fixture
def type_in(tmp_path: Path) -> Type:
    """Runs a command in a folder of one's own, with the lab's programs on the path."""

    def run(command: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        return subprocess.run(
            shlex.split(command), cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANGS
        )

    return run


@pytest.fixture
def type_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Type:
    """Runs a command as `type_in` does, but in this process, where all is imported: for one that starts no guest."""

    def run(command: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        said, errors, code, often = io.StringIO(), io.StringIO(), 0, gc.get_threshold()
        with redirect_stdout(said), redirect_stderr(errors):
            try:
                lab.cli.main()
            except SystemExit as ended:
                code = int(ended.code or 0)
            finally:  # what a command sets for its own process
                gc.set_threshold(*often)
        return subprocess.CompletedProcess(command, code, said.getvalue(), errors.getvalue())

    return run
