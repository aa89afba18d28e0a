"""The commit that changed a claim is named, whatever else does not build or does not run."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.app.options import RunOptions
from lab.app.running import Judgement
from lab.base.building import Silent
from lab.errors import InputError, LabError, MachineError
from lab.ext.bisect.bisection import Search, remember, search
from lab.ext.comparison.commits import with_found
from lab.ext.comparison.compare import compare
from lab.machine.kernel import BuildFailed
from lab.machine.kernel.uml.history import Commit, History
from lab.runner import cleaning
from lab.spec import find
from lab.verdict.judged import JudgedClaim
from tests.kinds import Judge
from tests.machine.kernel.caches import HEAD

pytestmark = pytest.mark.needs("git")

NAMES = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b"}
CLAIM = """
    topology="symmetric-1g", workload=Netcat(), metric=metric.transfer_time(),
    arms=(Arm("only", Reported("1 s", "it says so")),),
    tolerance=Within(0.1, because="it is made up"),
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Commits 0 to 8, for all tests to copy."""
    where = tmp_path_factory.mktemp("history") / "linux"
    where.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=where, check=True)
    for number in range(9):
        command = ["git", "commit", "--quiet", "--allow-empty", "-m", f"{number}"]
        subprocess.run(command, cwd=where, env=NAMES, check=True)
    return where


@pytest.fixture
def history(repository: Path, tmp_path: Path) -> History:
    """A copy of the commits, which a test may change."""
    return History.of(shutil.copytree(repository, tmp_path / "linux"), tmp_path / "ours")


@pytest.fixture
def ends(history: History) -> tuple[Commit, Commit]:
    return history.commit("HEAD~8"), history.commit("HEAD")


def times(judge: Judge, seconds: Callable[[int], float | None]) -> Callable[[Commit], JudgedClaim]:
    """The claim on commit N takes `seconds(N)`; None: it does not build."""

    def judged(commit: Commit) -> JudgedClaim:
        found = seconds(int(commit.subject))
        if found is None:
            raise BuildFailed("make linux failed")
        output = json.dumps({"start_ns": 0, "end_ns": round(found * 1e9)}).encode()
        return judge(CLAIM, {"only": [{"netcat.json": output}]}, f"k{commit.subject}")

    return judged


def test_a_later_comparison_names_the_commit(
    judge: Judge, history: History, ends: tuple[Commit, Commit], tmp_path: Path
) -> None:
    judged = times(judge, lambda n: 1.0 + (n >= 3))
    remember(search("toy/claim", history, ends, judged, Silent()), tmp_path, "v1", "v2")
    changes = compare([judged(ends[0])], [judged(ends[1])])
    ((known,),) = (each.commits for each in with_found(changes, tmp_path))
    assert (known.title, known.known[:41]) == ("3", "`lab bisect` found it between v1 and v2 (")


def test_of_several_candidates_none_is_remembered(
    judge: Judge, history: History, ends: tuple[Commit, Commit], tmp_path: Path
) -> None:
    found = search("toy/claim", history, ends, times(judge, lambda n: None if n == 4 else 1.0 + (n >= 4)), Silent())
    assert len(found.found) == 2
    remember(found, tmp_path, "v1", "v2")
    assert not (tmp_path / "bisections").exists()


@pytest.mark.long
@pytest.mark.parametrize("first", range(1, 9))
def test_the_commit_is_named(judge: Judge, history: History, ends: tuple[Commit, Commit], first: int) -> None:
    answer = search("toy/claim", history, ends, times(judge, lambda n: 1.0 + (n >= first)), Silent())
    assert [each.subject for each in answer.found] == [str(first)]
    assert (answer.exit_code, answer.change.change) == (0, "verdict changed")
    assert len(answer.tested) <= 2 + 3


def test_what_does_not_build_is_skipped(judge: Judge, history: History, ends: tuple[Commit, Commit]) -> None:
    broken = times(judge, lambda n: None if n in (3, 4) else 1.0 + (n >= 4))
    answer = search("toy/claim", history, ends, broken, Silent())
    assert [each.subject for each in answer.found] == ["5", "4", "3"]
    assert answer.exit_code == 1
    skipped = {each.commit.subject: each.detail for each in answer.tested if each.outcome == "skip"}
    assert skipped == {"3": "make linux failed", "4": "make linux failed"}


def test_a_claim_that_is_the_same_on_both(judge: Judge, history: History, ends: tuple[Commit, Commit]) -> None:
    with pytest.raises(InputError, match=r"the same on .* \(identical\): there is no change to find"):
        search("toy/claim", history, ends, times(judge, lambda _: 1.0), Silent())


def captures(judge: Judge, capture: Callable[[int], bytes]) -> Callable[[Commit], JudgedClaim]:
    """The claim on commit N takes a second and leaves `capture(N)`."""
    output = json.dumps({"start_ns": 0, "end_ns": 10**9}).encode()
    declaration = CLAIM.replace("metric=", 'probes=(Capture(node="sender"),), metric=')

    def judged(commit: Commit) -> JudgedClaim:
        number = int(commit.subject)
        files = {"netcat.json": output, "capture.sender.eth0.pcap": capture(number)}
        return judge(declaration, {"only": [files]}, f"k{number}")

    return judged


def test_packets_alone(judge: Judge, syn: Callable[..., bytes], history: History, ends: tuple[Commit, Commit]) -> None:
    """What chance alone decides is the same packets, and good; where they part is bad, by the field that is said."""
    judged = captures(judge, lambda n: syn(isn=n, window=8192 + (n >= 3)))
    answer = search("toy/claim", history, ends, judged, Silent())
    assert [each.subject for each in answer.found] == ["3"]
    details = {each.outcome: each.detail for each in answer.tested if each.detail}
    assert details == {"good": "same packets", "bad": "packets differ, first at packet 1, in window"}


def test_the_same_packets_are_nothing_to_look_for(
    judge: Judge, syn: Callable[..., bytes], history: History, ends: tuple[Commit, Commit]
) -> None:
    with pytest.raises(InputError, match=r"\(same packets\): there is no change to find"):
        search("toy/claim", history, ends, captures(judge, lambda n: syn(isn=n)), Silent())


def test_an_end_that_does_not_build_is_said(judge: Judge, history: History, ends: tuple[Commit, Commit]) -> None:
    with pytest.raises(BuildFailed):
        search("toy/claim", history, ends, times(judge, lambda n: 1.0 if n else None), Silent())


def test_a_machine_that_fails_is_no_commits_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel: Any = SimpleNamespace(on="host", clocks=("virtual",))
    failed = Judgement((), (LabError("a trial failed"), MachineError("the disk is full")))
    monkeypatch.setattr("lab.ext.bisect.bisection.running.run", lambda *_: failed)
    asked = Search(find.find(["tcp-nodelay/piggyback"])[0], RunOptions(jobs=1), Silent())
    with pytest.raises(MachineError, match="the disk is full"):
        asked.judged(kernel, tmp_path)


MAKEFILE = (
    HEAD
    + """\
