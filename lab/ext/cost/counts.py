"""Read the instructions of a trial from its record, by function."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from lab.ext.cost.plugin import OUTPUT
from lab.guest import outputs
from lab.record.record import Record, RecordError

__all__ = ["USER", "FunctionCount", "TrialCounts", "Unit", "bare", "parse", "read"]

USER = "user"  # all code outside the kernel, as count.c names it
_SYSTEM_CALL = "__x64_sys_"  # begins the name of each system call's function
_SEGMENTS = ("tcp_v4_rcv", "tcp_v6_rcv")  # each segment that arrives at a host's TCP
_CONNECTIONS = ("tcp_finish_connect",)  # each SYN-ACK that a client accepts
_LINE = re.compile(r"(\d{1,20}) (\d{1,20}) (\S{1,600})")
_PART = re.compile(r"\.(?:cold|part)\b")  # a part of a function: entering it is not a call of the function
_SUFFIX = re.compile(r"\.(?:cold|part|isra|constprop|llvm|lto_priv)\b.*")  # what compilers add to a name

Unit = str  # "message", "segment", "connection", "system call"


@dataclass(frozen=True)
class FunctionCount:
    """Holds the instructions of one function in a trial, without those of the functions that it calls."""

    instructions: int
    calls: int


@dataclass(frozen=True)
class TrialCounts:
    """Holds the instructions of one trial while its workload ran: of all hosts, programs and wires together."""

    seed: int
    repeat: int  # 0: the trial in the store; 1 and more: the same trial, run again
    trial: str  # its address
    user: int  # instructions of programs
    functions: Mapping[str, FunctionCount]  # of the kernel, by name
    seconds: float = 0.0  # of the guest's time that the workload took

    @property
    def busy(self) -> float:
        """The share of the workload's time in which the guest's CPU was busy, because an instruction takes 1 ns."""
        return min(1.0, (self.kernel + self.user) / 1e9 / self.seconds) if self.seconds else 0.0

    @property
    def kernel(self) -> int:
        """The kernel's instructions."""
        return sum(each.instructions for each in self.functions.values())

    def calls(self, *names: str) -> int:
        """Return the number of calls of these functions."""
        return sum(self.functions[name].calls for name in names if name in self.functions)

    def units(self, messages: int | None) -> dict[Unit, int]:
        """Return how many messages, segments, connections and system calls the trial had.

        The workload declares its messages; None means that it has none. A kind that did not occur is left out.
        """
        calls = sum(each.calls for name, each in self.functions.items() if name.startswith(_SYSTEM_CALL))
        found = {
            "message": messages or 0,
            "segment": self.calls(*_SEGMENTS),
            "connection": self.calls(*_CONNECTIONS),
            "system call": calls,
        }
        return {unit: number for unit, number in found.items() if number}


def read(record: Record) -> TrialCounts:
    """Return the counts in a record. Raises RecordError if it has none, or if they cannot be those of the workload."""
    user, functions = parse(record.text(OUTPUT), str(record.folder))
    try:
        seconds = float(record.json(outputs.CPU)["elapsed"])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{record.folder}: output '{outputs.CPU}' is not an account of CPU time") from error
    return TrialCounts(record.trial.seed, 0, record.address, user, functions, seconds)


def bare(name: str) -> str:
    """Return the name of a function without what a compiler adds when it splits or copies the function."""
    return _SUFFIX.sub("", name)


def parse(text: str, where: str) -> tuple[int, dict[str, FunctionCount]]:
    """Return the programs' instructions, and the count of each function, from the text that the plugin wrote.

    A compiler may split or copy a function: tcp_ack, tcp_ack.cold and tcp_ack.isra.0 are one function here. Raises
    RecordError, which names the place `where`.
    """
    user, marks = 0, 0
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in text.splitlines():
        if line == "mark":
            marks += 1
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise RecordError(f"{where} is damaged: {OUTPUT}: {line[:60]!r} is not a count")
        instructions, calls, name = int(match[1]), int(match[2]), match[3]
        if name == USER:
            user += instructions
            continue
        of = found[bare(name)]
        of[0] += instructions
        of[1] += 0 if _PART.search(name) else calls
    if marks != 1:
        raise RecordError(f"{where} is damaged: {OUTPUT} has no end")
    return user, {name: FunctionCount(*of) for name, of in sorted(found.items())}
