"""Bring up a network to work in: choose its host, kernel and clock."""

from __future__ import annotations

from typing import Literal

from lab.errors import InputError
from lab.kernel import choose
from lab.kernel.root import of_host
from lab.runner import queues
from lab.runner.code import sealed
from lab.runner.interactive import HandsOn
from lab.runner.session import Session
from lab.spec import find
from lab.spec.clock import Clock, clock_of
from lab.spec.errors import suggestion
from lab.spec.network import Kind
from lab.usecases import userlands

__all__ = ["hand_over"]


def hand_over(
    tool: Literal["shell", "mininet"],
    topology: str,
    host: str | None,
    command: str | None,
    kernel: str | None,
    clock: str,
    userland: str,
    seed: int,
) -> int:
    """Open a shell in `host` (None: the first one) or Mininet's command line; return the exit status.

    Raises InputError, SpecError, SessionFailed, MachineError.
    """
    found = find.topology(topology)
    network = found.network
    hosts = [node.name for node in network.nodes if node.kind is not Kind.SWITCH]
    if host is not None and host not in hosts:
        raise InputError(f"{topology} has no host '{host}'{suggestion(host, hosts)}; it has {', '.join(hosts)}")
    wanted = HandsOn(network, tool, host or hosts[0], command, _clock(clock, command), seed)
    chosen, programs = choose("uml", kernel), userlands.chosen(userland, "uml")
    queues.check(chosen, network, found)
    return Session(chosen, of_host() if programs is None else sealed(programs.id)).run(wanted)


def _clock(clock: str, command: str | None) -> Clock:
    found = clock_of(clock)
    if found == "virtual" and command is None:
        raise InputError("--clock virtual: nobody types that fast; give a command with -c")
    return found
