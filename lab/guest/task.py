"""Define the tasks of a trial. Each task describes its own traffic, so that models need not know any task by name.

Guests import this module, so its imports must stay light.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import msgspec

from lab.guest import typed
from lab.units import Duration, Rate

__all__ = [
    "ALL",
    "Checked",
    "Count",
    "Interference",
    "IpNumber",
    "Messages",
    "Named",
    "Observer",
    "Reader",
    "Task",
    "Traffic",
    "Writer",
    "no_folder",
]

ALL = 1 << 62  # bytes: all that there are
Count = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]  # more than fit in any guest's memory
IpNumber = Literal[4, 6]


def no_folder(name: str) -> Iterable[str]:
    """Raise ValueError, because files are given one by one."""
    raise ValueError(f"'{name}' is a folder; name its files")


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Checked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checks its fields when it is created, and raises ValueError.

    For a field that needs a quantity, text is converted.
    """

    def __post_init__(self) -> None:
        typed.settle(self)


class Task(Checked, frozen=True, tag_field="kind", tag=_snake_case):
    """Declares a workload, a probe or a middlebox. In plain form, its `kind` is the name of its class, in
    snake_case.
    """

    tools: ClassVar[tuple[str, ...]] = ()  # the programs that it runs
    programs: ClassVar[tuple[str, ...]] = ()  # programs that the experiment chose: their bytes count, not a version
    server_sends: ClassVar[bool] = False  # whether a workload's data goes from its server to its client

    def parts(self) -> tuple[Named, ...]:
        """Return the workloads that this workload runs side by side; empty for a single workload."""
        return ()

    def with_files(self, _: Callable[[str], bytes], __: Callable[[str], Iterable[str]] = no_folder, /) -> Self:
        """Read the task's files, and return the task with their contents. By default, a task has no files."""
        return self


class Messages(msgspec.Struct, frozen=True):
    """Describes a dialogue.

    The client writes each message piece by piece, and waits for the answer before the next message.
    """

    count: int
    pieces: tuple[int, ...]  # bytes of each write of a message
    file: int  # bytes that sendfile() adds after the pieces
    reply: int  # bytes of the answer
    nodelay: bool = False  # whether TCP_NODELAY is set
    cork: bool = False  # whether TCP_CORK holds a message until it is whole

    @property
    def size(self) -> int:
        """The bytes of a message."""
        return sum(self.pieces) + self.file


class Writer(msgspec.Struct, frozen=True):
    """Describes how the sending program uses its socket. Sizes are in bytes."""

    size: int | None = None  # the total that it writes
    duration: Duration | None = None  # for which it writes, if there is no size
    write_size: int | None = None  # what it passes to one call; None: unknown
    writes_per_poll: int | None = None  # calls each time poll() reports room; None: it sleeps inside the call
    cpu_per_write: Duration = Duration(0)
    header_bytes: int = 0  # what it writes first
    sendfile: bool = False
    congestion: str | None = None  # the congestion control that it asks for; None: the host's default
    control: bool = False  # whether both programs first talk on a separate connection, and start after a cookie
    maxseg: int | None = None  # TCP_MAXSEG of the socket that connects
    messages: Messages | None = None  # if it writes nothing else
    interval: Duration | None = None  # from one write to the next, if a clock decides
    offered: Rate | None = None  # the rate of whole frames that it sends without a break, whatever the network does


class Reader(msgspec.Struct, frozen=True):
    """Describes how the receiving program uses its socket. Sizes are in bytes."""

    rcvlowat: int = 1  # the bytes for which it wakes: SO_RCVLOWAT
    first_read_size: int = ALL  # what its first call asks for
    read_size: int = ALL  # what every further call asks for
    answer: int = 0  # the bytes that it sends back after it has read anything
    rate: Rate | None = None  # at which it reads; None: it reads whenever it is woken
    asleep: Duration = Duration(0)  # before it reads anything
    think: Duration = Duration(0)  # before it answers


@runtime_checkable
class Traffic(Protocol):
    """Describes a workload. Every workload has these members."""

    @property
    def client(self) -> str:
        """Name the node that connects."""

    @property
    def server(self) -> str:
        """Name the node that accepts."""

    @property
    def ip(self) -> int:
        """Return the version of IP."""

    @property
    def greedy(self) -> bool:
        """Return whether the workload sends as fast as the network accepts data."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Name the programs that the task runs."""

    @property
    def programs(self) -> tuple[str, ...]:
        """Name the programs that the experiment chooses."""

    @property
    def server_sends(self) -> bool:
        """Return whether the data goes from the server to the client."""

    def writer(self) -> Writer:
        """Return how the sender writes."""

    def reader(self) -> Reader:
        """Return how the receiver reads."""

    def parts(self) -> tuple[Named, ...]:
        """Return the workloads that this workload runs side by side; () for a single workload."""

    def with_files(self, read: Callable[[str], bytes], within: Callable[[str], Iterable[str]] = ..., /) -> Self:
        """Return the workload with the contents of its files. `within` names the files in a folder."""


@runtime_checkable
class Observer(Protocol):
    """Describes a probe. Every probe has these members."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Name the programs that the task runs."""

    def watch(self, testbed: Any, /) -> AbstractContextManager[None]:
        """Watch the trial within this context."""


class Named(Protocol):
    """Describes one of several workloads. Every such part has these members."""

    @property
    def name(self) -> str:
        """The part's name."""

    @property
    def workload(self) -> Traffic:
        """The part's workload."""

    @property
    def start(self) -> Duration:
        """The earliest time at which the part starts."""


@runtime_checkable
class Interference(Protocol):
    """Describes a middlebox. Every middlebox has these members."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Name the programs that the task runs."""

    def mss_of_syn(self, announced: int, sender: str, receiver: str, patches: Collection[str]) -> int:
        """Return the MSS of a SYN between these nodes behind this middlebox, on a kernel with these patches."""

    def dropped(self) -> int | None:
        """Return the number of the only data segment that the middlebox drops; None if it drops no segment or many."""

    def loss(self) -> float:
        """Return the share of data segments that the middlebox drops regularly."""
