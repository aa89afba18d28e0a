"""`lab verify`, `lab compare` and `lab regress` on trials that ran: the same bytes again, or what changed, named."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel
from lab.record.store import Store
from tests.kinds import Type

pytestmark = pytest.mark.guest

LAB = Path(sys.executable).with_name("lab")
EXPERIMENT = '''"""A short transfer."""

from lab import Arm, Bulk, Capture, Duration, Experiment, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="lossy",
    workload=Bulk(duration=Duration.of("300 ms")),
    probes=(Capture(node="sender"),),
    metric=metric.bulk_goodput(),
    few_samples="only the bytes matter here",
    arms=(Arm("only", Reported("10 Mbit/s", "it says so")),),
    tolerance=Within(0.99, because="only the bytes matter here"),
)
'''


Lab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def ran(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an article of one claim, and its results with the default seed. Each test has a copy."""
    folder = tmp_path_factory.mktemp("ran")
    article = folder / "experiments" / "short"
    article.mkdir(parents=True)
    (article / "article.yaml").write_text("title: Short\nauthor: unnamed\ndate: 2026\nurl: unknown\n")
    (article / "transfer.py").write_text(EXPERIMENT)
    argv = [str(LAB), "run", "short/transfer", "--kernel", kernel.id]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def here(ran: Path, tmp_path: Path) -> Path:
    shutil.copytree(ran, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def lab(here: Path, type_here: Type) -> Lab:
    """Runs a command there, in this process: a program's start takes longer than most of these trials."""
    del here  # what it is about has to be there
    return lambda *argv: type_here(shlex.join(("lab", *argv)))


def test_a_trial_gives_its_bytes_again(lab: Lab, here: Path) -> None:
    done = lab("verify")
    assert (done.returncode, done.stdout.strip()) == (0, "all 1 trials identical"), done.stderr
    assert not list((here / "results" / ".staging").iterdir())


def test_trials_in_real_time_are_counted_and_not_run(lab: Lab, here: Path) -> None:
    lab("run", "short", "--clock", "real")  # whatever this machine made of it: a record is left
    done = lab("verify")
    said = "all 1 trials identical; 1 ran in real time, in which no two runs are the same"
    assert (done.returncode, " ".join(done.stdout.split())) == (0, said), done.stderr
    store = Store(here / "results")
    for record in store:
        if record.trial.clock == "virtual":
            store.remove(record.address)
    done = lab("verify", "--json")
    (trial,) = json.loads(done.stdout)["trials"]
    assert (done.returncode, trial["outcome"]) == (3, "real time")


def test_a_record_that_says_other_bytes_is_found_out(lab: Lab, here: Path) -> None:
    (record,) = Store(here / "results")
    forged = here / "forged"
    with Store(forged).stage(record.trial) as stage:
        for name in record.outputs:
            shutil.copy(record.path(name), stage.out / name)
        capture = stage.out / "capture.sender.eth0.pcap"
        content = bytearray(capture.read_bytes())
        content[1000] ^= 1
        capture.write_bytes(content)
        stage.commit(record.environment)
    done = lab("verify", "forged", "--json")
    (trial,) = json.loads(done.stdout)["trials"]
    assert (done.returncode, trial["outcome"], trial["detail"]) == (1, "differs", "capture.sender.eth0.pcap, byte 1000")


def test_a_damaged_record_is_named(lab: Lab, here: Path) -> None:
    (record,) = Store(here / "results")
    record.path("bulk.json").write_text("{}")
    done = lab("verify", "--json")
    (trial,) = json.loads(done.stdout)["trials"]
    assert (done.returncode, trial["outcome"]) == (1, "damaged")
    assert "bulk.json was altered" in trial["detail"]


@pytest.fixture
def against(lab: Lab, kernel: UmlKernel) -> tuple[str, ...]:
    """The options that compare a kernel with itself, as it was: with what is kept of it."""
    assert lab("baseline", "save", "spring", "short").returncode == 0
    return "--baseline", "spring", "--kernel", kernel.id


def test_a_kernel_beside_itself_is_identical(lab: Lab, here: Path, against: tuple[str, ...]) -> None:
    done = lab("regress", *against, "short", "--junit", "out.xml", "--page", "pages/out.html", "--json")
    (claim,) = json.loads(done.stdout)["claims"]
    assert (done.returncode, claim["change"], claim["cases"][0]["divergence"]) == (0, "identical", None)
    assert ET.parse(here / "out.xml").getroot().get("failures") == "0"
    page = (here / "pages" / "out.html").read_text()
    assert "1 claim: 1 identical" in page
    assert "window-plateau" not in page, "the page is about the requested claim"


def test_one_kernel_named_twice_is_not_compared(lab: Lab, kernel: UmlKernel) -> None:
    """Its records beside themselves are identical whatever the kernel does."""
    done = lab("regress", "--kernel", kernel.id, "--kernel", kernel.id, "short")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"are the same kernel, {kernel.name}; name two different kernels\n")


