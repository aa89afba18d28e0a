"""Run several workloads side by side, on one clock. Each workload has a name and a start."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from threading import Event
from typing import Annotated, Self

import msgspec
from msgspec import structs

from lab.guest import outputs
from lab.guest.task import Checked, Reader, Task, Writer, no_folder
from lab.guest.testbed import Testbed, WorkloadError
from lab.guest.workload.arrivals import Arrivals
from lab.guest.workload.bulk import Bulk
from lab.guest.workload.exchange import RequestResponse
from lab.guest.workload.flent import Flent
from lab.guest.workload.netcat import Netcat
from lab.guest.workload.onoff import OnOff
from lab.guest.workload.paced import PacedReader
from lab.guest.workload.program import Program
from lab.guest.workload.small_writes import SmallWrites
from lab.guest.workload.sockets import make_room
from lab.guest.workload.tools import Iperf, Iperf3, Ping, Qperf
from lab.units import Duration

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
FILES = 8  # the most files that the first process opens for a flow: pipes, and handles of processes
FIRST_PORT = 10_001  # of their servers, one after another; below the ports that the kernel assigns by itself


class Flow(Checked, frozen=True):
    """Names one of several workloads, and sets its start.

    The flow starts `start` after the trial's workload, or up to `spread` later, drawn from the seed. On deterministic
    wires, flows that start at the same time stay in step, unlike real flows (Floyd and Jacobson, 1992). A workload that
    waits for its server connects on the next multiple of 20 ms of virtual time (5 ms of real time), where the kernel's
    ticks fall. With a `spread`, it connects exactly 20 ms (5 ms) after the moment that was drawn.
    """

    name: str
    workload: Annotated[Single, msgspec.Meta(title="a workload that may run beside others")]
    start: Duration = Duration(0)
    spread: Duration = Duration(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", self.name):
            raise ValueError(f"'{self.name[:100]}' does not name a flow: use letters, digits, '-' and '_'")

    def run(self, testbed: Testbed, stop: Event) -> tuple[str, dict[str, int]]:
        """Run the workload at its time, unless `stop` comes first, and return its entry in flows.json.

        Raises WorkloadError, with the flow's name, or MachineError.
        """
        waited = stop.wait(self.start.seconds + self.spread.seconds * testbed.draws().random())
        start_ns = time.time_ns()
        try:
            if not waited:
                self.workload.run(testbed.off_beat() if self.spread.ns else testbed)
        except WorkloadError as error:
            raise WorkloadError(f"flow '{self.name}': {error}") from None
        return self.name, {"port": testbed.port(0), "start_ns": start_ns}


class Flows(Task, frozen=True):
    """Runs workloads of any kind side by side. The run ends with the last workload.

    Each workload has a port, which distinguishes it in captures and samples, and an output folder with its name. Writes
    flows.json, with the `port` and the `start_ns` of each workload (nanoseconds on the trial's wall clock), by name.
    `client`, `server` and `ip` are taken from the first workload.
    """

    flows: tuple[Flow, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """The IP version of the first flow."""
        return self.flows[0].workload.ip

    @property
    def greedy(self) -> bool:
        """Whether any flow sends as fast as the network allows."""
        return any(flow.workload.greedy for flow in self.flows)

    @property
    def tools(self) -> tuple[str, ...]:  # type: ignore[override]  # its parts decide what it needs
        """The programs that any flow runs."""
        return tuple(dict.fromkeys(tool for flow in self.flows for tool in flow.workload.tools))

    @property
    def programs(self) -> tuple[str, ...]:  # type: ignore[override]  # as with tools
        """The programs that the experiment chose for any flow."""
        return tuple(dict.fromkeys(each for flow in self.flows for each in flow.workload.programs))

    def with_files(self, read: Callable[[str], bytes], within: Callable[[str], Iterable[str]] = no_folder, /) -> Self:
        """Return the flows with the contents of their files."""
        with_files = (structs.replace(flow, workload=flow.workload.with_files(read, within)) for flow in self.flows)
        return structs.replace(self, flows=tuple(with_files))

    def parts(self) -> tuple[Flow, ...]:
        """Return the flows."""
        return self.flows

    def writer(self) -> Writer:
        """Return an empty description, because each flow describes itself."""
        return Writer()

    def reader(self) -> Reader:
        """Return an empty description, because each flow describes itself."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run all flows. If a flow fails, raise its error with its name, and end the others."""
        from concurrent.futures import ThreadPoolExecutor, as_completed  # other trials start faster without it

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
                stop.set()  # before `undo` ends processes, so that nothing new starts then
        (testbed.out / outputs.FLOWS).write_text(json.dumps(begun, sort_keys=True) + "\n")
