"""The running kernel carries guests: what a trial makes there stays there, and it never outlives us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import InputError, LabError, MachineError
from lab.machine.kernel import Budget, Guest, GuestCrash, GuestEnded, GuestResult, GuestTimeout, UmlKernel, boot, choose
from lab.machine.kernel.host import running
from lab.machine.kernel.host.running import Blocked, RunningKernel
from lab.spec.variant import ResolvedVariant

ROOT = Path(__file__).parents[3]
LAB = Path(sys.executable).with_name("lab")
HERE = RunningKernel("6.1 #1", "0" * 16, 250)
REAL = {"clock": "real", "budget": Budget(wall=60.0)}


def has_namespaces() -> bool:
    flags = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return subprocess.run(["unshare", *flags, "--net", "--mount", "true"], capture_output=True).returncode == 0


namespaces = pytest.mark.skipif(not has_namespaces(), reason="this user may make no namespaces")


def shell(folder: Path, script: str) -> str:
    """What a shell in namespaces of the running kernel says."""
    result = boot(HERE, folder, ["sh", "-c", script], **REAL)  # type: ignore[arg-type]
    said = result.console.read_text()
    assert result.status == 0, said
    return said


@namespaces
@pytest.mark.needs("ip")
def test_it_sees_a_machine_of_its_own(tmp_path: Path) -> None:
    said = shell(tmp_path, "echo $$; hostname; ls /run/netns | wc -l; ip -o link | wc -l; id -u; touch /run/lab/mark")
    assert said.split() == ["2", "lab", "0", "1", "0"]
    assert (tmp_path / "mark").stat().st_uid == tmp_path.stat().st_uid
    assert not (tmp_path / "boot").exists()


@namespaces
@pytest.mark.parametrize(
    "change",
    [
        "touch /etc/replab",
        "touch /var/tmp/replab",
        "echo 1 > /proc/sys/vm/panic_on_oom",
        "echo 0 > /proc/sys/kernel/panic",
        "echo 1 > /proc/sys/net/core/no_such_thing",
    ],
)
def test_what_is_the_hosts_cannot_be_changed(tmp_path: Path, change: str) -> None:
    assert shell(tmp_path, f"({change}) 2>/dev/null || echo refused") == "refused\n"


@pytest.mark.alone
@namespaces
@pytest.mark.needs("ip")
def test_what_is_a_namespaces_own_can_and_goes_with_it(tmp_path: Path) -> None:
    sysctl = Path("/proc/sys/net/ipv4/tcp_sack")
    before, names = sysctl.read_text(), sorted(Path("/run/netns").glob("*"))
    script = f"echo {1 - int(before)} > {sysctl}; ip netns add mine; ip link add w0 type veth"
    assert shell(tmp_path, f"{script}; cat {sysctl}; ls /run/netns").split() == [str(1 - int(before)), "mine"]
    assert sysctl.read_text() == before
    assert names == sorted(Path("/run/netns").glob("*"))
    assert not Path("/sys/class/net/w0").exists()


def working(mark: str) -> list[str]:
    """Processes that have `mark` in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(entry.name)
        except OSError:
            continue
    return found


def until(true: Callable[[], bool]) -> bool:
    """Within ten seconds."""
    for _ in range(500):
        if true():
            return True
        time.sleep(0.02)
    return False


DEAF = "trap '' TERM INT HUP; (setsid sleep 98.{0} &); sleep 99.{0}"


@pytest.mark.long
@pytest.mark.alone
@namespaces
@pytest.mark.parametrize("behind", [False, True], ids=["directly", "behind another user's program"])
@pytest.mark.parametrize("how", ["ended", "supervisor killed", "launcher killed", "out of time"])
def test_nothing_outlives_it(tmp_path: Path, how: str, behind: bool) -> None:
    """Through sudo no death of a parent is told; env plays it here, and only a pipe reaches past it."""
    mark = f"{os.getpid()}{len(how)}{int(behind)}"
    kernel = RunningKernel("6.1 #1", "0" * 16, 250, ("setsid", "--wait", "env", "-u", "NOBODY") if behind else ())
    budget = Budget(wall=1.0 if how == "out of time" else 60.0)
    with Guest(kernel, tmp_path, ["sh", "-c", DEAF.format(mark)], clock="real", budget=budget) as guest:
        assert until(lambda: len(working(f".{mark}")) >= 3)
        if how == "ended":
            guest.end()
        elif how == "supervisor killed":
            guest._supervisor.kill()
        elif how == "launcher killed":
            supervisor = guest._supervisor.pid
            children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
            os.kill(int(children[0]), 9)
        with pytest.raises(GuestTimeout if how == "out of time" else GuestEnded if how == "ended" else LabError):
            guest.wait()
    assert until(lambda: not working(f".{mark}"))


