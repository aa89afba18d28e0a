"""Run the articles' own measuring tools without modifications, and store their raw output."""

from __future__ import annotations

from typing import ClassVar, Literal

from lab.guest import outputs
from lab.guest.task import Count, IpNumber, Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS
from lab.units import Duration, Rate, Size


def _check_whole_seconds(duration: Duration, tool: str) -> None:
    """Raise ValueError unless `duration` is whole seconds: half a second would become 0, which means forever to
    iperf3.
    """
    if not duration or duration.ns % 10**9:
        raise ValueError(f"{tool} counts whole seconds: {duration} is not a duration for it")


class Iperf3(Task, frozen=True):
    """Runs iperf3 from `client` to `server` for `duration`, with UDP at `udp_rate` if it is given.

    Writes iperf3.json.
    """

    tools: ClassVar[tuple[str, ...]] = ("iperf3",)

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("10 s")
    ip: IpNumber = 4
    interval: Duration = Duration.of("1 s")
    udp_rate: Rate | None = None
    length: Size | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_whole_seconds(self.duration, "iperf3")

    @property
    def greedy(self) -> bool:
        """Whether the tool sends as fast as the network allows."""
        return self.udp_rate is None

    def writer(self) -> Writer:
        """Return how the sender writes: ten blocks each time select() reports room, after the control exchange."""
        return Writer(
            duration=self.duration,
            write_size=self.length.bytes if self.length else 128 << 10,
            writes_per_poll=10,
            control=True,
        )

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run the tool. Raises WorkloadError if the tool fails or is late, and MachineError if it is not installed."""
        port = testbed.port(5201)
        server = testbed.start(self.server, ["iperf3", "-s", "-1", "-p", str(port)])
        testbed.wait_for_listener(server, port)
        argv = ["iperf3", "-c", testbed.address(self.server, self.ip), "-p", str(port), "-J"]
        argv += ["-t", str(self.duration.ns // 10**9), "-i", f"{self.interval.seconds:g}"]
        if self.udp_rate:
            argv += ["-u", "-b", str(self.udp_rate.bps)]
        if self.length:
            argv += ["-l", str(self.length.bytes)]
        client = testbed.start(self.client, argv, outputs.IPERF3)
        testbed.wait(client, self.duration.seconds + MARGIN_SECONDS, outputs.IPERF3)
        testbed.wait(server, MARGIN_SECONDS)


class Iperf(Task, frozen=True):
    """Runs iperf 2 from `client` to `server` for `duration`. Writes iperf.csv (from the client) and iperf.server.csv.

    The writer of iperf 2 sleeps in write(). The writer of iperf3 calls select() before it writes.
    """

    greedy: ClassVar[bool] = True
    tools: ClassVar[tuple[str, ...]] = ("iperf",)

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("10 s")
    ip: IpNumber = 4

    def writer(self) -> Writer:
        """Return how the sender writes: a header, then block by block."""
        return Writer(duration=self.duration, write_size=128 << 10, header_bytes=60)

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data. The receiver also answers the header."""
        return Reader(answer=28)

    def run(self, testbed: Testbed) -> None:
        """Run the tool. Raises WorkloadError if the tool fails or is late, and MachineError if it is not installed."""
        port = testbed.port(5001)
        version = ["-V"] if self.ip == 6 else []
        argv = ["iperf", "-s", "-p", str(port), "-P", "1", "-y", "C", *version]
        server = testbed.start(self.server, argv, outputs.IPERF_SERVER)
        testbed.wait_for_listener(server, port)
        argv = ["iperf", "-c", testbed.address(self.server, self.ip), "-p", str(port)]
        argv += ["-t", f"{self.duration.seconds:g}", "-y", "C"]
        client = testbed.start(self.client, [*argv, *version], outputs.IPERF)
        testbed.wait(client, self.duration.seconds + MARGIN_SECONDS, outputs.IPERF)
        testbed.wait(server, MARGIN_SECONDS)


class Qperf(Task, frozen=True):
    """Runs qperf's `test` from `client` to `server` for `duration`. Writes qperf.txt."""

    greedy: ClassVar[bool] = True
    tools: ClassVar[tuple[str, ...]] = ("qperf",)

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("2 s")
    test: Literal["tcp_bw", "tcp_lat", "udp_bw", "udp_lat"] = "tcp_bw"
    ip: IpNumber = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_whole_seconds(self.duration, "qperf")

    def writer(self) -> Writer:
        """Return an unknown way of writing, because no model covers qperf."""
        return Writer(duration=self.duration)

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run the tool. Raises WorkloadError if the tool fails or is late, and MachineError if it is not installed."""
        port = testbed.port(19765)
        server = testbed.start(self.server, ["qperf", "--listen_port", str(port)])
        testbed.wait_for_listener(server, port)
        argv = ["qperf", "--listen_port", str(port), "--use_bits_per_sec", "--precision", "6"]
        argv += ["--time", str(self.duration.ns // 10**9)]
        argv += [testbed.address(self.server, self.ip), self.test]
        client = testbed.start(self.client, argv, outputs.QPERF)
        testbed.wait(client, self.duration.seconds + MARGIN_SECONDS, outputs.QPERF)


class Ping(Task, frozen=True):
    """Sends `count` echo requests of `size` payload bytes, `interval` apart. Writes ping.txt."""

    greedy: ClassVar[bool] = False
    tools: ClassVar[tuple[str, ...]] = ("ping",)

    client: str = "sender"
    server: str = "receiver"
    count: Count = 1
    interval: Duration = Duration.of("1 s")
    size: Size = Size(56)
    ip: IpNumber = 4

    def writer(self) -> Writer:
        """Return how the sender writes: an echo request per interval."""
        return Writer(write_size=self.size.bytes, interval=self.interval)

    def reader(self) -> Reader:
        """Return how the receiver reads: no stream of data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run the tool. Raises WorkloadError if no answer came at all."""
        argv = ["ping", "-n", "-c", str(self.count), "-i", f"{self.interval.seconds:g}", "-s", str(self.size.bytes)]
        client = testbed.start(self.client, [*argv, testbed.address(self.server, self.ip)], outputs.PING)
        testbed.wait(client, self.count * self.interval.seconds + MARGIN_SECONDS, outputs.PING)
