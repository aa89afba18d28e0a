"""Watch the machine while a workload runs in real time, and record all events that could have disturbed the trial.

`watching` writes out/fidelity.json, and `measure_again` adds a measurement of the wires afterwards. `lab.runner.guest`
adds the time for which the host's scheduler kept the guest waiting. This module judges nothing; `lab.verdict.fidelity`
judges the record.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.guest import outputs
from lab.guest.fabric.fabric import Fabric
from lab.guest.fabric.measure import measure
from lab.guest.fabric.shaper import ETHERNET_HEADER, FRAME_OVERHEAD
from lab.guest.fabric.spaces import WIRES
from lab.guest.network import Shaper
from lab.guest.probe import proc_stat
from lab.guest.testbed import Testbed

__all__ = ["measure", "measure_again", "watching"]

VERSION = 3  # of fidelity.json
PERIOD_NS = 2_000_000  # of the grid: 500 moments a second; a user-mode kernel takes 60 us to wake a process
WINDOW_NS = 100_000_000  # between two samples: ten ticks of /proc/stat
LEAST_IDLE = 20  # times the duration of a sample: the monitor uses less than 5 % of the time
COUNTERS_BYTES = 1 << 16
DRAIN_SECONDS = 10.0  # for data that is still queued after the workload has ended
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30


@contextmanager
def watching(testbed: Testbed, fabric: Fabric, wires: list[dict[str, Any]], greedy: bool) -> Iterator[None]:
    """Watch the machine within this context.

    `wires` is the measurement before the workload. `greedy` tells whether the workload fills the wires.
    """
    monitor = _Monitor(fabric, _counters(fabric))
    child = testbed.spawn(
        fabric.network.nodes[0].name, lambda: monitor.run(testbed.out / outputs.FIDELITY, wires, greedy)
    )
    os.close(monitor.counters)
    yield
    child.stop("the monitor")


def measure_again(fabric: Fabric, out: Path) -> None:
    """Measure the wires once more as soon as they are empty, and add the result to `out`/fidelity.json.

    If the wires do not become empty, the file has no second measurement.
    """
    deadline = time.monotonic() + DRAIN_SECONDS
    while any(each["backlog"] for each in fabric.qdiscs()):
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)
    target = out / outputs.FIDELITY
    target.write_text(json.dumps({**json.loads(target.read_text()), "wires_after": measure(fabric)}) + "\n")


@dataclass
class _Monitor:
    fabric: Fabric
    counters: int  # a descriptor of /proc/net/dev of a namespace that all frames cross
    stopped: bool = False
    late_ns: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)  # indices of the moments with new frames since the one before
    samples: list[dict[str, Any]] = field(default_factory=list)

    def run(self, target: Path, wires: list[dict[str, Any]], greedy: bool) -> None:
        """Watch until SIGTERM, then write the observations to `target`."""
        signal.signal(signal.SIGTERM, self._stop)
        clock = _clock()
        policy = _urgent()
        began = time.time_ns()
        self._watch()
        plain = {
            "version": VERSION,
            "greedy": greedy,
            "clock": clock,
            "wires": wires,
            "began_ns": began,
            "wakeups": {"policy": policy, "period_ns": PERIOD_NS, "late_ns": self.in_use()},
            "tick": 1 / proc_stat.ticks_a_second(),
            "samples": self.samples,
        }
        target.write_text(json.dumps(plain) + "\n")

    def in_use(self) -> list[int]:
        """Return the delays of the wake-ups between the first frame and the last.

        Outside this period, a workload starts and ends its processes, which may delay a user-mode kernel by 10 ms.
        """
        return self.late_ns[self.moved[0] : self.moved[-1] + 1] if self.moved else []

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def _watch(self) -> None:
        rated = _rated(self.fabric)
        self.samples.append(self._sample(rated))
        while not self.stopped:
            start = time.monotonic_ns()
            took = start - self.samples[-1]["ns"]
            self._wait(start, start + max(WINDOW_NS, LEAST_IDLE * took))
            self.samples.append(self._sample(rated))

    def _wait(self, start: int, end: int) -> None:
        """Sleep until each scheduled time, and record the delay of each wake-up.

        The times are chosen before the trial, at random, one in each period. So a stall delays every wake-up that is
        due during the stall, and no periodic disturbance can stay in step with the wake-ups.
        """
        chance = random.Random(start)
        seen = os.pread(self.counters, COUNTERS_BYTES, 0)
        for period in range(start, end, PERIOD_NS):
            due = period + chance.randrange(PERIOD_NS)
            if (wait := due - time.monotonic_ns()) > 0:
                time.sleep(wait / 1e9)
            if self.stopped:  # a signal ends a sleep early
                break
            self.late_ns.append(time.monotonic_ns() - due)
            if (now := os.pread(self.counters, COUNTERS_BYTES, 0)) != seen:
                seen = now
                self.moved.append(len(self.late_ns) - 1)

    def _sample(self, rated: dict[tuple[str, str, str], dict[str, Any]]) -> dict[str, Any]:
        """Read the counters since boot.

        CPU ticks cover the trial's CPUs, by kind of work. The ticks of the monitor's own processes are listed
        separately. Each wire's counters come with the time at which they were read.
        """
        cpus = os.sched_getaffinity(0)
        now = time.monotonic_ns()
        wires = [
            {**rated[key], **{name: each[name] for name in ("bytes", "packets", "drops", "backlog")}}
            for each in self.fabric.qdiscs()
            if (key := (each["node"], each["interface"], each["direction"])) in rated
        ]
        return {
            "ns": now,
            "cpus": len(cpus),
            "cpu": proc_stat.ticks(cpus),
            **_own(),
            **_softnet(cpus),
            "wires": wires,
        }


def _counters(fabric: Fabric) -> int:
    """Open the kernel's frame counters of the wires or, in a network without links, of the only host."""
    space = fabric.spaces.of(WIRES) if fabric.network.links else fabric.namespace(fabric.network.nodes[0].name)
    with space.entered():
        return os.open("/proc/thread-self/net/dev", os.O_RDONLY)


