"""Validate a trial's file against the types of an experiment's declarations, before any code uses the trial."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lab.guest.middlebox import Middlebox
from lab.guest.network import Network
from lab.guest.probe import Probe
from lab.guest.trial import HOST, Name, Text, Trial
from lab.guest.workload import Packetdrill, Program, Workload
from lab.guest.workload.program import content
from lab.record.plain import ready
from lab.units import typed

_OWN = ("lab", "python")  # tools of every trial
_BUILT = ("cc", "packetdrill")  # tools that the lab builds: their version is an id
_SEED_BITS = 64


class Undeclared(ValueError):
    """Raised if no experiment could declare the trial."""


class _Kernel(msgspec.Struct, frozen=True):
    """Holds the facts that every kind of kernel reports. Any further facts are only displayed."""

    name: Text
    version: Text
    id: Name
    hz: Annotated[int, Meta(ge=1, le=1_000_000)]
    patches: list[Text]
    base: Name = ""
    config: list[Text] = []
    tree: Text = ""
    max_header: Annotated[int, Meta(ge=0, le=1 << 20)] | None = None
    release: Text = ""
    image: Text = ""
    machine: Text = ""


class _Declared(msgspec.Struct, frozen=True):
    """Holds the plain parts of a trial, with types."""

    network: Network
    workload: Workload
    probes: tuple[Probe, ...]
    middleboxes: tuple[Middlebox, ...]
    kernel: _Kernel


ready(Trial, _Declared)  # a run has several threads


def trial_in(text: bytes) -> Trial:
    """Return the trial that this JSON describes.

    Raises Undeclared, msgspec.MsgspecError or RecursionError if the trial is invalid.

    In a valid trial, the plain data has the right types, every named node is in the network, and the trial runs every
    named tool.
    """
    declared: _Declared = typed(text, _Declared)
    trial: Trial = typed(text, Trial)
    for problem in (*_of_network(declared.network), *_of_tools(trial, declared), *_of_files(declared.workload)):
        raise Undeclared(problem)
    if trial.seed >> _SEED_BITS:
        raise Undeclared(f"a seed of more than {_SEED_BITS} bits")
    return trial


def _of_network(network: Network) -> Iterator[str]:
    nodes = [node.name for node in network.nodes]
    links = [*(link.name for link in network.links), *(overlay.name for overlay in network.overlays)]
    if len(set(nodes)) < len(nodes) or len(set(links)) < len(links):
        yield "two nodes, or two links, of the same name"
    strange = {end.node for _, end in network.ends()} - set(nodes)
    yield from (f"a link ends at {node}, which is not a node" for node in sorted(strange))


def _of_files(workload: Workload) -> Iterator[str]:
    """Yield the problems in the workload's own files."""
    for each in (workload, *(part.workload for part in workload.parts())):
        if isinstance(each, Program):
            names: tuple[str, ...] = (*each.files, *each.sources)
        elif isinstance(each, Packetdrill):
            names = (each.script, *each.files)
        else:
            continue
        for name in names:
            try:
                content(each.contents, name)
            except ValueError as error:
                yield str(error)


def _of_tools(trial: Trial, declared: _Declared) -> Iterator[str]:
    """Yield the tools that no part of the trial runs, and the tools with an impossible version."""
    tasks: list[Any] = [declared.workload, *declared.probes, *declared.middleboxes]
    run = {
        *_OWN,
        *(("mininet",) if trial.fabric == "mininet" else ()),
        *(tool for task in tasks for tool in task.tools),
    }
    programs = set(declared.workload.programs) if trial.userland == HOST else set()
    for name, version in trial.tools.items():
        if name in programs - run:
            fits = re.fullmatch(r"sha256:[0-9a-f]{64}", version)
        elif name in _BUILT:
            fits = re.fullmatch(r"[A-Za-z0-9]{1,64}", version)
        else:
            fits = re.fullmatch(r".+", version) if name in run else None
        if not fits:
            yield f"{name} {version} is not a tool that it uses"
    if trial.workload["kind"] == "packetdrill" and "packetdrill" not in trial.tools:
        yield "it has no packetdrill"
