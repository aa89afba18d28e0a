"""Kills `lab run` at random moments, and says what each death left: `python killing.py PLACE TIMES SEED`.

Runs as root in fresh mount, network and PID namespaces (`unshare` makes them), so that all that it sees is its own. A
foreign namespace, veth pair and qdisc stand beside the lab. Prints one JSON document: `{"kills": [{"victim", "after",
"left", "said"}], "last": exit status of a run that nobody killed}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import lab
from lab.base import cache

LAB = str(Path(sys.executable).with_name("lab"))
WORK = Path("/tmp/killing")
CLAIM = '''"""A claim of the tests."""

from lab import Arm, Bulk, Capture, Duration, Experiment, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="two.yaml",
    workload=Bulk(duration=Duration.of("{duration}")),
    probes=(Capture(),),
    metric=metric.bulk_goodput(),
    arms=tuple(  # each is a run of its own
        Arm(name, Reported("94 Mbit/s", "it says so"), sysctls={{"net.ipv4.tcp_fin_timeout": 30 + number}})
        for number, name in enumerate({arms})
    ),
    tolerance=Within(0.9, because="it is a test"),
)
'''
TWO = "about: Two.\nhosts: [sender, receiver]\nlinks: {path: {ends: [sender, receiver], rate: 100 Mbit/s}}\n"
FOREIGN = """
ip netns add foreign
ip link add f0 type veth peer name f1 netns foreign
tc qdisc add dev f0 root tbf rate 1mbit burst 10k limit 10k
ip link set f0 up
ip -n foreign link set f1 up
"""
SEEN = (
    ("ip", "netns"),
    ("ip", "-o", "link"),
    ("ip", "-n", "foreign", "-o", "link"),
    ("tc", "qdisc"),
    ("ls", "/tmp", "/dev/shm", "/run", "/run/netns", "/sys/fs/cgroup"),
    ("cut", "-d", " ", "-f", "4-", "/proc/self/mountinfo"),
    ("sysctl", "-a", "--ignore", "-r", r"^(net|vm)\.(?!.*(stat|_time|unres_qlen|netfilter))"),
)


def seen() -> list[str]:
    """All that a lab could leave on a machine, as text."""
    lines = []
    for argv in SEEN:
        said = subprocess.run(argv, capture_output=True, text=True).stdout
        lines += [f"{argv[0]}: {line}" for line in said.splitlines()]
    return lines


def living(me: int) -> dict[int, str]:
    """Every process but this one, by number: its command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and int(entry.name) != me:
                found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
    return found


def reap() -> None:
    """What was orphaned comes to the first process of a PID namespace, which we are."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def victims(runner: int, kind: str) -> Iterator[int]:
    """The runner, or of the processes below it those of that kind."""
    for pid, said in living(os.getpid()).items():
        words = {"runner": "lab run", "supervisor": "supervise.py", "guest": "linux mem="}
        if pid == runner if kind == "runner" else words[kind] in said or (kind == "guest" and "hosted" in said):
            yield pid


def hide(folder: Path) -> None:
    """Put an empty folder over this one, with only what the lab runs from, for a checkout may lie there."""
    needed = {Path(sys.prefix), Path(sys.base_prefix), Path(lab.__file__).parents[1], cache.folder("kernels").parent}
    handles = {path: os.open(path, os.O_PATH) for path in needed if path.is_relative_to(folder) and path.is_dir()}
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)
    for path, handle in handles.items():  # by their handles: their paths lead nowhere now
        path.mkdir(parents=True, exist_ok=True)
        bind = ["mount", "--no-canonicalize", "--rbind", f"/proc/self/fd/{handle}", str(path)]
        subprocess.run(bind, pass_fds=[handle], check=True)
        os.close(handle)


def run(place: str, seed: int) -> subprocess.Popen[str]:
    argv = [LAB, "run", "claim.py", "--on", place, "--seed", str(seed), "--results", "results"]
    return subprocess.Popen(argv, cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def kill_one(place: str, seed: int, chance: random.Random, longest: float) -> dict[str, object] | None:
    """One run, killed; what is left of it after `lab store clean`. None when it had ended before its moment came."""
    before = seen()
    kind, after = chance.choice(["runner", "runner", "supervisor", "guest"]), chance.uniform(0, longest)
    runner = run(place, seed)
    time.sleep(after)
    doomed = list(victims(runner.pid, kind))
    if not doomed:
        kind, doomed = "runner", list(victims(runner.pid, "runner"))
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, said = runner.communicate()
    if not doomed:
        return None
    subprocess.run([LAB, "clean", "--results", "results"], cwd=WORK, capture_output=True, check=True)
    for _ in range(100):
        reap()
        left = [*living(os.getpid()).values()]
        if not left:
            break
        time.sleep(0.1)
    now = seen()
    left += [f"gone: {line}" for line in before if line not in now] + [line for line in now if line not in before]
    left += [str(path) for path in (WORK / "results" / ".staging").glob("*")]
    left += [str(path) for path in (WORK / "results").glob("*") if path.name == "failed"]
    return {"victim": kind, "after": round(after, 3), "left": left, "said": said[-300:]}


def main(place: str, times: int, seed: int) -> None:
    for folder in ("/run", "/tmp", "/dev/shm"):
        hide(Path(folder))
    WORK.mkdir()
    arms = ("one",) if place == "host" else ("one", "two")  # the running kernel takes one at a time
    (WORK / "claim.py").write_text(CLAIM.format(duration="500 ms", arms=arms))
    (WORK / "two.yaml").write_text(TWO)
    subprocess.run(["sh", "-ec", FOREIGN], check=True)
    run(place, 0).communicate()  # which compiles what is to compile
    start = time.monotonic()
    run(place, 1).communicate()
    longest = time.monotonic() - start
    chance = random.Random(seed)
    kills: list[dict[str, object]] = []
    for number in range(2, 2 + 10 * times):
        if len(kills) < times and (killed := kill_one(place, number, chance, longest)):
            kills.append(killed)
    last = run(place, 0)
    last.communicate()
    shutil.rmtree(WORK)
    json.dump({"kills": kills, "longest": longest, "last": last.returncode}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
