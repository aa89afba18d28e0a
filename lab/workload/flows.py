"""Run several workloads side by side, on one clock: each by its name, with a start of its own."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event
from typing import Self

import msgspec
from msgspec import structs

from lab import outputs
from lab.spec.task import Reader, Task, Writer
from lab.testbed import Testbed, WorkloadError
from lab.units import Duration
from lab.workload.arrivals import Arrivals
from lab.workload.bulk import Bulk
from lab.workload.exchange import RequestResponse
from lab.workload.flent import Flent
from lab.workload.netcat import Netcat
from lab.workload.onoff import OnOff
from lab.workload.paced import PacedReader
from lab.workload.program import Program
from lab.workload.small_writes import SmallWrites
from lab.workload.sockets import make_room
from lab.workload.tools import Iperf, Iperf3, Ping, Qperf

__all__ = ["Flow", "Flows", "Single"]

Single = (
    Arrivals
    | Bulk
    | Flent
    | Iperf
    | Iperf3
    | Netcat
    | OnOff
    | PacedReader
    | Ping
    | Program
    | Qperf
    | RequestResponse
    | SmallWrites
)
FILES = 8  # that the first process has open for a flow, at most: pipes, and handles of processes
FIRST_PORT = 10_001  # of their servers, one after another: below all that the kernel hands out by itself


class Flow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names one of several workloads, and says when it starts.

    It starts `start` after the trial's workload does, or up to `spread` later, as the seed has it: flows that start at
    one instant on wires without chance stay in step, which no real ones do (Floyd and Jacobson, 1992). A server that
    has to be waited for adds 5 ms.
    """

    name: str
    workload: Single
    start: Duration = Duration(0)
    spread: Duration = Duration(0)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", self.name):
            raise ValueError(f"'{self.name}' does not name a flow: use letters, digits, '-' and '_'")

    def run(self, testbed: Testbed, stop: Event) -> tuple[str, dict[str, int]]:
        """Run the workload when its time has come, unless `stop` comes first; return what flows.json says of it.

        Raises WorkloadError, which names the flow, or MachineError.
        """
        waited = stop.wait(self.start.seconds + self.spread.seconds * testbed.draws().random())
        start_ns = time.time_ns()
        try:
            if not waited:
                self.workload.run(testbed)
        except WorkloadError as error:
            raise WorkloadError(f"flow '{self.name}': {error}") from None
        return self.name, {"port": testbed.port(0), "start_ns": start_ns}


class Flows(Task, frozen=True):
    """Runs workloads of any kind side by side; it ends when the last one does.

    Each has a port of its own, by which captures and samples tell it from the others, and a folder of its name for its
    outputs. Leaves flows.json: of each, by its name, its `port` and `start_ns` (nanoseconds of the trial's wall clock).
    What `client`, `server` and `ip` say is the first one's.
    """

    flows: tuple[Flow, ...]

    def __post_init__(self) -> None:
        names = [flow.name for flow in self.flows]
        if not names:
            raise ValueError("there are no flows: name at least one")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two flows are called '{name}'")

    @property
    def client(self) -> str:
        """The node that connects in the first flow."""
        return self.flows[0].workload.client

    @property
    def server(self) -> str:
        """The node that accepts in the first flow."""
        return self.flows[0].workload.server

    @property
    def ip(self) -> int:
        """The version of IP of the first flow."""
        return self.flows[0].workload.ip

    @property
    def greedy(self) -> bool:
        """True when any of them sends as fast as the network takes it."""
        return any(flow.workload.greedy for flow in self.flows)

    @property
    def tools(self) -> tuple[str, ...]:  # type: ignore[override]  # what it needs depends on what it consists of
        """The programs that any of them runs."""
        return tuple(dict.fromkeys(tool for flow in self.flows for tool in flow.workload.tools))

    @property
    def programs(self) -> tuple[str, ...]:  # type: ignore[override]  # as with tools
        """The programs that the experiment chose for any of them."""
        return tuple(dict.fromkeys(each for flow in self.flows for each in flow.workload.programs))

    def with_files(self, read: Callable[[str], bytes], /) -> Self:
        """Return them with the contents of their files."""
        with_files = (structs.replace(flow, workload=flow.workload.with_files(read)) for flow in self.flows)
        return structs.replace(self, flows=tuple(with_files))

    def parts(self) -> tuple[Flow, ...]:
        """Return the flows."""
        return self.flows

    def writer(self) -> Writer:
        """Each of its parts says that for itself."""
        return Writer()

    def reader(self) -> Reader:
        """Each of its parts says that for itself."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run all of them. Raises what the first one raises that fails, by its name; the others are ended then."""
        from concurrent.futures import ThreadPoolExecutor, as_completed  # other trials start quicker without it

        make_room(FILES * len(self.flows))
        stop = Event()
        with ThreadPoolExecutor(len(self.flows)) as pool, ExitStack() as undo:
            running = [
                pool.submit(flow.run, testbed.part(flow.name, port, undo), stop)
                for port, flow in enumerate(self.flows, FIRST_PORT)
            ]
            try:
                begun = dict(each.result() for each in as_completed(running))
            finally:
                stop.set()  # before `undo` ends processes: nothing new starts then
        (testbed.out / outputs.FLOWS).write_text(json.dumps(begun, sort_keys=True) + "\n")
