"""What is wrong is never passed. A network that is not what its file says is invalid; where the read-back is blind, or
the file itself is wrong, the verdict or the model's error tells; and so it does when the model is what is wrong.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lab
import lab.runner.guest
from lab.machine.kernel import Guest, UmlKernel
from lab.model.transfer import _played
from lab.report.claim import Claim

pytestmark = pytest.mark.guest

# Nothing about it is symmetric, so that whatever is changed shows.
TOPOLOGY = """\
about: A path that is not the same both ways.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    forward: {rate: 100 Mbit/s, delay: 20 ms, limit: 3000}
    back: {rate: 10 Mbit/s, delay: 5 ms}
"""
EXPERIMENT = '''"""A path of 100 Mbit/s carries 88.7 Mbit/s in its first second."""

from lab import Arm, Bulk, Duration, Experiment, Reported, Within, metric, model

EXPERIMENT = Experiment(
    topology="path.yaml",
    workload=Bulk(duration=Duration.of("1 s")),
    metric=metric.bulk_goodput(),
    prediction=model.goodput_bulk,
    arms=(Arm("only", Reported("88.7 Mbit/s", "it says so")),),
    tolerance=Within(0.03, because="wide enough for the verdict to overlook the Ethernet overhead, 2.5 %"),
)
'''

# What goes on in the guest instead of the trial as it should be.
PERFORM = """
import subprocess, sys
from pathlib import Path
from msgspec.structs import replace
from lab.guest.fabric import device, offload, qdisc
from lab.guest.fabric.fabric import Fabric
from lab.guest import perform
from lab.guest.network import Offloads
from lab.units import Duration

netem, write, add_qdisc, differences = qdisc.netem, offload.write, device.add_qdisc, Fabric.differences
{mutation}
sys.exit(perform.main(Path(".")))
"""
MUTATIONS = {
    "a wrong limit": "qdisc.netem = lambda way, seed: netem(replace(way, limit=20), seed)",
    "a doubled delay": "qdisc.netem = lambda way, seed: netem(replace(way, delay=Duration(2 * way.delay.ns)), seed)",
    "an offload left on": "offload.write = lambda at, name, _: write(at, name, Offloads(tso=True, gso=True, gro=True))",
    "swapped ends": "device.add_qdisc = lambda at, name, what: add_qdisc(at, name.translate({97: 'b', 98: 'a'}), what)",
}
BLIND = "\nFabric.differences = lambda fabric: []"
LATER = """
def differences_then_a_change(fabric):
    found = differences(fabric)
    change = "tc -n wires qdisc change dev w0b root netem limit 20 delay 20ms rate 100mbit 24"
    subprocess.run(change.split(), check=True)
    return found
Fabric.differences = differences_then_a_change
"""

Run = Callable[..., Claim]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the claim is, always under the same name, and results of what is right."""
    return tmp_path_factory.mktemp("mutants")


@pytest.fixture
def run(kernel: UmlKernel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the claim: in a guest that does something else, or on another path than it is about."""

    def run(mutation: str = "", wrong: tuple[str, str] = ("", ""), results: Path = tmp_path / "results") -> Claim:
        def mutant(kernel: UmlKernel, shared: Path, _: Any, **settings: Any) -> Guest:
            return Guest(kernel, shared, [settings["root"].python, "-c", PERFORM.format(mutation=mutation)], **settings)

        monkeypatch.setattr(lab.runner.guest, "Guest", mutant)
        (folder / "path.yaml").write_text(TOPOLOGY.replace(*wrong))
        (folder / "claim.py").write_text(EXPERIMENT)
        return lab.run(folder / "claim.py", kernel=kernel.id, results=results)[0]

    return run


def test_what_is_right_passes(run: Run, folder: Path) -> None:
    assert run(results=folder / "results").passed


def test_predictions_are_older_than_their_trials(run: Run, folder: Path) -> None:
    claim = run(results=folder / "results").judged
    assert {result.after_the_fact for result in claim.result.results if result.predicted} == {False}
    kept = [json.loads(file.read_text()) for file in (folder / "results" / "predictions").glob("*/*.json")]
    assert kept
    assert max(prediction["made"] for prediction in kept) < min(record.started for record in claim.records)


@pytest.mark.parametrize("mutation", [*MUTATIONS, "a change during the run"])
def test_a_network_that_is_not_what_its_file_says_is_invalid(run: Run, mutation: str) -> None:
    claim = run(MUTATIONS.get(mutation, LATER))
    assert claim.verdict.kind == "invalid", claim
    assert "no result" not in claim.verdict.reason, "the mutation should change the network, not fail"
    assert not claim.passed


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_it_does_not_pass_where_the_read_back_is_blind(run: Run, mutation: str) -> None:
    claim = run(MUTATIONS[mutation] + BLIND)
    assert claim.verdict.kind != "invalid", "it is blind"
    assert not claim.passed, claim


@pytest.mark.parametrize(
    "wrong",
    [
        ("limit: 3000", "limit: 20"),
        ("delay: 20 ms", "delay: 40 ms"),
        ("[sender, receiver]\n    forward", "[receiver, sender]\n    forward"),
    ],
)
def test_a_file_that_is_wrong_does_not_pass(run: Run, wrong: tuple[str, str]) -> None:
    claim = run(wrong=wrong)
    assert claim.verdict.kind == "not reproduced", claim


def test_a_model_that_forgets_the_ethernet_overhead_does_not_pass(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.model.line.ethernet", SimpleNamespace(AROUND=0))
    _played.cache_clear()
    shutil.rmtree(folder / "results" / "predictions")  # they know the model by its files, which are as they were
    claim = run(results=folder / "results")
    _played.cache_clear()
    assert claim.verdict.kind == "reproduced", "the article's figure is none of the model's business"
    assert claim.judged.result.model_is_off
    assert not claim.passed
    assert {result.after_the_fact for result in claim.judged.result.results if result.predicted} == {True}
