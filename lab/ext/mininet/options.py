"""Declare the options that runs of Mininet share, and those of Mininet's own command, `mn`, as the lab offers them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lab.app.options import OptionText, SuiteOptions
from lab.errors import InputError
from lab.runner.memory import MOST
from lab.units import Size, UnitError

MIB = 1 << 20
LEAST = Size.of("256 MiB")
ITEM = "NAME[,PARAM=VALUE...]"


@dataclass(frozen=True)
class MininetOptions(SuiteOptions):
    """Holds the options of a run with a record. Raises InputError if `page` is a folder."""

    exact: Annotated[bool, OptionText("Give the script the lab's wires, which carry frames, instead of Mininet's.")] = (
        False
    )
    no_capture: Annotated[
        bool, OptionText("Do not capture the packets of the script's hosts.", flag="--no-capture")
    ] = False
    stall: Annotated[
        float,
        OptionText("Stop a run that uses this much CPU time without progress in virtual time.", "SECONDS", least=0),
    ] = 300.0  # 1,024 hosts with their links are built at one instant
    memory: Annotated[
        str | None,
        OptionText("Give the guest this much memory, such as 2GiB. Default: 1 GiB, for some 900 hosts.", "SIZE"),
    ] = None
    page: Annotated[
        Path | str | None,
        OptionText(
            "Also write an HTML page about the run: network, output, files and traffic.", "FILE", shape=Path | None
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.page is not None and Path(self.page).is_dir():
            raise InputError(f"--page {self.page}: this is a folder; name a file")
        if self.size is not None and (self.size.bytes % MIB or not LEAST.bytes <= self.size.bytes <= MOST.bytes):
            sizes = f"use whole MiB, from {LEAST} to {MOST}"
            raise InputError(f"--memory {self.memory}: this is no size for a guest; {sizes}")

    @property
    def size(self) -> Size | None:
        """Return the guest's memory, or None for the default. Raises InputError if it is no size."""
        try:
            return None if self.memory is None else Size.of(self.memory)
        except UnitError as error:
            raise InputError(f"--memory: {error}") from None


@dataclass(frozen=True)
class MnOptions(MininetOptions):
    """Holds the options of `mn` with those of a run."""

    topo: Annotated[
        str | None,
        OptionText(
            "The network: minimal, single,N, reversed,N, linear,N[,M], tree,DEPTH,FANOUT, torus,X,Y, or a name from "
            "--custom.",
            "NAME[,ARGS...]",
        ),
    ] = None
    custom: Annotated[
        str | None, OptionText("Python files with topologies, classes and tests of your own.", "FILE[,FILE...]")
    ] = None
    switch: Annotated[str | None, OptionText("The switches: ovs, ovsbr, lxbr, user.", ITEM)] = None
    controller: Annotated[str | None, OptionText("The controller: ovsc, ref, remote, none. Default: ovsc.", ITEM)] = (
        None
    )
    link: Annotated[str | None, OptionText("The links: default, tc, tcu, ovs, such as tc,bw=10,delay=5ms.", ITEM)] = (
        None
    )
    host: Annotated[str | None, OptionText("The hosts: proc, cfs, rt.", ITEM)] = None
    test: Annotated[
        str | None,
        OptionText("Run tests instead of a prompt: pingall, pingpair, iperf, all, build, none.", "TEST[+TEST...]"),
    ] = None
    pre: Annotated[str | None, OptionText("Run this file's Mininet commands before the network starts.", "FILE")] = None
    post: Annotated[str | None, OptionText("Run this file's Mininet commands after tests and prompt.", "FILE")] = None
    mac: Annotated[bool, OptionText("Give hosts MAC addresses that are easy to read.")] = False
    arp: Annotated[bool, OptionText("Fill the hosts' ARP tables.")] = False
    nat: Annotated[bool, OptionText("Add a NAT host.")] = False
    innamespace: Annotated[bool, OptionText("Put switches and controller into namespaces of their own.")] = False
    ipbase: Annotated[str | None, OptionText("The hosts' addresses.", "NETWORK", flag="--ipbase,-i")] = None
    verbosity: Annotated[
        str | None, OptionText("What Mininet prints: debug, info, output, warning.", "LEVEL", flag="--verbosity,-v")
    ] = None
    wait: Annotated[bool, OptionText("Wait until the switches are connected.", flag="--wait,-w")] = False
    xterms: Annotated[bool, OptionText("Not supported: a guest has no display.", flag="--xterms,-x")] = False
    cluster: Annotated[str | None, OptionText("Not supported: guests reach no other machines.", "SERVER,...")] = None
