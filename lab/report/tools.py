"""Show the commands that make a trial's traffic: a tool's own command line, or the settings of the lab's sender."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab.guest.testbed import Testbed
from lab.guest.workload import Workload
from lab.guest.workload.flent import Flent
from lab.guest.workload.flows import FIRST_PORT
from lab.guest.workload.program import Program
from lab.guest.workload.tools import Iperf, Iperf3, Ping, Qperf
from lab.record.record import Record
from lab.report.settings import traffic
from lab.units import from_plain

_TOOLS = (Iperf3, Iperf, Qperf, Ping, Flent)  # their `run` starts the tool, and does nothing else


class _Noted(Testbed, frozen=True):
    """Notes the commands that a workload would start, and starts none of them."""

    commands: list[tuple[str, str]] = []  # host, command

    def start(self, node: str, argv: Sequence[str], *_: Any, **__: Any) -> Any:
        """Note a command. Only `wait` receives what this returns."""
        said = ["python3" if each == sys.executable else each for each in argv]
        self.commands.append((node, shlex.join(said)))

    def wait(self, *_: Any, **__: Any) -> None:
        """Do nothing: no process runs."""

    def wait_for_listener(self, *_: Any, **__: Any) -> None:
        """Do nothing: no process runs."""


def commands_of(record: Record) -> Iterator[tuple[str, str]]:
    """Yield (host, command) for each tool that makes the traffic, servers first.

    For traffic of the lab's own senders, which have no command line, yield ("", the sender's settings in words).
    """
    workload: Workload = from_plain(record.trial.workload, Workload)  # type: ignore[arg-type]  # a union is no type
    addresses, parts = _addresses(record.network), workload.parts()
    if not any(isinstance(part.workload, (*_TOOLS, Program)) for part in parts):
        yield from _commands(workload, addresses, None)
        return
    for index, part in enumerate(parts):
        start = f"  # after {part.start}" if part.start else ""
        for host, said in _commands(part.workload, addresses, FIRST_PORT + index):
            yield host, f"{said}{start}"


def _commands(workload: Any, addresses: Mapping[tuple[str, int], str], port: int | None) -> Iterator[tuple[str, str]]:
    if isinstance(workload, Program):
        if workload.service:
            yield workload.server, shlex.join(workload.service)
        yield workload.client, shlex.join(workload.argv)
    elif isinstance(workload, _TOOLS):
        noted = _Noted({}, addresses, Path(), ExitStack(), own_port=port)
        try:
            workload.run(noted)
        except KeyError:  # the server has no address of this version: the trial failed, too
            yield "", traffic(workload)
        else:
            yield from noted.commands
    else:
        yield "", traffic(workload)


def _addresses(network: Mapping[str, Any]) -> dict[tuple[str, int], str]:
    """Return the first address of each host, and the address of each end NODE.LINK, by IP version."""
    found: dict[tuple[str, int], str] = {}
    every = (*network["links"], *network.get("overlays", ()))
    for name, end in ((each["name"], end) for each in every for end in each["ends"]):
        for address in end["addresses"]:
            plain = address.split("/")[0]
            for node in (end["node"], f"{end['node']}.{name}"):
                found.setdefault((node, 6 if ":" in plain else 4), plain)
    return found