linux:
\techo started > started
\tsleep 60
"""
)
SCRIPT = """\
import sys
from pathlib import Path
import lab
from lab.machine.kernel.uml import recipe
recipe.own_patches = lambda series: ()
lab.bisect("tcp-nodelay/piggyback", Path("linux"), "HEAD~1", "HEAD", results="results")
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_search_leaves_nothing(history: History, tmp_path: Path, number: int) -> None:
    (history.tree / "arch" / "um").mkdir(parents=True)
    (history.tree / "arch" / "um" / "Kconfig").touch()
    (history.tree / "Makefile").write_text(MAKEFILE)
    for command in (["add", "."], ["commit", "-qm", "9"], ["commit", "-qm", "10", "--allow-empty"]):
        subprocess.run(["git", *command], cwd=history.tree, env=NAMES, check=True)
    before = {path: path.read_bytes() for path in history.tree.rglob("*") if path.is_file()}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], cwd=tmp_path, stderr=subprocess.PIPE) as process:
        for _ in range(1000):
            if has_started := any((tmp_path / "results").rglob("started")):
                break
            if process.poll() is not None:
                break
            time.sleep(0.02)
        process.send_signal(number)
        said = process.communicate()[1].decode()
    assert has_started, said
    if number == signal.SIGKILL:
        assert list(cleaning.clean(tmp_path / "results"))
    assert not list((tmp_path / "results" / ".staging").iterdir())
    assert {path: path.read_bytes() for path in history.tree.rglob("*") if path.is_file()} == before
