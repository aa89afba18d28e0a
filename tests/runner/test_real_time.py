"""In real time a trial keeps its promise or says that it did not: starved, it is invalid every time."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from bench.hog import disturbing
from lab.guest.outputs import FIDELITY
from lab.guest.workload import Bulk, Ping
from lab.units import Duration
from lab.verdict.fidelity import CLOCKS_APART, faults
from lab.verdict.promise import PROMISE
from tests.guest.fabric.cases import CASES, held_by
from tests.kinds import Perform

pytestmark = [pytest.mark.guest, pytest.mark.alone]

SPIN = ["sh", "-c", "while :; do :; done"]
# A test has the whole machine for itself. The kernel's wires are the same, whichever program sets them up, and
# tests/guest/fabric/test_wire.py compares all of both programs in virtual time.
NIGHTLY = ("MTU 576", "200 ms", "reordering")  # beside an MTU of 9000, 10 ms, and losses
WIRES = [
    pytest.param(
        name,
        fabric,
        marks=[pytest.mark.nightly] * (name in NIGHTLY or (fabric == "mininet" and name != "1 Gbit/s")),
    )
    for name, fabric in held_by("real")
]


@pytest.mark.parametrize(("name", "fabric"), WIRES)
def test_a_wire_keeps_its_promise_or_the_trial_says_not(
    perform: Perform, tmp_path: Path, name: str, fabric: str
) -> None:
    """A trial that breaks its promise by a hair counts with a chance of `PROMISE.doubt`, and so may one of two here."""
    case = CASES[name]

    def broken(turn: int) -> AssertionError | None:
        into = tmp_path / str(turn)
        record = perform(
            case.topology, case.workload, case.probes, clock="real", fabric=fabric, into=into, **case.changes
        )
        assert record.invalid == ()
        if not faults(record.json(FIDELITY)):
            try:
                case.check(record, "real")
            except AssertionError as error:
                return error
        return None

    first = broken(1)
    if first and (again := broken(2)):
        raise AssertionError(f"it broke its promise twice, and counts both times: {first}; {again}")


@contextmanager
def hog() -> Iterator[None]:
    """A spinning process on the core that a trial in real time gets, the first one."""
    core = min(os.sched_getaffinity(0))
    spinner = subprocess.Popen(SPIN, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    try:
        yield
    finally:
        spinner.kill()
        spinner.wait()


@pytest.mark.parametrize(
    ("rate", "starved"),
    [("10 Mbit/s", hog), pytest.param("1 Gbit/s", hog, marks=pytest.mark.nightly), ("40 Gbit/s", nullcontext)],
    ids=["a hog on its core at 10 Mbit/s", "a hog on its core at 1 Gbit/s", "40 Gbit/s"],
)
def test_a_starved_trial_is_always_invalid(
    perform: Perform, tmp_path: Path, rate: str, starved: Callable[[], AbstractContextManager[None]], times: int
) -> None:
    path, second = {"rate": rate, "delay": "1 ms"}, Duration.of("1 s")
    with starved():
        for turn in range(times):
            into = tmp_path / str(turn)
            record = perform("symmetric-1g", Bulk(duration=second), clock="real", into=into, links={"path": path})
            assert faults(record.json(FIDELITY)), f"run {turn + 1} of {times} passed"


@pytest.mark.skipif(os.geteuid() != 0, reason="stealing a CPU's time takes the right to real-time priority")
@pytest.mark.parametrize("share", [0.03, pytest.param(0.05, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("rate", "burst_ns"),
    [
        pytest.param(
            rate,
            ns,
            marks=[pytest.mark.nightly] * (not rate and ns != 2_000_000),
            id=f"{rate or 'no rate'}-{ns / 1e6:g} ms",
        )
        for rate in ("10 Mbit/s", None)
        for ns in (500_000, 2_000_000, 10_000_000)
    ],
)
def test_stolen_time_near_the_promise_is_noticed(
    perform: Perform, tmp_path: Path, rate: str | None, burst_ns: int, share: float
) -> None:
    """`make fidelity` measures how often; this is one trial of each kind. The promise is 1 % of the time."""
    core, ping = min(os.sched_getaffinity(0)), Ping(count=20, interval=Duration.of("100 ms"))
    path = {"rate": rate, "delay": "5 ms"}
    with disturbing(core, share, burst_ns, seed=1):
        record = perform("symmetric-1g", ping, clock="real", into=tmp_path, links={"path": path})
    said = faults(record.json(FIDELITY))
    assert any(re.match("timers (fired|usually fire)", reason) for reason in said), said


@pytest.mark.calm
@pytest.mark.skipif(os.geteuid() != 0, reason="watching a machine from above its monitor takes real-time priority")
def test_on_a_calm_machine_trials_count(perform: Perform, tmp_path: Path) -> None:
    """A check that always complains would pass every other test here.

    Of four trials at least in which a witness at the highest priority never woke up late, half count.
    """
    core, found = min(os.sched_getaffinity(0)), []
    bulk, ping = Bulk(duration=Duration.of("2500 ms")), Ping(count=26, interval=Duration.of("100 ms"))
    for turn in range(16):
        load, path = (ping, {"rate": None, "delay": "5 ms"}) if turn % 3 else (bulk, {"rate": "10 Mbit/s"})
        start = time.time_ns()
        with disturbing(core, 0, 0, seed=turn) as machine:
            record = perform("symmetric-1g", load, clock="real", into=tmp_path / str(turn), links={"path": path})
        if not machine.away(start, time.time_ns(), PROMISE.rtt):
            found.append(faults(record.json(FIDELITY)))
    if len(found) < 4:
        pytest.skip(f"NOT CALM: the machine was away in {16 - len(found)} of 16 trials, by a witness's timers")
    assert sum(not reasons for reasons in found) >= len(found) / 2, found


def test_virtual_time_is_not_watched(perform: Perform) -> None:
    record = perform("symmetric-1g", Bulk(duration=Duration.of("100 ms")))
    assert FIDELITY not in record.outputs


def test_the_host_looks_at_a_guest_before_its_trial_begins(perform: Perform) -> None:
    """Otherwise it is unknown for how long the machine withheld the CPU, and a trial that only costs CPU is invalid."""
    ping = Ping(client="host", server="host", count=2, interval=Duration.of("10 ms"))
    seen = perform("loopback", ping, clock="real").json(FIDELITY)
    assert seen["looks"][0]["ns"] < seen["began_ns"] - CLOCKS_APART * 1e9
