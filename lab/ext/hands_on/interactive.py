"""Bring up a network for interactive work: choose its host, kernel, clock and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from lab.app import userlands
from lab.app.options import named_clock
from lab.errors import InputError
from lab.ext.hands_on.session import Session
from lab.guest.clock import Clock
from lab.guest.interactive import HandsOn
from lab.machine.kernel import Budget, choose
from lab.machine.kernel.root import of_host
from lab.runner import queues
from lab.runner.code import sealed
from lab.spec import find
from lab.spec.errors import instead, no_file
from lab.spec.names import hosts_of


def hand_over(
    tool: Literal["shell", "mininet"],
    topology: str,
    host: str | None,
    command: str | None,
    kernel: str | None,
    clock: str,
    userland: str,
    seed: int,
    shown: Path | None,
    budget: float,
) -> int:
    """Open a shell on `host` (None: the first host) or Mininet's command line, and return the exit status.

    The guest can read the folder `shown`. A command is stopped after `budget` seconds of wall-clock time.

    Raises InputError, SpecError, SessionFailed and MachineError.
    """
    found = find.topology(topology)
    network = found.network
    hosts = hosts_of(network)
    if host is not None and host not in hosts:
        raise InputError(f"{topology} has no host '{host}'{instead(host, hosts)}")
    folder = _folder(shown)
    name = folder.name or "host" if folder else ""
    wanted = HandsOn(network, tool, host or hosts[0], command, clock_for(clock, command is not None), seed, name)
    chosen, programs = choose("uml", kernel), userlands.chosen(userland, "uml", userlands.FOR_HANDS)
    queues.check(chosen, network, found)
    root = replace(of_host() if programs is None else sealed(programs.id), shown=folder)
    return Session(chosen, root, Budget(wall=budget)).run(wanted)


def _folder(shown: Path | None) -> Path | None:
    if shown is None:
        return None
    if not shown.is_dir():
        wrong = f"{shown}: this is a file; name the folder that it is in" if shown.exists() else no_file(shown)
        raise InputError(f"--with {wrong}")
    return shown.resolve()


def clock_for(clock: str, has_command: bool) -> Clock:
    """Return the named clock. Raises InputError for virtual time without a command or a test."""
    found = named_clock(clock)
    if found == "virtual" and not has_command:
        raise InputError("--clock virtual is too fast for a person; give a command with -c")
    return found
