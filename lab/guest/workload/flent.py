"""Run Flent, the tool of the article on timestamps: netperf fills the path while fping measures the round trip."""

from __future__ import annotations

import sys
from typing import ClassVar, Literal

from lab.guest import outputs
from lab.guest.task import Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS
from lab.units import Duration

PORT = 12865


class Flent(Task, frozen=True):
    """Runs Flent's `test` on `client` against netperf's server on `server`.

    In a download, `server` sends. Writes Flent's own data file, `*.flent.gz`. The guest's clock and host name are the
    same in every trial, so the file has the same bytes every time.
    """

    greedy: ClassVar[bool] = True
    tools: ClassVar[tuple[str, ...]] = ("flent", "fping", "netperf")

    ip: ClassVar[int] = 4

    client: str = "sender"
    server: str = "receiver"
    test: Literal["tcp_download", "tcp_upload"] = "tcp_upload"
    length: Duration = Duration.of("2 s")  # of load
    delay: Duration = Duration.of("1 s")  # before the load, and again after it
    step: Duration = Duration.of("50 ms")  # between two points of the series

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, each in (("length", self.length), ("delay", self.delay)):
            if not each or each.ns % 10**9:
                raise ValueError(f"flent counts whole seconds: {each} is not a {name} for it")

    def writer(self) -> Writer:
        """Return an unknown way of writing, because no model covers netperf."""
        return Writer()

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run the test. Raises WorkloadError if the test fails or is late, and MachineError if a tool is missing."""
        port = testbed.port(PORT)
        server = testbed.start(self.server, ["netserver", "-D", "-4", "-p", str(port)])
        testbed.wait_for_listener(server, port)
        argv = [sys.executable, "-m", "flent", self.test, "-4", "-H", testbed.address(self.server)]
        argv += ["-l", str(self.length.ns // 10**9), "-d", str(self.delay.ns // 10**9)]
        argv += ["-s", f"{self.step.seconds:g}", "-r", "/dev/null", "-D", str(testbed.out), "-o", "/dev/null"]
        argv += [] if port == PORT else ["--netperf-control-port", str(port)]  # Flent's data file keeps its arguments
        client = testbed.start(self.client, argv, outputs.FLENT_LOG)
        seconds = self.length.seconds + 2 * self.delay.seconds + MARGIN_SECONDS
        testbed.wait(client, seconds, outputs.FLENT_LOG)
