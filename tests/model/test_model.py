"""Predictions against the standards' arithmetic, the articles' figures and what Linux 7.2 did on the same path."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lab import model
from lab.errors import InputError
from lab.guest.network import DelayTo, Interface, Kind, Link, Network, Node, Offloads, Route
from lab.guest.task import Reader, Task, Writer
from lab.guest.workload import Bulk, Iperf3, Netcat
from lab.model import KernelTraits, ModelError, Scenario
from lab.model.window import window_scale
from lab.units import Duration, Rate, Size, Value
from tests.examples import examples
from tests.model.scenarios import hop, host, scenario

IPERF3 = Iperf3().writer()


def path(
    delay: str = "100 ms",
    rate: str | None = "1 Gbit/s",
    mtu: int = 1500,
    version: tuple[int, int] = (7, 2),
    max_header: int = 32,
    limit: int = 10_000,
    **changed: Any,
) -> Scenario:
    kernel = KernelTraits(version, max_header=max_header)
    there, back = hop(rate, delay, mtu, limit), hop(rate, mtu=mtu)
    return scenario(there, back, **{"writer": IPERF3, "kernel": kernel, **changed})


def test_header_length() -> None:
    assert model.tcp_header_length(path()) == Value(32, "B")
    assert model.tcp_header_length(path(timestamps=False)) == Value(20, "B")


@pytest.mark.parametrize(
    ("rate", "timestamps", "mtu", "ip", "mbit"),
    [
        ("1 Gbit/s", True, 1500, 4, 941.482),
        ("10 Gbit/s", True, 1500, 4, 9414.824),
        ("10 Gbit/s", False, 1500, 4, 9492.848),
        ("1 Gbit/s", True, 9000, 4, 990.042),
        ("1 Gbit/s", True, 1500, 6, 928.479),
    ],
)
def test_line_rate(rate: str, timestamps: bool, mtu: int, ip: int, mbit: float) -> None:
    full = path(rate=rate, timestamps=timestamps, mtu=mtu, ip=ip)
    assert model.goodput_line_rate(full).number / 1e6 == pytest.approx(mbit, abs=1e-3)
    assert full.rate
    assert model.header_share(full).number == pytest.approx(1 - 1e6 * mbit / full.rate.bps, abs=1e-5)


def test_base_rtt_counts_both_serialisations() -> None:
    assert model.base_rtt(path()).number == pytest.approx(0.1 + 2 * 122 * 8 / 1e9, abs=1e-12)
    two = scenario((hop(), hop()))
    assert model.base_rtt(two).number == pytest.approx(4 * 122 * 8 / 1e9, abs=1e-12)


def test_window_plateau_of_each_era() -> None:
    assert model.window_plateau(path(version=(3, 16))) == Value(3_145_728, "B")  # the article's
    assert model.window_plateau(path()) == Value(3_979_904, "B")
    three_quarters = path(version=(3, 16), receiver=host("receiver", tcp_adv_win_scale=2))
    assert model.window_plateau(three_quarters) == Value(6291456 * 3 // 4, "B")


def test_window_plateau_of_a_kernel_with_tunnels() -> None:
    """As Debian's 7.2 advertised it under QEMU, and the user-mode 7.2 (window scale 7: tcp_rmem is below rmem_max)."""
    assert model.window_plateau(path(rcvbuf=262144, max_header=176)) == Value(155_264, "B")
    assert model.window_plateau(path(rcvbuf=262144)) == Value(164_480, "B")


@pytest.mark.long
@pytest.mark.parametrize(
    ("delay", "sndbuf", "measured"),
    [  # Mbit/s by iperf3 3.12's receiver on Linux 7.2.13, one gigabit, delay one way, tcp_rmem 6 MiB
        ("100 ms", 4 << 20, 263.699136),
        ("100 ms", 60 << 20, 292.708434),
        ("10 ms", 4 << 20, 935.363770),
    ],
)
def test_goodput_within_half_a_per_cent_of_linux(delay: str, sndbuf: int, measured: float) -> None:
    predicted = model.goodput_iperf3(path(delay, sndbuf=sndbuf))
    assert predicted.number / 1e6 == pytest.approx(measured, rel=0.005)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rcvbuf", "measured"),
    # There too, 10 ms, tcp_wmem 4 MiB.
    [(1_512_500, 715.254373), (1_503_400, 711.605185)],
)
def test_goodput_of_a_sender_that_waits_for_window(rcvbuf: int, measured: float) -> None:
    predicted = model.goodput_iperf3(path("10 ms", rcvbuf=rcvbuf))
    assert predicted.number / 1e6 == pytest.approx(measured, rel=0.0005)


