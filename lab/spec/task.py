"""Define what a trial is asked to do, and what its tasks say of themselves, so that models need not know them by name.

A guest imports this too: it stays light.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import ClassVar, Protocol, Self

import msgspec

from lab.units import Duration, Rate

__all__ = ["ALL", "Interference", "Messages", "Named", "Reader", "Task", "Traffic", "Writer"]

ALL = 1 << 62  # bytes: as many as there are


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=_snake_case):
    """Declares a workload, a probe or a middlebox. In plain form its `kind` is the name of its class, in snake_case."""

    tools: ClassVar[tuple[str, ...]] = ()  # the programs that it runs
    programs: ClassVar[tuple[str, ...]] = ()  # the programs that the experiment chose: their bytes count, no version
    server_sends: ClassVar[bool] = False  # whether a workload's data goes from its server to its client

    def parts(self) -> tuple[Named, ...]:
        """Return the workloads that a workload consists of: none, unless it is several side by side."""
        return ()

    def with_files(self, _: Callable[[str], bytes], /) -> Self:
        """Return it with the contents of the files that it brings along, as the function reads them: it has none."""
        return self


class Messages(msgspec.Struct, frozen=True):
    """Describes a dialogue: each message is written piece by piece, and answered before the next."""

    count: int
    pieces: tuple[int, ...]  # bytes of each write of a message
    file: int  # bytes that follow by sendfile()
    reply: int  # bytes of the answer
    nodelay: bool = False  # whether TCP_NODELAY is set
    cork: bool = False  # whether TCP_CORK holds a message until it is whole

    @property
    def size(self) -> int:
        """Return the bytes of a message."""
        return sum(self.pieces) + self.file


class Writer(msgspec.Struct, frozen=True):
    """Describes what the sending program does with its socket. Sizes are in bytes."""

    size: int | None = None  # what it writes in all
    duration: Duration | None = None  # for which it writes, where no size is given
    write_size: int | None = None  # what it passes to one call; None: nothing says
    writes_per_poll: int | None = None  # calls whenever poll() reports room; None: it sleeps inside the call
    cpu_per_write: Duration = Duration(0)
    header_bytes: int = 0  # what it writes before all else
    sendfile: bool = False
    congestion: str | None = None  # the congestion control that it asks for; None: the host's usual one
    control: bool = False  # whether both programs first talk on a connection of their own, and start after a cookie
    maxseg: int | None = None  # TCP_MAXSEG of the socket that connects
    messages: Messages | None = None  # where it writes nothing else
    interval: Duration | None = None  # from one write to the next, where a clock decides


class Reader(msgspec.Struct, frozen=True):
    """Describes what the receiving program does with its socket. Sizes are in bytes."""

    rcvlowat: int = 1  # for which it wakes: SO_RCVLOWAT
    first_read_size: int = ALL  # what its first call asks for
    read_size: int = ALL  # what every further call asks for
    answer: int = 0  # what it sends back when it has read anything
    rate: Rate | None = None  # at which it reads; None: it reads whenever it is woken
    asleep: Duration = Duration(0)  # before it reads anything
    think: Duration = Duration(0)  # before it answers


class Traffic(Protocol):
    """Every workload says this of itself."""

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
        """Tell whether it sends as fast as the network takes it."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Name the programs that it runs."""

    @property
    def programs(self) -> tuple[str, ...]:
        """Name the programs that the experiment chose."""

    @property
    def server_sends(self) -> bool:
        """Tell whether its data goes from the server to the client."""

    def writer(self) -> Writer:
        """Say how it writes."""

    def reader(self) -> Reader:
        """Say how it reads."""

    def parts(self) -> tuple[Named, ...]:
        """Return the workloads that it consists of; () where it is only one."""

    def with_files(self, read: Callable[[str], bytes], /) -> Self:
        """Return it with the contents of its files."""


class Named(Protocol):
    """Every one of several workloads says this of itself."""

    @property
    def name(self) -> str:
        """Name it."""

    @property
    def workload(self) -> Traffic:
        """Say what it does."""

    @property
    def start(self) -> Duration:
        """Say when it starts, at the earliest."""


class Interference(Protocol):
    """Every middlebox says this of itself."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Name the programs that it runs."""

    def mss_of_syn(self, announced: int, sender: str, receiver: str, patches: Collection[str]) -> int:
        """Return the MSS that a SYN between these nodes has then, on a kernel with these patches."""

    def dropped(self) -> int | None:
        """Return the number of the data segment that it drops; None: it drops none."""
