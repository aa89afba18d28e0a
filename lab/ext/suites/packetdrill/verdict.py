"""Read packetdrill's output: the times of a script's events, the packets that passed, and the error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lab.guest import outputs
from lab.record.record import Record

_MOMENT = re.compile(
    r"moment: line (?P<line>\d+) (?P<what>[^:]+): expected (?P<low>-?\d+)~(?P<high>-?\d+) "
    r"happened (?P<happened>-?\d+) tolerance (?P<tolerance>\d+)"
)
_PACKET = re.compile(r"(?P<way>inbound injected|outbound sniffed) packet: +(?P<text>.*)")
_SHOWN = re.compile(r"^(?P<which>script|actual) packet: +(?P<text>.*)$", re.MULTILINE)
_LINE = re.compile(r"^(?P<file>[^:\s]+):(?P<line>\d+): (?P<message>.*)")


@dataclass(frozen=True, slots=True)
class Moment:
    """Describes the expected and the actual time of an event in a script, in microseconds since the script's start."""

    line: int  # of the script
    what: str  # "outbound packet", "system call return", ...
    low: int  # the first moment at which it is expected
    high: int  # the last one
    happened: int
    tolerance: int  # packetdrill's tolerance

    @property
    def off(self) -> int:
        """The microseconds by which the event came too late; negative if too early, 0 if as expected."""
        return self.happened - min(max(self.happened, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Complaint:
    """Describes an error that packetdrill found."""

    message: str  # without file and line
    line: int | None  # of the script
    expected: str = ""  # the packet, as the script has it; "" if the error concerns no packet
    seen: str = ""  # the packet that came instead


@dataclass(frozen=True)
class ScriptRun:
    """Describes the run of a script with one IP version."""

    version: str
    status: int | None  # of the process: 0 if the script holds; None if it ran out of time
    moments: tuple[Moment, ...]  # of every event with a time, in the order of the run
    packets: tuple[str, ...]  # those that passed before the end: "> ..." from the kernel, "< ..." to it
    complaint: Complaint | None  # of a script that does not hold

    @property
    def holds(self) -> bool:
        """Whether packetdrill accepted the run: all events were as required, within the script's own tolerance."""
        return self.status == 0

    @property
    def worst(self) -> Moment | None:
        """The event time that is furthest off; None if no event has a time."""
        return max(self.moments, key=lambda each: abs(each.off), default=None)


def runs(record: Record) -> tuple[ScriptRun, ...]:
    """Return the runs of a script, one for each IP version. Raises RecordError."""
    ends = record.json(outputs.PACKETDRILL)
    return tuple(
        read(
            end["version"],
            end["status"],
            record.text(outputs.packetdrill(end["version"], "out")),
            record.text(outputs.packetdrill(end["version"], "err")),
        )
        for end in ends
    )


def read(version: str, status: int | None, out: str, err: str) -> ScriptRun:
    """Return the run that ended with `status` and printed `out` and `err`."""
    moments = tuple(_moments(out))
    packets = tuple(f"{'<' if each['way'].startswith('in') else '>'} {each['text']}" for each in _PACKET.finditer(out))
    return ScriptRun(version, status, moments, packets, None if status == 0 else _complaint(status, err))


def _moments(out: str) -> Iterator[Moment]:
    for each in _MOMENT.finditer(out):
        numbers = {name: int(each[name]) for name in ("line", "low", "high", "happened", "tolerance")}
        yield Moment(what=each["what"], **numbers)


def _complaint(status: int | None, err: str) -> Complaint:
    """Return packetdrill's error: its first line with the script's name, else its last line."""
    shown = {each["which"]: each["text"] for each in _SHOWN.finditer(err)}
    lines = [line for line in err.splitlines() if line.strip() and not _SHOWN.match(line)]
    named = next((found for line in lines if (found := _LINE.match(line))), None)
    if named:
        message, line = named["message"], int(named["line"])
    else:
        message, line = lines[-1].strip() if lines else "", None
    if status is None:
        message = "it did not end in time"
    elif status < 0:
        message = f"packetdrill was ended by signal {-status}" + (f": {message}" if message else "")
    return Complaint(message or "it left no message", line, shown.get("script", ""), shown.get("actual", ""))
