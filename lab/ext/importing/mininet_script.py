"""Read the network of a Mininet script, which builds it in a guest, in virtual time, and stops there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lab.base import foreign
from lab.errors import InputError
from lab.ext.importing import quantities
from lab.ext.importing.following import Follower
from lab.ext.importing.found import Device, FoundNetwork
from lab.ext.importing.where import Where
from lab.ext.mininet.packing import pack
from lab.machine.kernel import Budget, Guest, GuestError, choose, scratch_guest_folder
from lab.machine.userland.ready import ready
from lab.runner.code import sealed
from lab.spec import topo
from lab.spec.errors import display

HERE = Path(__file__).parent
BUDGET = Budget(wall=60.0, stall=20.0)  # building a network takes a few seconds
MOST_BYTES = 32 << 20
LAST_LINES = 3
_BUILDING = ("host", "switch", "link")  # the steps that come first, before the commands to hosts
# Parameters of hosts that have no meaning in a topology, or that the lab applies anyway.
_UNUSED = {
    "mac",
    "cores",
    "inNamespace",
    "batch",
    "startCommand",
    "ipBase",
    "dpid",
    "protocols",
    "failMode",
    "stp",
    "defaultRoute",
    "ip",
}


class BuiltStep(msgspec.Struct):
    """Holds one step of a script, as the guest reported it."""

    step: str
    file: str
    line: int
    name: str = ""
    node: str = ""
    text: str = ""
    message: str = ""
    seconds: float = 0.0
    params: dict[str, Any] = {}
    ends: list[str] = []
    names: list[str] = []
    ports: list[int] = []  # at each end: Mininet gives a host's address to its lowest port


def read(path: Path, wanted: str, arguments: Sequence[str]) -> FoundNetwork:
    """Return the network that a Mininet script builds. `wanted` selects a Topo, as `mn --topo` does.

    Raises InputError if the script fails before it has built a network, and MachineError.
    """
    return _Reading(path, _inspected(path, wanted, arguments)).run()


def _inspected(path: Path, wanted: str, arguments: Sequence[str]) -> list[BuiltStep]:
    packed = pack(path)
    root, kernel = sealed(ready("mininet").id), choose("uml", None)
    with scratch_guest_folder() as folder:
        shutil.copyfile(HERE / "inspecting.py", folder / "inspecting.py")
        (folder / "script.tar").write_bytes(packed.archive)
        job = {"script": packed.name, "arguments": list(arguments), "topo": wanted}
        (folder / "job.json").write_text(json.dumps(job))
        command = [root.python, "inspecting.py", "script.tar", "job.json"]
        try:
            with Guest(kernel, folder, command, budget=BUDGET, temporary=True, root=root) as guest:
                guest.wait()
            found = foreign.read(folder / "found.json", MOST_BYTES)
            return msgspec.json.decode(found, type=list[BuiltStep])
        except GuestError as error:
            error.quote()
            raise InputError(f"{display(path)}: reading it in a guest failed: {error}") from None
        except (OSError, foreign.Unfit, msgspec.DecodeError):
            last = (folder / "console.log").read_text(errors="replace").strip().splitlines()[-LAST_LINES:]
            said = foreign.printable(" ".join(last))
            raise InputError(f"{display(path)}: reading it in a guest failed: {said}") from None


class _Reading:
    def __init__(self, path: Path, steps: list[BuiltStep]) -> None:
        self.path, self.steps = path, steps
        self.network = FoundNetwork(f"{path.stem}, imported from {path.name}.")
        self.follower = Follower(self.network)
        self.bridges: dict[str, Device] = {}
        self.addresses: dict[str, tuple[str, Where]] = {}  # of hosts, each for the lowest port
        self.lowest: dict[str, tuple[int, Device]] = {}  # of each host

    def run(self) -> FoundNetwork:
        for step in sorted(self.steps, key=lambda each: each.step not in _BUILDING):
            if step.step not in _BUILDING:
                self._address()
            where = Where(display(self.path.parent / step.file) if step.file else display(self.path), step.line)
            if step.step in ("failed", "refused") and not self.network.devices:
                raise InputError(f"{where.file}:{where.line}: {foreign.printable(step.message)}")
            self._take(step, where)
        self._address()
        return self.network

    def _address(self) -> None:
        """Give each host's address to its lowest port, unless the link gives that port one."""
        addresses, self.addresses = self.addresses, {}
        for node, (address, where) in addresses.items():
            if node in self.lowest and not self.lowest[node][1].addresses:
                self.lowest[node][1].addresses[_full(address)] = where

    def _take(self, step: BuiltStep, where: Where) -> None:
        match step.step:
            case "host":
                self._host(step, where)
            case "switch":
                self.bridges[step.name] = Device(f"switch {step.name}", step.name, "bridge", where)
                self.network.add(self.bridges[step.name])
                self._refuse(step.params, where, f"switch '{step.name}'")
            case "link":
                self._link(step, where)
            case "command":
                self.follower.shell(step.text, where, self._space(step))
            case "sleep":
                self.follower.clock.now += max(round(step.seconds * 1e9), 0)
            case "program":
                self.follower.clock.epoch += 1
            case "nat":
                self.network.leave(where, f"{step.name}: a NAT to the outside; use middlebox.Masquerade(node=...)")
            case _:
                self.network.leave(where, foreign.printable(step.message))

    def _host(self, step: BuiltStep, where: Where) -> None:
        space = self.network.space(step.name, where)
        cls = step.params.get("cls")
        if isinstance(cls, Mapping) and not str(cls.get("of", "")).startswith("mininet."):
            space.about = str(cls.get("class", ""))
        self._refuse(step.params, where, f"node '{step.name}'")
        if isinstance(step.params.get("ip"), str):
            self.addresses[step.name] = (step.params["ip"], where)
        route = step.params.get("defaultRoute")
        if isinstance(route, str):
            self.follower.follow(["ip", "route", "add", "default", *route.split()], where, step.name)

    def _refuse(self, params: Mapping[str, Any], where: Where, what: str) -> None:
        given = {key: _named(value) for key, value in params.items() if key not in _UNUSED and key != "cls"}
        for message in topo.refused(given):
            self.network.leave(where, f"{what}: {message}")

    def _link(self, step: BuiltStep, where: Where) -> None:
        if not len(step.ends) == len(step.names) == len(step.ports) == 2:
            return
        shared = {key: _named(value) for key, value in step.params.items() if key not in ("params1", "params2")}
        ends = []
        for node, name, port, own in zip(step.ends, step.names, step.ports, ("params1", "params2"), strict=True):
            params = {**shared, **{key: _named(value) for key, value in (step.params.get(own) or {}).items()}}
            bridge = self.bridges.get(node)
            device = Device(bridge.space if bridge else node, name, "veth", where, master=bridge)
            address = params.pop("ip", None)
            if isinstance(address, str) and bridge is None:
                device.addresses[_full(address)] = where
            if port < self.lowest.get(node, (port + 1, device))[0]:
                self.lowest[node] = (port, device)
            said, messages = topo.direction(params)
            device.settings = {key: (value, where) for key, value in said.items()}
            for key in ("delay", "jitter"):
                messages += quantities.unitless(key, str(params.get(key)))
            for message in messages:
                self.network.leave(where, f"link {'-'.join(step.ends)}: {message}")
            ends.append(device)
        self.network.join((ends[0], ends[1]))

    def _space(self, step: BuiltStep) -> str:
        """Return the namespace of a command. A command outside the nodes runs in the namespace of the switches."""
        if step.node in self.bridges:
            return self.bridges[step.node].space
        if step.node:
            return step.node
        words = step.text.split()
        return next((each.space for each in self.network.devices.values() if each.name in words), "")


def _full(address: str) -> str:
    return address if "/" in address else f"{address}/{topo.PREFIX_LENGTH}"


def _named(value: Any) -> Any:
    """Return a class with the name that a guest reported."""
    if isinstance(value, Mapping) and set(value) == {"class", "of"}:
        return type(str(value["class"]), (), {"__module__": str(value["of"])})
    return value
