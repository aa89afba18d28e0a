"""Shipped claims, run as `lab run` runs them: one for each verdict that a sentence can have, and what it rests on.

The claims are those that cost least. Another verdict fails, and so does a prediction beyond its accuracy.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import lab
from lab.guest.trial import Trial
from lab.machine.kernel import UmlKernel
from lab.record.record import Record
from lab.record.store import Store
from lab.report.claim import Claim
from lab.runner.plan import Settings, plan, trials_of
from lab.runner.schedule import Runner
from lab.spec import find, shipped
from tests.conftest import Quiet

pytestmark = pytest.mark.guest

SHIPPED = {
    "reproduced": "asymmetric-mtu/mss-advertised",
    "partly": "ack-rate/quickack-interactive",
    "not reproduced": "ack-rate/out-of-order-acks-at-once",
}
UNTESTABLE = "tcp-bottleneck/both-windows"
POINTS = '("6 MiB", "12.5 MB", "18.75 MB", "24 MB")'


def hold(claim: Claim, verdict: str) -> None:
    """Check the verdict of a claim, the accuracy of its model, and what its explanations rest on."""
    assert claim.verdict.kind == verdict, claim
    assert claim.passed, claim
    predicted = [result for result in claim.results if result.predicted and result.measured]
    assert predicted
    assert [result.arm for result in predicted if result.model_is_off] == []
    witnesses = [result for result in claim.results if result.explains]
    assert [result.arm for result in witnesses if result.bears_out is False] == []


@pytest.mark.parametrize("verdict", SHIPPED)
def test_a_shipped_claim_has_its_verdict_and_its_accuracy(verdict: str, kernel: UmlKernel, tmp_path: Path) -> None:
    (claim,) = lab.run(SHIPPED[verdict], kernel=kernel.id, results=tmp_path)
    hold(claim, verdict)
    if verdict == "partly":
        assert {part.kind for _, part in claim.judged.result.parts} == {"reproduced", "not reproduced"}


@pytest.mark.parametrize("points", ['("12.5 MB", "24 MB")', pytest.param(POINTS, marks=pytest.mark.nightly)])
def test_a_claim_that_is_not_testable_has_its_accuracy_too(points: str, kernel: UmlKernel, tmp_path: Path) -> None:
    """With those points of its sweep that have a claimed figure, or with all: it is the dearest of these claims."""
    shipped_file = find.experiments()[UNTESTABLE]
    article = shutil.copytree(shipped_file.parent, tmp_path / "experiments" / shipped_file.parent.name)
    file = article / shipped_file.name
    source = file.read_text()
    assert POINTS in source
    file.write_text(source.replace(POINTS, points))
    (claim,) = lab.run(file, kernel=kernel.id, results=tmp_path / "results")
    hold(claim, "not testable as stated")
    assert len(claim.results) == 4 * (1 + points.count(","))


@pytest.mark.parametrize(
    "name",
    [
        "deep-space/megabyte-to-mars",
        "initial-window/small-buffer",
        "initial-window/older-window",
        "simult-flows/share-of-rates",
    ],
)
def test_a_packs_claim_is_predicted_and_reproduced(name: str, kernel: UmlKernel, tmp_path: Path) -> None:
    (claim,) = lab.run(name, kernel=kernel.id, results=tmp_path)
    assert claim.passed, claim
    assert claim.verdict.kind == "reproduced", claim


def programs_of(trial: Trial) -> tuple[str, ...]:
    flows = trial.workload.get("flows") or [{"workload": trial.workload}]
    return tuple(sorted({name for flow in flows for name in flow["workload"].get("contents", ())}))


@pytest.mark.parametrize("pack", shipped.packs())
def test_every_program_of_a_pack_runs(pack: str, kernel: UmlKernel, tmp_path: Path) -> None:
    """In the trials that cost least."""
    planned = [each for each in plan(find.find([pack]), Settings(kernel)) if each.kernel.id == kernel.id]
    dear_first = sorted(planned, key=lambda each: -each.cost.seconds)
    one_each = {programs_of(trial): trial for trial in trials_of(dear_first)}
    found = Runner(Store(tmp_path), [kernel]).run([*one_each.values()], Quiet())
    assert found
    for record in found.values():
        assert isinstance(record, Record), record
        assert record.invalid == (), record
