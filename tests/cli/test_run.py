"""`lab run` as a person meets it: answers, exit codes, and one clear message for everything that goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.machine.kernel import UmlKernel

pytestmark = pytest.mark.guest

LAB = Path(sys.executable).with_name("lab")
TOPOLOGY = """\
about: Two hosts.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    {rate}
"""
EXPERIMENT = '''"""A claim of the tests."""

from lab import Arm, Bulk, Capture, Duration, Experiment, Iperf3, Ping, Reported, Value, Within, metric

EXPERIMENT = Experiment(
    topology="two.yaml",
    workload={workload},
    metric={metric},
    arms=(Arm("only", Reported("{reported}", "it says so")),),
    tolerance=Within(0.01, because="it is a test"),
    {more}
)
'''

Lab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def lab(kernel: UmlKernel, tmp_path: Path) -> Lab:
    """Runs `lab run` on an experiment made of these parts, in a folder of its own."""

    def run(
        *options: str,
        rate: str = "rate: 100 Mbit/s",
        workload: str = 'Bulk(duration=Duration.of("500 ms"))',
        metric: str = "metric.bulk_goodput()",
        reported: str = "94.15 Mbit/s",
        more: str = "",
        environment: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        (folder / "two.yaml").write_text(TOPOLOGY.format(rate=rate))
        text = EXPERIMENT.format(workload=workload, metric=metric, reported=reported, more=more)
        (folder / "claim.py").write_text(text)
        argv = [*prefix, str(LAB), "run", "mine/claim.py", "--kernel", kernel.id, *options]
        return subprocess.run(
            argv, cwd=tmp_path, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=100
        )

    return run


def guests(folder: Path) -> list[str]:
    """Processes that work below `folder`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder) and int(entry.name) != os.getpid():
                found.append(entry.name)
        except OSError:
            continue
    return found


def staged(folder: Path) -> list[Path]:
    """What a run left half-made."""
    return list((folder / "results" / ".staging").glob("*"))


def test_the_answer_is_the_contract(lab: Lab) -> None:
    done = lab("--json")
    assert done.returncode == 0, done.stderr
    (claim,) = json.loads(done.stdout)["claims"]
    assert (claim["claim"], claim["verdict"], claim["clock"]) == ("mine/claim", "reproduced", "virtual")
    (result,) = claim["results"]
    assert result["unit"] == "bit/s"
    assert result["measured"] == pytest.approx(94.15e6, rel=0.001)
    assert result["predicted"] is None
    assert [len(address) for address in result["trials"]] == [64]


def test_a_verdict_is_said_as_it_comes_and_when(lab: Lab) -> None:
    said = lab("--begun", str(time.time() - 120)).stderr.splitlines()
    assert said[0].startswith("[1/1] mine/claim only: ")
    assert said[1] == "mine/claim: reproduced"
    assert said[-1].startswith("first verdict after 2 min")
    again = lab().stderr
    assert "in the store" in again
    assert "mine/claim: reproduced" not in again, "it is no news"


def test_a_finished_trial_is_not_run_again(lab: Lab) -> None:
    lab()
    again = lab()
    assert "in the store" in again.stderr
    assert again.returncode == 0


def test_a_table_fits_eighty_columns(lab: Lab) -> None:
    done = lab()
    assert "reproduced" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_unexpected_verdict_is_one_and_said(lab: Lab) -> None:
    said = "mine/claim: the verdict is not reproduced; the claim expects reproduced"
    unexpected = lab(reported="50 Mbit/s")
    assert (unexpected.returncode, said in unexpected.stderr.splitlines()) == (1, True)
    expected = lab(reported="50 Mbit/s", more='expect="not reproduced",')
    assert (expected.returncode, said in expected.stderr.splitlines()) == (0, False)


def test_a_model_that_is_off_is_one_and_said(lab: Lab) -> None:
    done = lab(more='prediction=lambda path: Value(95e6, "bit/s"),')
    assert done.returncode == 1
    assert "reproduced" in done.stdout
    assert "+0.91 % !" in done.stdout
    assert "mine/claim, only: the model is off, 95.00 Mbit/s predicted, 94.15 Mbit/s measured" in done.stderr
    assert lab(more='prediction=lambda path: Value(94.2e6, "bit/s"),').returncode == 0


def test_repeats_are_identical(lab: Lab) -> None:
    done = lab("--json", "--repeat", "2")
    (result,) = json.loads(done.stdout)["claims"][0]["results"]
    assert len(set(result["trials"])) == 2
    assert done.returncode == 0


# -- what goes wrong


@pytest.mark.parametrize("workload", ["Bulk()", "Iperf3()"])
def test_a_flow_without_a_rate_is_refused(lab: Lab, workload: str) -> None:
    """It would spin for ever in virtual time."""
    done = lab(rate="delay: 0 ms", workload=workload)
    assert done.returncode == 2
    assert "a link with a rate" in done.stderr
    assert done.stderr.startswith("lab: mine/claim.py:")


