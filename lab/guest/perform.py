"""Run one trial in the machine with the kernel under test: `python -m lab.guest.perform FOLDER`.

FOLDER holds trial.json. The trial writes FOLDER/out and finally FOLDER/result.json: `{"environment": {...}, "invalid":
[reason, ...]}` or `{"error": message, "exit_code": n}`. All imports here are light, because a guest boots in a tenth of
a second.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from lab.errors import LabError
from lab.guest import outputs, playing, saturation
from lab.guest.alarm import Alarm
from lab.guest.clock import Place, cpu_takes_time
from lab.guest.fabric import build, choose
from lab.guest.fabric.fabric import Fabric
from lab.guest.middlebox import Middlebox
from lab.guest.network import Kind, Network
from lab.guest.probe import Probe
from lab.guest.testbed import POLL_NS, Testbed
from lab.guest.trial import Trial
from lab.guest.workload import Workload
from lab.guest.workload.program import COMPILED
from lab.units import from_plain, to_plain

# The sysctls of a host that the report shows, besides those that the trial sets.
SHOWN_SYSCTLS = (
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
)


# Since boot, on the guest's clock. A user-mode kernel takes almost no time to get there, one under QEMU some 4 s. It is
# more than a second, because in the first second the kernel may defer its view of links, and ping takes a second for 0.
START_NS: Mapping[Place, int] = {"uml": 1_500_000_000, "vm": 8_000_000_000}
TICKS_NS = 20_000_000  # whole ticks at 100, 250 and 1000 Hz, and whole intervals of samples
LATE_NS = 200_000  # if instructions take time, so does waking up
ON_TIME_NS = 1_000  # if they take none
RNDRESEEDCRNG = 0x5207  # linux/random.h


def main(folder: Path) -> int:
    """Run the trial in `folder`, and return 0 or the exit code of the error."""
    try:
        trial = msgspec.json.decode((folder / "trial.json").read_bytes(), type=Trial)
        if trial.clock == "virtual":
            _start(START_NS[trial.on])
        if trial.on == "uml":
            _draw_afresh()
        result = perform(trial, folder)
        status = 0
    except (LabError, OSError) as error:
        status = error.exit_code if isinstance(error, LabError) else 1
        result = {"error": str(error), "exit_code": status}
    except Exception as error:  # noqa: BLE001  # the user gets the reason, and the console log gets the traceback
        import traceback

        traceback.print_exc()
        status = 1
        result = {"error": f"{type(error).__name__}: {error}", "exit_code": status}
    (folder / "result.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    return status


def _start(start_ns: int) -> None:
    """Wait for a fixed time, so that the uptime does not depend on how long the guest took to start.

    Raises LabError if this time has passed.
    """
    with Alarm() as alarm:
        alarm.wait(start_ns)
    if time.monotonic_ns() > start_ns + LATE_NS:
        late = f"the guest took more than {start_ns / 1e9:g} s of its own time to start"
        raise LabError(f"{late}: no trial can be repeated so")


def _draw_afresh() -> None:
    """Make the kernel switch to the next key of its random number generator.

    A seeded key does not depend on earlier draws. The number of earlier draws varies: for example, the kernel draws one
    number for each folder that is created in memory.
    """
    random = os.open("/dev/urandom", os.O_RDONLY)
    try:
        fcntl.ioctl(random, RNDRESEEDCRNG)
    finally:
        os.close(random)


def perform(trial: Trial, folder: Path) -> dict[str, Any]:
    """Build the network, run the workload with the probes, and read the network back. Return the result in plain form.

    Raises LabError or OSError.
    """
    out = folder / "out"
    network = from_plain(trial.network, Network)
    workload: Workload = from_plain(trial.workload, cast(Any, Workload))
    probes: list[Probe] = [from_plain(each, cast(Any, Probe)) for each in trial.probes]
    middleboxes: list[Middlebox] = [from_plain(each, cast(Any, Middlebox)) for each in trial.middleboxes]
    real = trial.clock == "real"
    counted = not real and cpu_takes_time(trial.on, trial.clock)  # in instructions
    out.mkdir(exist_ok=True)
    with choose(trial.fabric)(network, seed=_chance(trial), hurried=real) as fabric:
        environment = _environment(fabric)
        before = fabric.differences()
        if real:
            from lab.guest import monitor  # virtual time does not need it, and its guests start faster without it

            wires = monitor.measure(fabric)
        _write(out / outputs.QDISCS_BEFORE, fabric.qdiscs())
        with ExitStack() as undo:
            names = {node.name: node.name for node in network.nodes} | {end: at.node for end, at in network.ends()}
            spaces = {name: fabric.namespace(node) for name, node in names.items()}
            testbed = Testbed(
                spaces,
                _addresses(network),
                out,
                undo,
                _chance(trial),
                beat_ns=POLL_NS if real or counted else TICKS_NS,  # if waiting is idle time, it disturbs the load
                compiled=folder / COMPILED,
                queue=fabric.queue,
                entrance=fabric.entrance,
            )
            with ExitStack() as standing:
                for middlebox in middleboxes:
                    standing.enter_context(middlebox.installed(testbed))
                for probe in probes:
                    standing.enter_context(probe.watch(testbed))
                if real:
                    standing.enter_context(monitor.watching(testbed, fabric, wires, workload.greedy))
                load = standing.enter_context(saturation.measured()) if counted else None
                with playing.playing(fabric, out / outputs.TIMELINE):
                    workload.run(testbed)
        _write(out / outputs.QDISCS_AFTER, fabric.qdiscs())
        after = [f"after the run, {each}" for each in fabric.differences() if each not in before]
        after += playing.missed(out / outputs.TIMELINE, LATE_NS if real or counted else ON_TIME_NS)
        if real:
            monitor.measure_again(fabric, out)
    environment["spins"] = spins()
    if load is not None:
        environment["cpu_busy"] = load.busy
        after += saturation.reasons(load, probes)
    return {"environment": environment, "invalid": before + after}


def _chance(trial: Trial) -> str:
    """Return the seed for the wires' random draws: in virtual time, the trial's seed.

    In real time, each repeat is a new sample.
    """
    return f"{trial.seed}.{trial.repeat}" if trial.clock == "real" else str(trial.seed)


def _addresses(network: Network) -> dict[tuple[str, int], str]:
    """Return the address of each node, and of each end NODE.LINK, by IP version."""
    found = {}
    for node in network.nodes:
        for version in (4, 6):
            with suppress(KeyError):
                found[node.name, version] = network.address(node.name, version)
    for name, end in network.ends():
        for text in end.addresses:
            found[name, 6 if ":" in text else 4] = text.split("/")[0]
    return found


def _environment(fabric: Fabric) -> dict[str, Any]:
    """Return the kernel's report about itself and each host, without facts about the surrounding machine."""
    hosts = {}
    for node in fabric.network.nodes:
        if node.kind is Kind.SWITCH:
            continue
        with fabric.namespace(node.name).entered():
            names = sorted({*SHOWN_SYSCTLS, *node.sysctls})
            hosts[node.name] = {name: _sysctl(name) for name in names}
    system = os.uname()
    return {"kernel": f"{system.sysname} {system.release} {system.version}", "sysctls": hosts}


def spins() -> list[dict[str, Any]]:
    """Return the programs for which virtual time advanced although they did not wait.

    Each entry holds the program, its system call (None if it made no call), the number of times, and the total in
    seconds. The kernel patch "only waiting takes time" reports the entries.
    """
    file = Path("/proc/spins")
    found = []
    for line in file.read_text().splitlines() if file.exists() else ():
        call, times, ns, program = line.split(" ", 3)
        name = None if call == "-" else call.rpartition("sys_")[2]
        found.append({"program": program, "call": name, "times": int(times), "seconds": int(ns) / 1e9})
    return found


def _sysctl(name: str) -> str | None:
    try:
        return " ".join(build.read_sysctl(name).split())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(file: Path, plain: Any) -> None:
    file.write_text(json.dumps(to_plain(plain), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
