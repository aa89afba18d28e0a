"""Watch the machine while a workload runs in real time, and record all that could have spoilt the trial.

The monitor leaves out/fidelity.json. It judges nothing; `lab.verdict.fidelity` does that, from the record.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import outputs
from lab.fabric.fabric import Fabric
from lab.fabric.measure import measure
from lab.probe import proc_stat
from lab.testbed import Testbed

__all__ = ["measure", "watching"]

PERIOD_NS = 5_000_000  # between two wake-ups: 200 a second, so that one in a hundred is seen in half a second
WINDOW_NS = 100_000_000  # between two samples, ten of /proc/stat's ticks
LEAST_IDLE = 20  # times what a sample takes: the monitor's own part stays below 5 %
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30


@contextmanager
def watching(testbed: Testbed, fabric: Fabric, wires: list[dict[str, Any]], greedy: bool) -> Iterator[None]:
    """Watch within this context. `wires` are as measured before; `greedy` says whether the workload fills them."""
    monitor = _Monitor(fabric)
    child = testbed.spawn(
        fabric.network.nodes[0].name, lambda: monitor.run(testbed.out / outputs.FIDELITY, wires, greedy)
    )
    yield
    child.stop("the monitor")


@dataclass
class _Monitor:
    fabric: Fabric
    stopped: bool = False
    late_ns: list[int] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)

    def run(self, target: Path, wires: list[dict[str, Any]], greedy: bool) -> None:
        """Watch until SIGTERM, then write what was seen to `target`."""
        signal.signal(signal.SIGTERM, self._stop)
        clock = _clock()
        policy = _urgent()
        self._watch()
        plain = {
            "greedy": greedy,
            "clock": clock,
            "wires": wires,
            "wakeups": {"policy": policy, "period_ns": PERIOD_NS, "late_ns": self.late_ns},
            "tick": 1 / proc_stat.ticks_a_second(),
            "samples": self.samples,
        }
        target.write_text(json.dumps(plain) + "\n")

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def _watch(self) -> None:
        rated = _rated(self.fabric)
        self.samples.append(self._sample(rated))
        again = time.monotonic_ns() + WINDOW_NS
        while not self.stopped:
            due = time.monotonic_ns() + PERIOD_NS
            time.sleep(PERIOD_NS / 1e9)
            now = time.monotonic_ns()
            self.late_ns.append(now - due)
            if now >= again:
                self.samples.append(self._sample(rated))
                again = now + max(WINDOW_NS, LEAST_IDLE * (time.monotonic_ns() - now))
        self.samples.append(self._sample(rated))

    def _sample(self, rated: dict[tuple[str, str, str], dict[str, Any]]) -> dict[str, Any]:
        """Read the counters since boot.

        CPU ticks are those of the trial's CPUs, by kind of work, and separately those of its own processes.
        """
        cpus = os.sched_getaffinity(0)
        wires = [
            {**rated[key], **{name: each[name] for name in ("bytes", "packets", "drops", "backlog")}}
            for each in self.fabric.qdiscs()
            if (key := (each["node"], each["interface"], each["direction"])) in rated
        ]
        return {
            "ns": time.monotonic_ns(),
            "cpus": len(cpus),
            "cpu": proc_stat.ticks(cpus),
            **_own(),
            **_softnet(cpus),
            "wires": wires,
        }


def _rated(fabric: Fabric) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Find the qdiscs that give a wire its rate (a path's netem, or a card's tbf), by where they are."""
    rates = {
        (link.name, name): direction.rate.bps
        for link in fabric.network.links
        for name, (_, direction, _) in zip(("forward", "back"), link.directions(), strict=True)
        if direction.rate
    }
    cards = {
        (start.node, start.name, "out"): (link.name, name)
        for link in fabric.network.links
        for name, (start, _, _) in zip(("forward", "back"), link.directions(), strict=True)
    }
    found = {}
    for each in fabric.qdiscs():
        key = (each["node"], each["interface"], each["direction"])
        link, name = cards.get(key, (each["node"], each["direction"]))
        if each["options"].get("rate") and (link, name) in rates:
            found[key] = {"link": link, "direction": name, "rate_bps": rates[link, name]}
    return found


def _clock() -> dict[str, Any]:
    """Say what time is made of here; the slack is that of the trial's processes, before this one is made urgent."""
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return {
        "source": source.read_text().strip() if source.exists() else None,
        "resolution_s": time.clock_getres(time.CLOCK_MONOTONIC),
        "timer_slack_ns": ctypes.CDLL(None).prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0),
    }


def _urgent() -> str:
    """Run at real-time priority, so that whatever delays the monitor would delay the wires too.

    Return the policy: "fifo", or "other" where real-time priority is forbidden.
    """
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return "other"
    return "fifo"


def _own() -> dict[str, int]:
    """Count the processes of this PID namespace, and the ticks used by them and by their children that ended."""
    count = ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, stat.read_text().rpartition(")")[2].split()[11:15]))
            count += 1
    return {"processes": count, "own": ticks}


def _softnet(cpus: set[int]) -> dict[str, int]:
    """Count frames dropped by the CPUs' backlogs, and how often the softirq stopped with work left (squeezed)."""
    dropped = squeezed = 0
    for number, line in enumerate(Path("/proc/net/softnet_stat").read_text().splitlines()):
        words = [int(word, 16) for word in line.split()]
        if (words[12] if len(words) > 12 else number) in cpus:
            dropped, squeezed = dropped + words[1], squeezed + words[2]
    return {"dropped": dropped, "squeezed": squeezed}
