"""In real time a trial keeps its promise or says that it did not: starved, it is invalid every time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from lab.outputs import FIDELITY
from lab.units import Duration
from lab.verdict.fidelity import faults
from lab.workload import Bulk
from tests.fabric.cases import CASES, held_by
from tests.kinds import Perform

pytestmark = pytest.mark.guest

SPIN = ["sh", "-c", "while :; do :; done"]


@pytest.mark.parametrize(("name", "fabric"), held_by("real"))
def test_a_wire_keeps_its_promise_or_the_trial_says_not(perform: Perform, name: str, fabric: str) -> None:
    case = CASES[name]
    record = perform(case.topology, case.workload, case.probes, clock="real", fabric=fabric, **case.changes)
    assert record.invalid == ()
    reasons = faults(record.json(FIDELITY))
    if not reasons:
        case.check(record, "real")


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
    [("10 Mbit/s", hog), ("1 Gbit/s", hog), ("40 Gbit/s", nullcontext)],
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


def test_virtual_time_is_not_watched(perform: Perform) -> None:
    record = perform("symmetric-1g", Bulk(duration=Duration.of("100 ms")))
    assert FIDELITY not in record.outputs
