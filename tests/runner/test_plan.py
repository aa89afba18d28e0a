"""What a kernel decides about the trials that are planned on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.errors import InputError, MachineError
from lab.guest.clock import Clock, Place
from lab.machine.kernel import Start
from lab.machine.kernel.root import Root
from lab.machine.userland.lock import locked
from lab.runner.plan import Settings, plan
from lab.spec.find import find
from lab.spec.variant import ResolvedVariant
from lab.units import Size
from tests.ext.cluster.test_campaign_parts import Whole


class Counted:
    """A kernel that is there as it is, on a clock of counted instructions."""

    on: Place = "vm"
    name, id = "6.1", "0" * 16
    clocks: tuple[Clock, ...] = ("virtual",)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "version": "6.1.1-1", "id": self.id, "hz": 250, "patches": []}

    def variant(self, wanted: ResolvedVariant) -> Counted:
        raise MachineError(f"no variant: {wanted}")

    def lacks(self, queue: str) -> bool:
        return queue == "dualpi2"

    def start(self, folder: Path, seed: int, clock: Clock, memory: Size, root: Root) -> Start:  # noqa: ARG002
        raise AssertionError(f"nothing is run here: {folder} {seed} {clock} {memory}")


@pytest.mark.needs("tcpdump")
def test_what_asks_for_real_time_runs_by_the_clock_that_there_is() -> None:
    trials = [trial for each in plan(find(["ack-rate/offload-cost"]), Settings(Counted())) for trial in each.trials]
    assert trials
    assert {(trial.on, trial.clock) for trial in trials} == {("vm", "virtual")}


def test_a_clock_that_a_kernel_has_not_is_refused() -> None:
    with pytest.raises(InputError, match="--on vm has only the virtual clock"):
        Settings(Counted(), "real")


def test_arms_with_a_kernel_of_their_own_are_skipped_with_the_reason() -> None:
    planned = plan(find(["tcp-nodelay/nagle-stall"]), Settings(Counted()))
    assert all(("no variant" in each.skipped) == (each.case.kernel is not None) for each in planned)
    assert any(each.skipped for each in planned)
    assert any(each.trials for each in planned)


TOPOLOGY = """\
about: A link with a queue.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    rate: 10 Mbit/s
    {where}
"""
CLAIM = '''\
"""A ping takes a millisecond."""
from lab import Arm, Experiment, Ping, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="queued.yaml",
    workload=Ping(),
    metric=metric.ping_rtt(),
    arms=(
        Arm("as-it-is", Reported("1 ms", "1 ms")),
        Arm("changed", links={"path": {"back": {"queue": "dualpi2"}}}),
    ),
    tolerance=Within(0.1, because="a digit"),
    few_samples="no kernel of the tests runs it",
)
'''


@pytest.mark.parametrize(
    ("where", "file", "line"),
    [
        ("forward: {queue: dualpi2}", "queued.yaml", 7),
        ("queue: {kind: dualpi2}", "queued.yaml", 7),
        ("forward: {queue: fq_codel}", "claim.py", 10),
    ],
)
def test_a_queue_that_the_kernel_lacks_is_named_with_its_line(tmp_path: Path, where: str, file: str, line: int) -> None:
    (tmp_path / "queued.yaml").write_text(TOPOLOGY.format(where=where))
    (tmp_path / "claim.py").write_text(CLAIM)
    settings = Settings(Counted(), userland=Whole(locked("guest").id, Path("nowhere")))
    as_it_is, changed = plan(find([str(tmp_path / "claim.py")]), settings)
    assert not changed.trials
    said = as_it_is.skipped or changed.skipped
    assert said.startswith(f"{tmp_path / file}:{line}: ")
    assert "kernel 6.1 has no queue 'dualpi2': it was built without NET_SCH_DUALPI2" in said
    assert bool(as_it_is.trials) == (file == "claim.py"), "the other arm is not held back by it"


class Plain(Counted):
    """A kernel in virtual time, where computing takes no time."""

    on: Place = "uml"


BUCKET = """\
about: A token bucket that has a rate, on a link that has none.
hosts: [sender, receiver]
links:
  path: {ends: [sender, receiver], queue: {kind: tbf, rate: 10 Mbit/s, burst: 10 kB, limit: 64 kB}}
"""
THROUGH = """\
'''A flow through a bucket.

Source: a test.
'''
from lab import Arm, Bulk, Study, metric

EXPERIMENT = Study(
    topology="bucket", workload=Bulk(duration="1 s"), metrics={"goodput": metric.bulk_goodput()}, arms=(Arm("one"),)
)
"""


def test_a_buckets_rate_limits_a_flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "experiments" / "mine" / "through.py"
    file.parent.mkdir(parents=True)
    file.write_text(THROUGH)
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "bucket.yaml").write_text(BUCKET)
    (planned,) = plan(find([str(file)]), Settings(Plain()))
    assert planned.trials