def test_it_is_the_running_kernel_and_has_no_variants() -> None:
    assert HERE.variant(ResolvedVariant(hz=250)) == HERE
    with pytest.raises(MachineError, match=r"HZ 1000.*--on uml"):
        HERE.variant(ResolvedVariant(hz=1000))
    with pytest.raises(InputError, match="only the running kernel"):
        choose("host", "2.4")
    assert HERE.describe() == {"name": "running", "version": "6.1 #1", "id": "0" * 16, "hz": 250, "patches": []}


def test_a_blocker_comes_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "boot", lambda _, folder, __, **___: ended(folder, "it lacks sch_netem"))
    with pytest.raises(Blocked, match=r"it lacks sch_netem.*--on uml --clock real") as blocked:
        running.find()
    assert blocked.value.exit_code == 3
    assert "sch_netem" in blocked.value.cure or "no modules" in blocked.value.cure


def test_what_forbids_user_namespaces_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: RunningKernel, folder: Path, *__: object, **___: object) -> GuestResult:
        console = folder / "console.log"
        console.write_text("no user namespace for this user: Operation not permitted\n")
        raise GuestCrash("the guest ended before its command did", console)

    switch = Path("/proc/sys/kernel/ostype")
    monkeypatch.setattr(running, "boot", refuse)
    monkeypatch.setattr(running, "SWITCHES", {"kernel/ostype": (switch.read_text().strip(), "sysctl kernel.ostype=0")})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", "/nonexistent")  # no sudo
    with pytest.raises(Blocked) as blocked:
        running.find()
    assert blocked.value.blocker == "no user namespace for this user: Operation not permitted"
    assert blocked.value.cure == "sysctl kernel.ostype=0"


def test_where_ourselves_may_not_sudo_may(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse_all_but_sudo(kernel: RunningKernel, folder: Path, *_: object, **__: object) -> GuestResult:
        console = folder / "console.log"
        console.touch()
        if kernel.become:
            return GuestResult(0, console, 0.1, 0.1, 0.1)
        raise GuestCrash("the guest ended before its command did", console)

    (tmp_path / "sudo").touch(mode=0o755)
    monkeypatch.setattr(running, "boot", refuse_all_but_sudo)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = running.find()
    assert (found.become, found.way) == ((str(tmp_path / "sudo"), "-n"), "by sudo")


def ended(folder: Path, said: str) -> GuestResult:
    console = folder / "console.log"
    console.write_text(said + "\n")
    return GuestResult(1, console, 0.1, 0.1, 0.1)


CLAIM = '''"""A claim of the tests."""

from lab import Arm, Duration, Experiment, Reported, Within, metric
from lab.spec.variant import ResolvedVariant
from lab import Bulk

EXPERIMENT = Experiment(
    topology="two.yaml",
    workload=Bulk(duration=Duration.of("1 s")),
    metric=metric.bulk_goodput(),
    arms=(Arm("only", Reported("9.4 Mbit/s", "it says so")),),
    tolerance=Within(0.05, because="it is a test"),
)
'''
TWO = "about: Two.\nhosts: [sender, receiver]\nlinks: {path: {ends: [sender, receiver], rate: 10 Mbit/s}}\n"
# The project is shown to it in another place, since it may not reach where it really is (below /root, say).
PYTHON = Path("/tmp/project", Path(sys.executable).relative_to(ROOT))
AS_NOBODY = f"""mkdir /tmp/project; mount --bind "{ROOT}" /tmp/project; export PYTHONPATH=/tmp/project
setpriv --reuid=65534 --regid=65534 --clear-groups {PYTHON} -c 'from lab.cli import main; main()' """


@pytest.mark.guest
@pytest.mark.needs("ip", "tc", "tcpdump")
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_kernel_with_netem_carries_trials(kernel: UmlKernel, tmp_path: Path, user: str) -> None:
    """Inside a guest whose own kernel has what a wire needs: as root, and in a user namespace."""
    (tmp_path / "two.yaml").write_text(TWO)
    (tmp_path / "claim.py").write_text(CLAIM)
    lab = AS_NOBODY if user == "nobody" else LAB
    script = f"{lab} run --on host claim.py --results /tmp/results --json > answer; "
    script += "ls /run/netns /tmp/results/.staging > left; cat /tmp/results/??/*/trial.json > trial"
    tmp_path.chmod(0o755)
    for name in ("answer", "left", "trial"):
        (tmp_path / name).touch()
    result = boot(kernel, tmp_path, ["sh", "-c", script], clock="real", budget=Budget(wall=120.0))
    assert result.status == 0, result.console.read_text()
    (claim,) = json.loads((tmp_path / "answer").read_text())["claims"]
    assert (claim["kernel"], claim["clock"]) == ("running", "real")
    assert claim["verdict"] in ("reproduced", "invalid"), claim  # the machine may be too busy, and then says so
    trial = json.loads((tmp_path / "trial").read_text())
    assert (trial["on"], trial["kernel"]["hz"]) == ("host", 1000)
    assert (tmp_path / "left").read_text().split() == ["/run/netns:", "/tmp/results/.staging:"]