def test_a_hung_workload_is_ended_and_explained(lab: Lab, tmp_path: Path) -> None:
    """Bulk over a link that as good as has no rate."""
    done = lab("--stall", "1", "--budget", "4", rate="rate: 40 Tbit/s")
    assert done.returncode == 1
    assert "the guest did not end within 4 s" in done.stderr or "the guest hangs" in done.stderr
    hung, *verdict = done.stderr.splitlines()
    assert verdict == ["mine/claim: invalid", "mine/claim: the verdict is invalid; the claim expects reproduced"]
    assert (tmp_path / hung.rpartition(" ")[2]).exists(), "the console log is kept"
    assert guests(tmp_path) == []
    assert staged(tmp_path) == []


def test_a_killed_guest_is_explained(lab: Lab, tmp_path: Path, kernel: UmlKernel) -> None:
    import threading

    def kill() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for pid in guests(tmp_path / "results"):
                if os.path.realpath(f"/proc/{pid}/exe") == str(kernel.path):
                    os.kill(int(pid), signal.SIGKILL)
                    return
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    done = lab(workload='Iperf3(duration=Duration.of("60 s"))', rate="rate: 1 Gbit/s")
    killer.join()
    assert done.returncode == 3  # the host did it, not the trial
    assert "the guest's kernel was killed by SIGKILL" in done.stderr
    assert guests(tmp_path) == []
    assert staged(tmp_path) == []


@pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0,
    reason="only root, and outside a chroot, can mount a small disk for itself alone",
)
@pytest.mark.parametrize(
    ("options", "said"), [((), "--anyway starts despite this"), (("--anyway",), "No space left on device")]
)
def test_a_small_disk_is_named_before_and_while_it_fills(
    lab: Lab, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    small = tmp_path / "results"
    small.mkdir()
    mount = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size=8m tmpfs "{small}" && exec "$@"', "sh")
    done = lab(
        *options,
        rate="rate: 1 Gbit/s",
        workload='Bulk(duration=Duration.of("1 s"))',
        more="probes=(Capture(),),",
        prefix=mount,
    )
    assert done.returncode == 3
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert guests(tmp_path) == []


@pytest.mark.parametrize(
    ("rate", "line", "message"),
    [
        ("rate: -1 Mbit/s", 6, "negative"),
        ("ratio: 1 Mbit/s", 6, "did you mean 'rate'"),
    ],
)
def test_a_mistake_in_a_topology_has_its_line(lab: Lab, rate: str, line: int, message: str) -> None:
    done = lab(rate=rate)
    assert done.returncode == 2
    assert f"mine/two.yaml:{line}: " in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_host_has_its_line(lab: Lab) -> None:
    done = lab("--json", rate="rate: 1 Gbit/s", workload='Bulk(server="reciever")')
    assert done.returncode == 2
    (error,) = json.loads(done.stdout)["errors"]
    assert error["file"] == "mine/claim.py"
    assert "did you mean 'receiver'" in error["message"]


def test_a_missing_tool_is_named(lab: Lab, tmp_path: Path) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    for tool in ("sh", "env"):
        (bare / tool).symlink_to(shutil.which(tool) or "")
    done = lab("--userland", "host", workload="Iperf3()", environment={"PATH": str(bare)})
    assert done.returncode == 3
    assert "'iperf3' missing" in done.stdout
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_guests_and_keeps_what_is_done(lab: Lab, tmp_path: Path, kernel: UmlKernel) -> None:
    lab()  # writes the files
    path = tmp_path / "mine" / "claim.py"
    path.write_text(
        path.read_text().replace('Bulk(duration=Duration.of("500 ms"))', 'Bulk(duration=Duration.of("600 s"))')
    )
    running = subprocess.Popen(
        [LAB, "run", "mine/claim.py", "--kernel", kernel.id], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while len(guests(tmp_path / "results")) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert guests(tmp_path) == []
    assert staged(tmp_path) == []


def test_a_killed_run_leaves_nothing_running(lab: Lab, tmp_path: Path, kernel: UmlKernel) -> None:
    lab(rate="rate: 1 Gbit/s")
    path = tmp_path / "mine" / "claim.py"
    path.write_text(path.read_text().replace('"500 ms"', '"600 s"'))
    running = subprocess.Popen([LAB, "run", "mine/claim.py", "--kernel", kernel.id], cwd=tmp_path)
    deadline = time.monotonic() + 30
    while len(guests(tmp_path / "results")) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.kill()
    running.wait()
    deadline = time.monotonic() + 10
    while guests(tmp_path / "results") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert guests(tmp_path / "results") == []
    assert len(staged(tmp_path)) == 2, "the trial's folder, and the mark of who uses the store"
    cleaned = subprocess.run([LAB, "clean"], cwd=tmp_path, capture_output=True, text=True)
    assert cleaned.returncode == 0
    assert staged(tmp_path) == []
