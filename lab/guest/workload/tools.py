"""Run the articles' own measuring tools without modifications, and store their raw output."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from lab.guest import outputs
from lab.guest.task import Count, IpNumber, Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS
from lab.units import Duration, Rate, Size

_LARGEST_PING = 65_507  # bytes of payload in an IPv4 packet
_PING_INTERVALS = Duration.of("1 ms"), Duration.of("1000 h")  # ping counts milliseconds; 0 means as fast as it can
# The limits of iperf3
_LONGEST = Duration.of("86400 s")
_BLOCK, _SEGMENT = Size(128 << 10), Size(1448)  # that a flow sends at once, of TCP, and at a rate
_SHORTEST_INTERVAL, _LONGEST_INTERVAL = Duration.of("100 ms"), Duration.of("60 s")


def _check_whole_seconds(duration: Duration, tool: str) -> None:
    """Raise ValueError unless `duration` is whole seconds: half a second would become 0, which means forever to
    iperf3.
    """
    if not duration or duration.ns % 10**9:
        raise ValueError(f"{tool} counts whole seconds: {duration} is not a duration for it")


class Iperf3(Task, frozen=True):
    """Runs iperf3 from `client` to `server` for `duration`. Writes iperf3.json, with a row for each `interval`.

    `parallel` flows start together. With `bidir`, as many flows send from the server to the client at the same time. A
    flow sends TCP as fast as the network allows, unless a rate limits it. Each rate holds for every flow. `udp_rate`
    sends datagrams. `tcp_rate` limits how fast iperf3 writes, block by block. `pacing` makes the kernel spread a flow's
    segments evenly in time (SO_MAX_PACING_RATE). `length` is the size of a write, or of a datagram. An `interval` of
    zero gives only the results of the whole test.
    """

    tools: ClassVar[tuple[str, ...]] = ("iperf3",)

    client: str = "sender"
    server: str = "receiver"
    duration: Duration = Duration.of("10 s")
    ip: IpNumber = 4
    interval: Duration = Duration.of("1 s")
    udp_rate: Rate | None = None
    length: Size | None = None
    parallel: Annotated[int, Meta(ge=1, le=128)] = 1
    bidir: bool = False
    pacing: Rate | None = None
    tcp_rate: Rate | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_whole_seconds(self.duration, "iperf3")
        if self.duration > _LONGEST:
            raise ValueError(f"iperf3 runs for a day at most, not for {self.duration}")
        if self.interval and (self.interval < _SHORTEST_INTERVAL or self.interval > _LONGEST_INTERVAL):
            raise ValueError(f"iperf3's interval is {_SHORTEST_INTERVAL} to {_LONGEST_INTERVAL}, not {self.interval}")
        least, most = (16, 65_507) if self.udp_rate else (1, 1 << 20)
        if self.length is not None and not least <= self.length.bytes <= most:
            of = "datagrams" if self.udp_rate else "writes"
            raise ValueError(f"iperf3's {of} have {least} to {most:,} bytes, not {self.length}")
        for name in ("udp_rate", "tcp_rate", "pacing"):
            if (rate := getattr(self, name)) is not None and not rate:
                raise ValueError(f"{name}: iperf3 sends without a limit at a rate of 0; leave it out")
        for name, block in (
            ("tcp_rate", self.length or _BLOCK),
            ("udp_rate", self.length or _SEGMENT),
            ("pacing", _SEGMENT),
        ):
            rate = getattr(self, name)
            if rate and rate.time_for(block) > self.duration.seconds:
                raise ValueError(f"{name}: {block} at {rate} take longer than {self.duration}; give it a higher rate")
        if self.udp_rate and (self.tcp_rate or self.pacing):
            raise ValueError("udp_rate sends UDP, but tcp_rate and pacing limit TCP; leave them out")
        if self.udp_rate and self.bidir:
            raise ValueError(
                "bidir with udp_rate: iperf3's server divides by zero when it starts, and ignores the rate in virtual "
                "time; use Flows with an Iperf3 for each direction"
            )

    @property
    def greedy(self) -> bool:
        """Whether the tool sends as fast as the network allows."""
        return not (self.udp_rate or self.tcp_rate or self.pacing)

    def writer(self) -> Writer:
        """Return how the sender writes: ten blocks each time select() reports room, after the control exchange.

        No model covers several connections, or a limited rate of TCP.
        """
        if self.parallel > 1 or self.bidir or self.tcp_rate or self.pacing:
            return Writer(duration=self.duration)
        return Writer(
            duration=self.duration,
            write_size=(self.length or _BLOCK).bytes,
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
        argv += ["-u"] if self.udp_rate else []
        if rate := self.udp_rate or self.tcp_rate:
            argv += ["-b", str(rate.bps)]
        if self.length:
            argv += ["-l", str(self.length.bytes)]
        argv += ["-P", str(self.parallel)] if self.parallel > 1 else []
        argv += ["--bidir"] if self.bidir else []
        argv += ["--fq-rate", str(self.pacing.bps)] if self.pacing else []
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size.bytes > _LARGEST_PING:
            raise ValueError(f"ping sends {_LARGEST_PING:,} bytes at most, not {self.size}")
        least, most = _PING_INTERVALS
        if self.interval < least or self.interval > most or self.interval.ns % 10**6:
            raise ValueError(f"ping's interval is whole milliseconds from {least} to {most}, not {self.interval}")

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
