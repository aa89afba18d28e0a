"""Bring networks up and down in one guest in real time: ours and Mininet's own, one after another.

As a program it runs in the guest, from a copy there: `python fabrics.py FOLDER` leaves FOLDER/times.json.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from lab.errors import LabError, MachineError
from lab.guest.mininet import make_importable
from lab.guest.network import Network
from lab.machine.kernel import Budget, boot, find
from lab.runner.memory import memory_of
from lab.spec import topology
from lab.units import from_plain, to_plain

HOSTS, MANY, MOST = 100, 1000, 10_000
PORTS = 1000  # that a switch has: a Linux bridge takes 1,023
RUNS = 3

Times = dict[str, list[float]]  # what came up and down -> seconds of each run


def time(scratch: Path) -> tuple[Times, Times]:
    """Return (seconds up and down, how many times faster than Mininet's own). Raises LabError, MachineError."""
    if not shutil.which("brctl", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"):
        raise MachineError("Mininet's own bridge needs brctl: sudo apt-get install bridge-utils")
    folder = scratch / "fabrics"
    folder.mkdir()
    # The larger ones are without IPv6: a switch would send IPv6's reports to multicast routers a million times.
    networks = {count: _network(count, "rate: 1 Gbit/s, mtu: 1200 B") for count in (MANY, MOST)}
    networks[HOSTS] = _network(HOSTS, "rate: 1 Gbit/s")
    for count, network in networks.items():
        (folder / f"{count}.json").write_text(json.dumps(to_plain(network)))
    program = shutil.copy(__file__, folder)  # a guest reads of this machine what the lab is made of, and its own folder
    command = [sys.executable, Path(program).name, "."]
    done = boot(find(), folder, command, clock="real", memory=memory_of(networks[MOST]), budget=Budget(wall=None))
    if done.status:
        raise LabError(f"the guest ended with status {done.status}: {done.console.read_text()[-500:]}")
    times: Times = json.loads((folder / "times.json").read_text())
    ours, theirs = times[_name("the lab", HOSTS)], times[_name("Mininet's own", HOSTS)]
    ratios = {f"{HOSTS} hosts up": [other / own for own, other in zip(ours, theirs, strict=True)]}
    return times, ratios


def _network(count: int, link: str) -> Network:
    """Make a network of `count` hosts, each connected by `link` to a switch; the first switch connects the others."""
    hosts = [f"h{number}" for number in range(1, count + 1)]
    switches = [f"s{number}" for number in range(1, -(-count // PORTS) + 1)]
    links = [f"  {switch}-s1: {{ends: [{switch}, s1], {link}}}" for switch in switches[1:]]
    for index, host in enumerate(hosts):
        switch = switches[index // PORTS]
        ends = f"{{h1: {{addresses: [10.0.0.1/16]}}, {switch}: {{}}}}" if host == "h1" else f"[{host}, {switch}]"
        links.append(f"  {host}-{switch}: {{ends: {ends}, {link}}}")
    about = ["about: Switches.", f"hosts: [{', '.join(hosts)}]", f"switches: [{', '.join(switches)}]", "links:"]
    return topology.parse("\n".join([*about, *links]), Path("switches.yaml")).network


def _name(who: str, count: int, way: str = "up") -> str:
    return f"{who}, {count} hosts, {way}"


def _ours(folder: Path, count: int) -> tuple[float, float]:
    from lab.guest.fabric.fabric import Fabric

    network = from_plain(json.loads((folder / f"{count}.json").read_text()), Network)
    start = perf_counter()
    with Fabric(network):
        up = perf_counter()
    return up - start, perf_counter() - up


def _theirs(_: Path, count: int) -> tuple[float, float]:
    """Use plain links without a rate and a Linux bridge: the least that Mininet can make."""
    make_importable()
    from mininet.net import Mininet
    from mininet.nodelib import LinuxBridge
    from mininet.topo import SingleSwitchTopo

    start = perf_counter()
    net = Mininet(topo=SingleSwitchTopo(count), switch=LinuxBridge, controller=None)
    net.start()
    up = perf_counter()
    net.stop()
    return up - start, perf_counter() - up


def main(folder: Path) -> None:
    """Run all of them in turn, each run in a process of its own."""
    runs: list[tuple[str, int, Callable[[Path, int], tuple[float, float]]]] = []
    for _ in range(RUNS):
        runs += [("the lab", HOSTS, _ours), ("Mininet's own", HOSTS, _theirs)]
    runs += [("the lab", count, _ours) for count in (MANY, MOST)]
    times: Times = {}
    for who, count, build in runs:
        for way, seconds in zip(("up", "down"), _apart(lambda: build(folder, count)), strict=True):  # noqa: B023  # used at once
            times.setdefault(_name(who, count, way), []).append(seconds)
    (folder / "times.json").write_text(json.dumps(times))


def _apart(work: Callable[[], Any]) -> Any:
    """Return what `work` returns in a child process, so that what it leaves in memory goes with it."""
    reader, writer = os.pipe()
    if not os.fork():
        os.write(writer, json.dumps(work()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        said = answer.read()
    os.wait()
    return json.loads(said)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
