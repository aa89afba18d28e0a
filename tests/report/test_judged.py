"""Which records a page rests on, and what becomes of claims without one."""

import json
from collections.abc import Callable
from pathlib import Path

import lab
from lab.record import packed
from lab.record.record import Record
from lab.record.store import Store
from lab.report.answer import figures
from lab.report.article import Article
from lab.spec import find
from lab.verdict import measured
from lab.verdict.judged import JudgedClaim, judge_stored
from tests.packed import pack

Keep = Callable[..., list[Record]]
KERNEL = {"name": "7.2", "version": "7.2.13-1", "id": "k1", "hz": 1000, "patches": []}
OLD = {"name": "6.12", "version": "6.12.9-1", "id": "k0", "hz": 1000, "patches": []}
NEW = {"name": "7.10", "version": "7.10.1-1", "id": "k2", "hz": 1000, "patches": []}


def judged(claim: str = "header") -> JudgedClaim:
    return lab.article("toy", "results")[claim].judged


def test_a_claim_is_judged_by_its_records(toy: Callable[[], Article]) -> None:
    claim = toy()["header"]
    assert claim.verdict.kind == "not reproduced"
    assert [each.result.measured.number for each in claim.tested if each.result.measured] == [32, 32]
    assert "another" in claim.why


def test_what_was_not_run_is_skipped(toy: Callable[[], Article]) -> None:
    claim = toy()["unrun"]
    assert claim.verdict.kind == "skipped"
    assert "lab run toy/unrun" in claim.reason


def test_the_newest_kernel_counts(keep: Keep) -> None:
    for kernel in (NEW, OLD):
        keep("header", kernel=kernel)
    keep("header", kernel={**NEW, "id": "k3", "patches": ["ours"]})
    assert judged().kernel == NEW


def test_the_default_seed_counts(keep: Keep) -> None:
    for seed in (2, 1, 3):
        keep("header", seed=seed)
    assert {record.trial.seed for record in judged().records} == {1}


def test_the_usual_fabric_counts(keep: Keep) -> None:
    for fabric in ("mininet", "netlink", "mininet"):
        keep("header", fabric=fabric)
    assert {record.trial.fabric for record in judged().records} == {"netlink"}


def test_an_experiment_that_changed_was_not_run(here: Path, keep: Keep) -> None:
    keep("header")
    source = here / "experiments" / "toy" / "header.py"
    source.write_text(source.read_text() + "# a comment\n")
    assert judged().result.verdict.kind == "not reproduced"
    source.write_text(source.read_text() + "MORE = 1\n")
    assert judged().result.verdict.kind == "skipped"


def test_a_topology_that_changed_was_not_run(keep: Keep) -> None:
    keep("header", network={"name": "another"})
    assert judged().records == ()


def test_repeats_that_differ_are_invalid(keep: Keep) -> None:
    keep("header", repeat=0)
    keep("header", repeat=1)
    assert judged().result.verdict.kind == "not reproduced"
    keep("header", "something else", repeat=2)
    assert judged().result.verdict.kind == "invalid"


def test_a_variant_of_the_runs_kernel_belongs_to_its_run(here: Path, keep: Keep) -> None:
    source = here / "experiments" / "toy" / "header.py"
    slow = source.read_text().replace("sysctls=", "kernel=Variant(hz=100), sysctls=")
    source.write_text(slow.replace("import Arm,", "import Arm, Variant,"))
    keep("header")
    keep("header", kernel={**KERNEL, "id": "k9", "hz": 100, "base": KERNEL["id"]})
    found = judged()
    assert found.kernel == KERNEL
    assert {(each.trial.arm, each.trial.kernel["hz"]) for each in found.records} == {("on", 1000), ("longer", 100)}


def test_samples_are_seeds(here: Path, keep: Keep) -> None:
    source = here / "experiments" / "toy" / "header.py"
    source.write_text(source.read_text().replace("EXPERIMENT = Experiment(", "EXPERIMENT = Experiment(samples=2,"))
    for seed in (1, 2, 3):
        keep("header", seed=seed)
    assert {record.trial.seed for record in judged().records} == {1, 2}


def test_a_packed_capture_that_is_damaged_makes_the_claim_invalid(here: Path, keep: Keep) -> None:
    keep("header")
    whole = judged().result.verdict
    pack(here / "results")
    assert judged().result.verdict == whole
    packed._home.cache_clear()  # where this process has them whole
    for file in here.glob("results/*/*/out/*.pcap.zst"):
        file.write_bytes(file.read_bytes()[:-9])
    verdict = judged().result.verdict
    assert verdict.kind == "invalid"
    assert "is damaged: out/capture.sender.eth0.pcap.zst was altered" in verdict.reason


def test_a_trial_that_was_measured_is_not_measured_again(here: Path, toy: Callable[[], Article]) -> None:
    article = toy()
    known = measured.read(json.loads(json.dumps(figures(article))))
    for output in (here / "results").glob("*/*/out/*"):
        if output.is_file():
            output.unlink()
    store, claims = Store(here / "results"), [claim.judged.declared for claim in article]
    again = judge_stored(claims, store, store.predictions, measured=known)
    assert [each.result for each in again] == [claim.judged.result for claim in article]
    source = here / "experiments" / "toy" / "header.py"
    source.write_text(source.read_text() + "MORE = 1\n")
    assert (claims[0].id, find.find(["toy/header"])[0].source_sha256) not in known, "its metric may be different"
    assert {each.result.verdict.kind for each in judge_stored(claims, store)} == {"invalid", "skipped"}


def test_a_curve_between_the_points_of_a_sweep_is_predicted_once(here: Path, keep: Keep) -> None:
    source = here / "experiments" / "toy" / "sweep.py"
    counted = (
        'def predict(path):\n    with open("count", "a") as file:\n        file.write("1")\n    return Value(0, "1")\n'
    )
    changed = (
        source.read_text().replace("model.any_drops,", "predict,").replace("import TcpInfo,", "import TcpInfo, Value,")
    )
    source.write_text(changed.replace("EXPERIMENT =", f"{counted}\n\nEXPERIMENT ="))
    keep("sweep")
    drawn = lab.article("toy", "results")["sweep"].plot(steps=4)
    predicted = len((here / "count").read_text())
    assert predicted == 2 + 3, "a figure for each point of the sweep, and three between them"
    assert lab.article("toy", "results")["sweep"].plot(steps=4).text == drawn.text
    assert len((here / "count").read_text()) == predicted