def _rated(fabric: Fabric) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the qdiscs that give a wire its rate (the netem of a path, or the tbf of a card), by their place.

    `delay_ns` is the time that a frame spends in the qdisc before the rate limit applies; None if frames move at
    random. `frame_bytes` is the size of the longest frame, as the rate counts it.
    """
    found = {}
    for each in fabric.qdiscs():
        key = (each["node"], each["interface"], each["direction"])
        for link in fabric.network.links:
            for name, (start, direction, _) in zip(("forward", "back"), link.directions(), strict=True):
                card = direction.shaper is Shaper.NIC
                place = (start.node, start.name, "out") if card else (link.name, each["interface"], name)
                if place != key or not direction.rate or not each["options"].get("rate"):
                    continue
                if direction.queue and direction.queue.is_bucket:
                    continue  # a burst exceeds its rate
                wild = bool(direction.jitter) or direction.reorder > 0
                found[key] = {
                    "link": link.name,
                    "direction": name,
                    "rate_bps": direction.rate.bps,
                    "delay_ns": 0 if card else None if wild else direction.delay.ns,
                    "frame_bytes": direction.mtu.bytes + ETHERNET_HEADER.bytes + FRAME_OVERHEAD.bytes,
                }
    return found


def _clock() -> dict[str, Any]:
    """Return the clock's source and resolution, and the timer slack of the trial's processes.

    Call this function before `_urgent`, which changes the slack of this process.
    """
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return {
        "source": source.read_text().strip() if source.exists() else None,
        "resolution_s": time.clock_getres(time.CLOCK_MONOTONIC),
        "timer_slack_ns": ctypes.CDLL(None).prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0),
    }


def _urgent() -> str:
    """Run at real-time priority, so that the monitor is delayed only if the wires are also delayed.

    Return the policy: "fifo", or "other" if real-time priority is forbidden.
    """
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return "other"
    return "fifo"


def _own() -> dict[str, int | None]:
    """Return the number of processes in this PID namespace, and the ticks that they and their ended children used.

    Also return how often processes other than the monitor got the CPU (`turns`), and how long these waited for the CPU
    while they were ready to run (`waited_ns`). `turns` and `waited_ns` are None on a user-mode kernel, which does not
    count them.
    """
    count = ticks = waited = turns = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
            count += 1
            if process.name != str(os.getpid()):
                _, delay, slices = map(int, (process / "schedstat").read_text().split())
                waited, turns = waited + delay, turns + slices
    known = Path("/proc/self/schedstat").exists()
    return {"processes": count, "own": ticks, "waited_ns": waited if known else None, "turns": turns if known else None}


def _softnet(cpus: set[int]) -> dict[str, int]:
    """Count the frames that CPU backlogs dropped, and the times that the softirq stopped with work left (squeezed)."""
    dropped = squeezed = 0
    for number, line in enumerate(Path("/proc/net/softnet_stat").read_text().splitlines()):
        words = [int(word, 16) for word in line.split()]
        if (words[12] if len(words) > 12 else number) in cpus:
            dropped, squeezed = dropped + words[1], squeezed + words[2]
    return {"dropped": dropped, "squeezed": squeezed}
