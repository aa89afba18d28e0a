"""The proof on real kernels: changes that we planted are caught, an identical rebuild differs nowhere.

Four kernels are built and a history is searched: too much for every change of the lab. `make test-kernels` runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lab.machine.kernel
from lab.base.building import Silent
from lab.machine.kernel import UmlKernel, folder
from lab.machine.kernel.uml import source
from lab.machine.userland.builder import build

pytestmark = [pytest.mark.guest, pytest.mark.kernels]

LAB = Path(sys.executable).with_name("lab")
PATCHES = Path(__file__).parent / "patches"
DELAYED = "\tato = min_t(u32, ato, tcp_delack_max(sk));"
QUEUED = "div_u64((u64)READ_ONCE(ssk->sk_wmem_queued) << 32, pace)"
TIMEOUT = "jiffies_to_usecs(TCP_RTO_MIN)"
COMMITS = (  # (file of net, what stands there, what then does, subject): the third, seventh and tenth are to be found
    ("ipv4/tcp_input.c", "\n", "\n/* one */\n", "a remark"),
    ("ipv4/tcp_timer.c", "\n", "\n/* two */\n", "another remark"),
    ("ipv4/tcp_output.c", DELAYED, "\tato = HZ * 3 / 50;", "wait a little longer"),
    ("ipv4/tcp_cubic.c", "\n", "\nint broken\n", "a typing mistake"),
    ("ipv4/tcp_cubic.c", "\nint broken\n", "\n", "put it right"),
    ("mptcp/options.c", "\n", "\n/* three */\n", "a third remark"),
    ("mptcp/protocol.c", QUEUED, "READ_ONCE(ssk->sk_wmem_queued)", "compare what is queued in bytes"),
    ("mptcp/token.c", "\n", "\n/* four */\n", "a fourth remark"),
    ("ipv4/tcp_recovery.c", "\n", "\n/* five */\n", "a fifth remark"),
    ("ipv4/tcp_ipv4.c", TIMEOUT, "jiffies_to_usecs(TCP_RTO_MIN - HZ / 100)", "retransmit a little sooner"),
    ("ipv4/tcp_cong.c", "\n", "\n/* six */\n", "a sixth remark"),
)


def lab_says(where: Path, *argv: str, **environment: str) -> tuple[int, Any]:
    """Exit code and JSON document."""
    done = subprocess.run(
        [LAB, *argv, "--json"], cwd=where, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    )
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that all of these share."""
    return tmp_path_factory.mktemp("planted")


@pytest.mark.parametrize(
    ("patch", "claim", "base", "new", "topic"),
    [
        (
            "delack-60ms",
            "ack-rate/quickack-interactive",
            "flow 2 ACK seq 1 ack 18",
            "flow 2 ACK seq 1 ack 18",  # later
            "Delayed ACK",
        ),
        ("half-window", "tcp-bottleneck/window-plateau", "ack 1486 win 524", "ack 1486 win 501", "Receive window"),
        # after iperf's header, 64 bytes, and a segment
        ("initial-window-3", "tcp-bottleneck/delay-100ms", "flow 1 PSH+ACK seq 1513", "flow 1 ACK seq 1513", ""),
        ("mss-less-4", "asymmetric-mtu/reverse-unaffected", "len 448", "len 444", "Segment size"),
    ],
)
def test_a_planted_change_is_caught(
    kernel: UmlKernel, here: Path, patch: str, claim: str, base: str, new: str, topic: str
) -> None:
    planted = lab.machine.kernel.build(kernel.name, [PATCHES / f"{patch}.patch"])
    code, answer = lab_says(here, "regress", "--kernel", kernel.id, "--kernel", planted.id, claim)
    (found,) = answer["claims"]
    packets = [case["divergence"] for case in found["cases"] if case["divergence"]]
    assert code == 1
    assert found["change"] in ("verdict changed", "figure moved")
    assert any(base in each["base"] and new in each["new"] and topic in each["topic"] for each in packets)


def test_an_identical_rebuild_differs_nowhere(kernel: UmlKernel, here: Path, tmp_path: Path) -> None:
    sources = tmp_path / "replab" / "kernels" / "sources"
    sources.parent.mkdir(parents=True)
    sources.symlink_to(folder() / "sources")  # all else, ccache's objects too, is new
    elsewhere = {"XDG_CACHE_HOME": str(tmp_path)}
    for what in (["userland", "build"], ["kernel", "build", kernel.name]):
        subprocess.run([LAB, *what], env={**os.environ, **elsewhere}, check=True)
    rebuilt = sources.parent / kernel.id / "linux"
    assert rebuilt.read_bytes() == kernel.path.read_bytes()
    command = [str(LAB), "run", "--kernel", kernel.id, "ack-rate/quickack-interactive", "--results", "before"]
    assert subprocess.run(command, cwd=here).returncode == 0
    code, answer = lab_says(here, "verify", "before", **elsewhere)
    assert (code, {trial["outcome"] for trial in answer["trials"]}) == (0, {"identical"})


@pytest.fixture(scope="module")
def history(kernel: UmlKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged source in git, and eleven commits on top of it: HEAD~11 to HEAD."""
    tree = tmp_path_factory.mktemp("history") / "linux"
    found = source.resolve(folder(), kernel.name, False, Silent())
    source.unpack(source.fetch(folder(), found, Silent()), tree, build("compiler", Silent()), source.needless(()))
    git(tree, "init", "--quiet")
    git(tree, "add", "--all", "--force", ".")  # Debian's .gitignore hides the whole kernel
    git(tree, "commit", "--quiet", "--message", "the packaged source")
    for name, old, new, subject in COMMITS:
        file = tree / "net" / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))
        git(tree, "commit", "--quiet", "--all", "--message", subject)
    return tree


def git(where: Path, *arguments: str) -> None:
    names = {f"GIT_{who}_{what}": "lab@lab" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", "-c", "core.compression=1", *arguments], cwd=where, env={**os.environ, **names}, check=True)


def test_bisect_names_the_commit(history: Path, here: Path) -> None:
    ends = ("--tree", str(history), "--good", "HEAD~11", "--bad", "HEAD~6")
    code, answer = lab_says(here, "bisect", *ends, "ack-rate/quickack-interactive")
    assert (code, [each["subject"] for each in answer["commits"]]) == (0, ["wait a little longer"])
    assert {each["subject"]: each["outcome"] for each in answer["tested"]}["a typing mistake"] == "skip"
    assert any(case["divergence"] for case in answer["change"]["cases"])
    assert not list((here / "results" / ".staging").iterdir())


def test_bisect_names_the_commit_that_changed_the_scheduler(history: Path, here: Path) -> None:
    """Of two paths, at another rate each: what a claim of Multipath TCP measures, or its packets."""
    ends = ("--tree", str(history), "--good", "HEAD~6", "--bad", "HEAD~3")
    code, answer = lab_says(here, "bisect", *ends, "simult-flows/share-of-rates")
    assert (code, [each["subject"] for each in answer["commits"]]) == (0, ["compare what is queued in bytes"])
    assert any(case["divergence"] for case in answer["change"]["cases"])


def test_bisect_names_the_commit_that_changed_the_timeout(history: Path, here: Path) -> None:
    """By a figure alone: the claim leaves no capture, only when a sender gave up."""
    ends = ("--tree", str(history), "--good", "HEAD~3", "--bad", "HEAD")
    code, answer = lab_says(here, "bisect", *ends, "folk-tuning/retries2")
    assert (code, [each["subject"] for each in answer["commits"]]) == (0, ["retransmit a little sooner"])
    assert answer["change"]["change"] == "figure moved"