def test_the_page_shows_the_claims_that_were_asked_for(lab: Lab, here: Path, kernel: UmlKernel) -> None:
    (here / "experiments" / "short" / "other.py").write_text(EXPERIMENT)
    assert lab("run", "short/other").returncode == 0
    assert lab("baseline", "save", "autumn", "short").returncode == 0
    done = lab("regress", "--baseline", "autumn", "--kernel", kernel.id, "short/other", "--page", "out.html")
    assert done.returncode == 0, done.stderr
    page = (here / "out.html").read_text()
    assert "1 claim: 1 identical" in page
    assert page.index("1 claim: 1 identical") < page.index("Packets differ"), "the answer comes before its words"


def test_nothing_to_compare_is_no_answer(lab: Lab, here: Path, against: tuple[str, ...]) -> None:
    """Where no trial came to an end, `0 claims` and exit code 0 would look like two kernels that are the same."""
    for record in Store(here / "results"):
        Store(here / "results").remove(record.address)
    done = lab("regress", *against, "short", "--budget", "0.01")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the guest did not end within 0.01 s" in done.stderr


def test_a_claim_that_fails_is_named_among_others(lab: Lab, here: Path, against: tuple[str, ...]) -> None:
    """One claim has its records; the other's trial never ends within its budget, and nothing is kept of it."""
    (here / "experiments" / "short" / "late.py").write_text(EXPERIMENT.replace("300 ms", "301 ms"))
    done = lab("regress", *against, "short", "--budget", "0.01", "--json")
    said = {claim["claim"]: claim for claim in json.loads(done.stdout)["claims"]}
    assert {name: claim["change"] for name, claim in said.items()} == {
        "short/late": "cannot tell",
        "short/transfer": "identical",
    }
    assert "the guest did not end within 0.01 s" in said["short/late"]["new"]["reason"]


def test_a_baseline_names_what_it_lacks(lab: Lab, here: Path, against: tuple[str, ...]) -> None:
    """Of all claims it compares its own; of those that somebody names it says which it lacks."""
    (here / "experiments" / "short" / "late.py").write_text(EXPERIMENT.replace("300 ms", "301 ms"))
    for claims, expected in (((), ["identical"]), (("short",), ["cannot tell", "identical"])):
        done = lab("regress", *against, *claims, "--json")
        assert [claim["change"] for claim in json.loads(done.stdout)["claims"]] == expected, done.stderr


def test_a_baseline_outlives_what_it_was_made_from(lab: Lab, here: Path, kernel: UmlKernel) -> None:
    assert lab("baseline", "save", "spring", "short").returncode == 0
    assert lab("baseline", "save", "spring", "short").returncode == 2
    for record in Store(here / "results"):
        Store(here / "results").remove(record.address)
    done = lab("regress", "--baseline", "spring", "--kernel", kernel.id, "--json")
    (claim,) = json.loads(done.stdout)["claims"]
    assert (done.returncode, claim["change"]) == (0, "identical"), done.stderr
    done = lab("regress", "--baseline", "autumn")
    assert (done.returncode, "use spring" in done.stderr) == (2, True)


def test_altered_captures_are_not_compared(lab: Lab, here: Path) -> None:
    """The record holds the hash that the capture had, which it has no more: what that would call identical is not."""
    shutil.copytree(here / "results", here / "altered")
    (record,) = Store(here / "altered")
    with record.path("capture.sender.eth0.pcap").open("r+b") as capture:
        capture.seek(1000)
        capture.write(b"XXXXXXXX")
    for pair in (("results", "altered"), ("altered", "results")):
        done = lab("compare", *pair)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{record.address}/out/capture.sender.eth0.pcap was altered" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    (record.folder / "trial.json").write_text("{}")
    done = lab("compare", "results", "altered")
    assert (done.returncode, f"{record.address}/trial.json " in done.stderr) == (2, True), "whosever it was"


def test_stores_of_another_seed_are_not_compared(lab: Lab) -> None:
    assert lab("run", "short", "--seed", "2", "--results", "two").returncode == 0
    done = lab("compare", "results", "two")
    assert done.returncode == 2, "no figure changed"
    assert "a different seed" in done.stderr


def test_what_cannot_be_compared_is_said(lab: Lab) -> None:
    for argv, code, message in (
        (("compare", "results", "nowhere"), 2, "nowhere: no such file"),
        (("regress", "--kernel", "7.2", "short"), 2, "compares two kernels"),
        (("verify", "nowhere"), 2, "nowhere: no such file"),
    ):
        done = lab(*argv)
        assert (done.returncode, message in done.stderr) == (code, True), done.stderr