@pytest.mark.long
@pytest.mark.parametrize(
    ("delay", "sndbuf", "measured", "within"),
    [  # Mbit/s of the lab's own transfer there, from its first wake-up to its last byte
        ("10 ms", 4 << 20, 936.982861, 0.0001),
        ("100 ms", 4 << 20, 214.091818, 0.0001),  # a writer that never asks lets the gaps between its bursts stand
        ("100 ms", 60 << 20, 297.576358, 0.0001),  # what is buffered at the end drains in whole round trips
    ],
)
def test_goodput_of_the_own_transfer(delay: str, sndbuf: int, measured: float, within: float) -> None:
    tested = path(delay, sndbuf=sndbuf, writer=Bulk().writer(), reader=Bulk().reader())
    assert model.goodput_bulk(tested).number / 1e6 == pytest.approx(measured, rel=within)


def test_formula_of_the_article() -> None:
    era = path(version=(3, 16))
    assert model.goodput_window_over_rtt(era).number == pytest.approx(251_658_240, rel=1e-4)


@pytest.mark.long
def test_limit_drops_when_more_is_in_flight() -> None:
    frames = int(model.frames_in_flight(path()).number)
    for limit, drops in ((frames - 1, 1), (frames, 0)):
        assert model.any_drops(path(limit=limit)) == Value(drops, "1")
    with pytest.raises(ModelError, match="loses frames"):
        model.goodput_iperf3(path(limit=100))


@examples(20)
@given(st.integers(1, 200), st.integers(16, 64), st.booleans())
def test_no_prediction_beats_the_line(delay: int, mebibytes: int, timestamps: bool) -> None:
    short = Iperf3(duration=Duration.of("2 s")).writer()
    slow: dict[str, Any] = {"rcvbuf": mebibytes << 16, "timestamps": timestamps, "writer": short}
    tested = path(f"{delay} ms", "20 Mbit/s", limit=10**6, **slow)
    done = model.transfer(tested)
    assert 8 * done.sent <= 2.1 * model.goodput_line_rate(tested).number + 8 * (done.queue * 20e6)
    assert done.sent <= done.written
    assert done.drained >= done.seconds or done.written == done.sent


def test_iperf3_counts_whole_blocks_so_that_it_takes_many() -> None:
    short = Iperf3(duration=Duration.of("1 s")).writer()
    with pytest.raises(ModelError, match="whole blocks"):
        model.goodput_iperf3(path("5 ms", "12 Mbit/s", writer=short))
    many = Iperf3(duration=Duration.of("1 s"), length=Size(4096)).writer()
    assert model.goodput_iperf3(path("5 ms", "12 Mbit/s", writer=many)).number > 10e6


def test_without_a_rate_or_a_duration_or_a_writer_there_is_no_prediction() -> None:
    with pytest.raises(ModelError, match="writer"):
        model.goodput_bulk(path(writer=Writer(duration=Duration.of("10 s"))))
    with pytest.raises(ModelError, match="rate"):
        model.goodput_line_rate(path(rate=None))
    with pytest.raises(ModelError, match="duration"):
        model.goodput_iperf3(path(writer=Writer(write_size=1)))


def node(name: str, sysctls: dict[str, str], advmss: Size | None = None) -> Node:
    return Node(name, Kind.HOST, sysctls, (Route("0.0.0.0/0", "eth0", None, None, advmss),))


def end(name: str, gro: bool = False) -> Interface:
    waits = Duration.of("20 us")
    return Interface(name, "eth0", "", Size(1500), (), Offloads(gro=gro), gro_flush_timeout=waits)


NETWORK = Network(
    "routed",
    (
        node("sender", {"net.ipv4.tcp_wmem": "4096 16384 8388608", "net.ipv4.tcp_timestamps": "0"}),
        node("router", {}),
        node("receiver", {"net.ipv4.tcp_rmem": "4096 131072 12582912"}, advmss=Size(1460)),
        node("alone", {}),
    ),
    (
        Link(
            "far",
            (end("receiver", gro=True), end("router")),
            forward=hop("100 Mbit/s", "3 ms", 500),
            back=hop("50 Mbit/s", "7 ms"),
        ),
        Link("near", (end("sender"), end("router")), forward=hop(None, "1 ms"), back=hop("1 Gbit/s", "2 ms")),
    ),
)
KERNEL = KernelTraits.of({"name": "7.2", "version": "7.2.13-1", "id": "x", "hz": 1000, "patches": []})


def test_scenario_of_a_network() -> None:
    found = Scenario.of(NETWORK, ("sender", "receiver"), KERNEL, Iperf3())
    near, far = NETWORK.links[1], NETWORK.links[0]
    assert (found.forward, found.reverse) == ((near.forward, far.back), (far.forward, near.back))
    assert (found.rate, found.delay) == (Rate.of("50 Mbit/s"), Duration.of("8 ms"))
    assert (found.timestamps, found.kernel) == (False, KernelTraits((7, 2), 1000))
    assert (found.sndbuf_max, found.rcvbuf_max) == (8388608, 12582912)
    assert (found.sender.interface, found.receiver.interface) == (near.ends[0], far.ends[0])
    assert (found.sender.advmss, found.receiver.advmss) == (None, Size(1460))
    assert (found.client, Scenario.of(NETWORK, ("sender", "receiver"), KERNEL, Netcat()).client) == (
        "sender",
        "receiver",
    )


