"""Prepare Mininet's own command, `mn`, for a guest: its options, and the files that they name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

from lab.errors import InputError
from lab.ext.hands_on.interactive import clock_for, hand_over
from lab.ext.hands_on.session import terminal_of
from lab.ext.mininet import limits
from lab.ext.mininet.attending import attend
from lab.ext.mininet.options import MininetOptions, MnOptions
from lab.ext.mininet.packing import PackedScript, pack_program
from lab.spec import find
from lab.spec.errors import instead, suggestion

COMMANDS = "commands.mn"  # the file with the commands of -c
BUILD = "build"  # the test that does nothing, and before which Mininet waits for the switches
OWN = {each.name for each in fields(MnOptions)} - {each.name for each in fields(MininetOptions)}
# The names that `mn` has for a value of each option. Files of --custom may add more.
NAMES = {
    "topo": ("minimal", "single", "reversed", "linear", "tree", "torus"),
    "switch": ("default", "ovs", "ovsbr", "ovsk", "lxbr", "user"),
    "controller": ("default", "ovsc", "ref", "remote", "none"),
    "link": ("default", "tc", "tcu", "ovs"),
    "host": ("proc", "cfs", "rt"),
}
TESTS = ("pingall", "pingpair", "iperf", "all", "build", "none")  # joined with '+'
# The methods of Mininet's networks that `mn` also takes as tests (mininet/net.py)
METHODS = (
    *("pingAll", "pingPair", "ping", "pingFull", "pingAllFull", "pingPairFull", "runCpuLimitTest", "run"),
    *("waitConnected", "staticArp", "configLinkStatus", "interact", "start", "stop", "build", "monitor"),
)
# The commands of Mininet's prompt (mininet/cli.py). Names of nodes begin commands, too.
PROMPT = (
    *("EOF", "dpctl", "dump", "exit", "gterm", "help", "intfs", "iperf", "iperfudp", "link", "links", "net", "nodes"),
    *("noecho", "pingall", "pingallfull", "pingpair", "pingpairfull", "ports", "px", "py", "quit", "sh", "source"),
    *("switch", "time", "wait", "x", "xterm"),
)
PROGRAMS = {
    "switch": {"ivs": limits.NAMES["IVSSwitch"]},
    "controller": {"nox": limits.NAMES["NOX"], "ryu": limits.NAMES["Ryu"]},
}


def given(options: MnOptions) -> dict[str, str | bool]:
    """Return the options of `mn` that were given, by name."""
    return {name: value for name, value in vars(options).items() if name in OWN and value not in (None, False)}


def command_of(options: MnOptions, commands: str | None = None) -> tuple[PackedScript, tuple[str, ...]]:
    """Return the program `mn` with the files that it needs, and its arguments.

    `commands` run after the tests. Raises InputError for what cannot work in a guest, and for files that cannot be
    read.
    """
    check(options)
    if commands is not None and options.post:
        raise InputError("-c and --post both name commands to run after the tests; use one of them")
    files = {"custom": _files(options.custom), "pre": _files(options.pre), "post": _files(options.post)}
    packed = pack_program("mn", [file for several in files.values() for file in several])
    named: dict[str, str | bool] = {
        name: ",".join(file.name for file in several) for name, several in files.items() if several
    }
    if commands is not None:
        packed = replace(packed, contents={**packed.contents, COMMANDS: commands.encode() + b"\n"})
        named |= {"post": COMMANDS, "test": options.test or BUILD}
    return packed, tuple(_arguments(given(options) | named))


def on_topology(
    topology: str, command: str | None, options: MnOptions, clock: str, userland: str, shown: Path | None
) -> int:
    """Open Mininet's command line on a topology of the lab, and return the exit status. Raises InputError."""
    if own := given(options):
        raise InputError(
            f"--{next(iter(own))} does not go with a topology of the lab; leave out '{topology}', or the option"
        )
    if options.memory is not None:
        raise InputError("--memory: a topology of the lab has the memory that it needs; leave the option out")
    if command is not None:
        _check_commands(command, topology)
    run = (command, options.kernel, clock, userland, options.seed, shown, options.budget)
    return hand_over("mininet", topology, None, *run)


def is_attended(options: MnOptions, commands: str | None, clock: str | None) -> bool:
    """Return whether `mn` runs in real time. Raises InputError for a prompt in virtual time."""
    has_work = options.test is not None or commands is not None
    return not has_work if clock is None and has_work else clock_for(clock or "real", has_work) == "real"


def attend_mn(options: MnOptions, commands: str | None, out: Path) -> int:
    """Run `mn` in real time, with its prompt unless it has tests or commands. Return its exit status."""
    packed, arguments = command_of(options, commands)
    if "--test" not in arguments:
        terminal_of()
    return attend(packed, arguments, options, out)


def check(options: MnOptions) -> None:
    """Raise InputError for an option that cannot work in a guest, with what to do instead."""
    if options.xterms:
        raise InputError(f"-x: {limits.WINDOWS}")
    if options.cluster:
        raise InputError(f"--cluster: {limits.MACHINES}")
    kind, _, parameters = (options.host or "").partition(",")
    if kind in ("cfs", "rt") and any(each.startswith(("cpu=", "cores=")) for each in parameters.split(",")):
        raise InputError(f"--host {options.host}: {limits.CPU}")
    for option, missing in PROGRAMS.items():
        value = getattr(options, option) or ""
        if (name := value.partition(",")[0]) in missing:
            raise InputError(f"--{option} {name}: {missing[name]}")
    for option, known in NAMES.items() if options.custom is None else ():
        if (value := getattr(options, option)) and (name := value.partition(",")[0]) not in known:
            raise InputError(f"--{option} {name} is unknown{instead(name, known)}")
    for test in options.test.split("+") if options.test is not None and options.custom is None else ():
        name = test.partition(",")[0]
        if name.lower() == "iperfudp":
            raise InputError(f"--test {name}: Mininet lists this test, but does not have it; use iperf,l4Type=UDP")
        if name not in {*TESTS, *METHODS} and name.lower() not in ("pingall", "pingpair"):
            raise InputError(f"--test {name} is unknown{instead(name, TESTS)}")


def _check_commands(text: str, topology: str) -> None:
    """Raise InputError for a line that is no command of Mininet's prompt and names no node of the topology."""
    known = {*PROMPT, *(node.name for node in find.topology(topology).network.nodes)}
    for line in text.splitlines():
        first = next(iter(line.split()), "")
        if first and first not in known and not first.startswith(("#", "?")):
            hint = suggestion(first, known) or "; `lab mn TOPOLOGY -c help` lists all commands"
            raise InputError(f"-c: unknown command '{first}'{hint}")


def _files(value: str | None) -> list[Path]:
    """Return the files that an option names. A name with a comma may be one file."""
    if value is None:
        return []
    return [Path(value)] if Path(value).is_file() else [Path(each) for each in value.split(",")]


def _arguments(options: dict[str, str | bool]) -> Iterator[str]:
    for name, value in options.items():
        yield f"--{name}"
        if value is not True:
            yield str(value)
