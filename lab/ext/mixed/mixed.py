"""Give hosts in a network different kernels, run commands on them, and report the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.app import userlands
from lab.base.building import Progress
from lab.errors import InputError, MachineError
from lab.ext.mixed import trial as mixed
from lab.guest.network import Network, Shaper
from lab.guest.part import APART_NS, Command
from lab.machine.kernel import Budget, KernelMissing, UmlKernel, find
from lab.machine.kernel.peers import SHARED
from lab.machine.kernel.root import of_host
from lab.machine.kernel.uml import builder
from lab.runner import queues
from lab.runner.code import sealed
from lab.spec import find as topologies
from lab.spec.errors import instead, told
from lab.spec.names import hosts_of
from lab.units import Duration, UnitError


@dataclass(frozen=True)
class MixedRun:
    """Holds the commands of a run in order and their outcome."""

    commands: tuple[Command, ...]
    kernels: Mapping[str, str]  # host with a command -> its kernel's name
    outcome: mixed.MixedOutcome
    lasts: Duration
    out: Path

    @property
    def exit_code(self) -> int:
        """Return 1 if a command failed, else 0.

        A command that was stopped at the time limit does not count as failed.
        """
        return int(any(self.outcome.statuses))

    def plain(self) -> dict[str, Any]:
        """Return the run as plain data for JSON."""
        commands = [
            {"host": each.host, "kernel": self.kernels[each.host], "command": each.line, "status": status}
            for each, status in zip(self.commands, self.outcome.statuses, strict=True)
        ]
        cost = self.outcome.cost
        took = {"wall_seconds": cost.wall_seconds, "cpu_seconds": cost.cpu_seconds, "turns": cost.turns}
        return {"commands": commands, "out": str(self.out), **took}


def run(
    topology: str,
    commands: Sequence[str],
    kernels: Sequence[str],
    out: Path,
    *,
    lasts: str = "30 s",
    seed: int = 1,
    userland: str = "sealed",
    budget: Budget = Budget(),
    build: bool = False,
    progress: Progress,
) -> MixedRun:
    """Run `commands` ("HOST: COMMAND") in virtual time, with the `kernels` ("HOST=SERIES") on these hosts.

    Outputs and captures go to the folder `out`. With `build`, missing kernels are built.

    Raises InputError, SpecError, MachineError (no kernel, no room), GuestError, and LabError for failures in a guest.
    """
    found = topologies.topology(topology)
    network = found.network
    asked = tuple(_command(text, network) for text in commands)
    if not asked:
        raise InputError("there is no command; name one with --run 'HOST: COMMAND'")
    named = dict(_own(text, network) for text in kernels)
    length = _length(lasts, asked)
    if named and (missing := _whole(network)):
        raise InputError(f"{network.name} has {missing}, so all nodes must be in one kernel; leave out --kernel")
    if named:
        own = {host: _sharing(name, build, progress) for host, name in named.items()}
        hub = _sharing(None, build, progress)
    else:
        own, hub = {}, builder.build(progress=progress) if build else find()
    queues.check(hub, network, found)
    programs = userlands.chosen(userland, "uml")
    root = of_host() if programs is None else sealed(programs.id)
    out.mkdir(parents=True, exist_ok=True)
    outcome = mixed.run(mixed.Mixed(network, hub, own, asked, length, seed, root, budget), out)
    names = {each.host: own.get(each.host, hub).version for each in asked}
    return MixedRun(asked, names, outcome, length, out)


def _whole(network: Network) -> str | None:
    """Return the part of a network that hosts with their own kernels cannot have, or None."""
    if network.overlays:
        return f"the {network.overlays[0].kind.value} '{network.overlays[0].name}'"
    return next((f"a VRF or multicast on {node.name}" for node in network.nodes if node.vrfs or node.multicast), None)


def _command(text: str, network: Network) -> Command:
    host, colon, line = text.partition(":")
    if not colon or not line.strip():
        raise InputError(f"--run '{text}' has a wrong form; use 'HOST: COMMAND'")
    return Command(_host("--run", host.strip(), network), line.strip())


def _own(text: str, network: Network) -> tuple[str, str]:
    """Return (host, kernel name). Raises InputError for settings that a host with its own kernel cannot have."""
    host, equals, name = text.partition("=")
    if not equals or not name:
        raise InputError(f"--kernel '{text}' has a wrong form; use HOST=KERNEL, such as receiver=6.12")
    _host("--kernel", host, network)
    for link in network.links:
        for sender, direction, _ in link.directions():
            if sender.node == host and direction.shaper is Shaper.NIC and direction.rate:
                raise InputError(f"link {link.name}: shaper nic is in {host}, but must be in the hub's kernel")
            if sender.node == host and (sender.offloads.gro or sender.gro_flush_timeout):
                raise InputError(f"link {link.name}: {host} has its own kernel, and its links cannot have GRO")
    return host, name


def _host(option: str, host: str, network: Network) -> str:
    hosts = hosts_of(network)
    if host not in hosts:
        raise InputError(f"{option}: {network.name} has no host '{host}'{instead(host, hosts)}")
    return host


def _length(lasts: str, commands: Sequence[Command]) -> Duration:
    try:
        found = Duration.of(lasts)
    except UnitError as error:
        raise InputError(f"--for: {told(error)}") from None
    needed = Duration((len(commands) - 1) * APART_NS)
    if found.ns <= needed.ns:
        raise InputError(f"--for {found} is too short; the last command begins after {needed}")
    return found


def _sharing(name: str | None, build: bool, progress: Progress) -> UmlKernel:
    """Return the variant of the kernel `name` (None: the newest) that can share its clock."""
    if build:
        plain = builder.build(name, progress=progress)
        return builder.variant(plain.name, SHARED, progress, trust=True)  # the patch is the lab's own
    plain = find(name)
    try:
        return plain.variant(SHARED)
    except KernelMissing:
        raise MachineError(f"{plain.name} cannot share its clock yet: --build builds a kernel that can") from None