def test_a_path_has_the_delay_of_its_destination() -> None:
    """The lab's own predictions refuse such a path; a user's may use `base_rtt`."""
    link = NETWORK.links[1]
    addressed = tuple(
        structs.replace(end, addresses=(f"10.0.0.{number}/24",)) for number, end in enumerate(link.ends, 1)
    )
    delays = DelayTo("10.0.0.1/32", Duration.of("50 ms")), DelayTo("10.0.0.0/24", Duration.of("9 s"))
    to_sender = structs.replace(link, ends=addressed, back=structs.replace(link.back, delays=delays))
    network = structs.replace(NETWORK, links=(NETWORK.links[0], to_sender))
    plain, found = (Scenario.of(each, ("sender", "receiver"), KERNEL, Iperf3()) for each in (NETWORK, network))
    assert (plain.reverse[-1].delay, found.reverse[-1].delay) == (Duration.of("2 ms"), Duration.of("50 ms"))
    assert model.base_rtt(found).number - model.base_rtt(plain).number == pytest.approx(0.048)
    with pytest.raises(ModelError, match="the delay depends on the destination"):
        model.rtt_of_ping(found)


def test_a_scenario_reversed_is_that_of_the_other_direction() -> None:
    ahead, behind = (Scenario.of(NETWORK, path, KERNEL, Iperf3()) for path in WAYS)
    assert ahead.reversed() == replace(behind, client="receiver")
    assert ahead.reversed().delay == Duration.of("5 ms")
    assert ahead.reversed().reversed() == ahead


WAYS = (("sender", "receiver"), ("receiver", "sender"))


@pytest.mark.parametrize("receiver", ["alone", "nobody"])
def test_no_path_is_an_input_error(receiver: str) -> None:
    with pytest.raises(InputError, match=receiver):
        Scenario.of(NETWORK, ("sender", receiver), KERNEL, Iperf3())


def test_a_kernel_without_a_version_is_an_input_error() -> None:
    with pytest.raises(InputError, match="'newest' is not a kernel version"):
        KernelTraits.of({"version": "newest", "hz": 1000, "patches": []})


class Chunked(Task, frozen=True):
    """A workload that the lab does not know: it writes in chunks, for a reader that wakes for as much."""

    greedy: ClassVar[bool] = True

    chunk: int
    client: str = "sender"
    server: str = "receiver"
    ip: int = 4

    def writer(self) -> Writer:
        return Writer(size=4 << 20, write_size=self.chunk, sendfile=True)

    def reader(self) -> Reader:
        return Reader(rcvlowat=self.chunk, first_read_size=self.chunk, read_size=1 << 20)


def test_a_workload_of_ones_own_says_how_it_writes_and_reads() -> None:
    def asked(workload: Chunked | Bulk) -> Scenario:
        plain = path("10 ms", writer=workload.writer(), reader=workload.reader())
        found = Scenario.of(NETWORK, ("sender", "receiver"), KERNEL, workload)
        assert (found.writer, found.reader) == (plain.writer, plain.reader)
        return plain

    small, large = (model.transfer(asked(Chunked(chunk))) for chunk in (16 << 10, 1 << 20))
    bulk = model.transfer(asked(Bulk(size=Size.of("4 MiB"), block=Size.of("16 KiB"))))
    assert small.total == large.total == bulk.total == 4 << 20
    assert (small.drained, small.started) == (bulk.drained, bulk.started)  # it says the same as the lab's own
    assert large.started is not None
    assert small.started is not None
    assert large.started > small.started  # its reader waits for more
    assert large.drained != small.drained


@pytest.mark.parametrize(
    ("version", "rcvbuf", "shift"),
    [
        ((7, 2), 65536, 7),  # net.core.rmem_max is 4 MiB since 6.18: 2^22, less 15
        ((7, 2), 6291456, 7),
        ((7, 2), (8 << 20) - 1, 7),
        ((7, 2), 8 << 20, 8),
        ((6, 12), 65536, 2),  # and was 212,992 bytes before: between 2^17 and 2^18
        ((6, 12), 6291456, 7),
        ((7, 2), 1 << 29, 14),
        ((7, 2), 1 << 30, 14),  # no more can be announced (RFC 7323 2.3)
    ],
)
def test_window_scale_is_the_least_that_expresses_the_largest_buffer(
    version: tuple[int, int], rcvbuf: int, shift: int
) -> None:
    assert window_scale(path(version=version, rcvbuf=rcvbuf)) == shift
