"""Workloads and probes survive the way into a guest: declared, made plain, and read again."""

from __future__ import annotations

import re
from typing import Any, cast, get_args

import msgspec
import pytest

from lab.guest.middlebox import Middlebox
from lab.guest.probe import Capture, CpuTime, ExpertInfo, Netstat, Probe, TcpInfo
from lab.guest.workload import (
    Bulk,
    Flent,
    Iperf,
    Iperf3,
    Netcat,
    PacedReader,
    Ping,
    Qperf,
    RequestResponse,
    SmallWrites,
    Workload,
)
from lab.units import Duration, Rate, Size, from_plain, to_plain


@pytest.mark.parametrize(
    "workload",
    [
        Bulk(),
        Bulk(client="a", server="b", size=Size.of("64 KiB"), ip=6, congestion="reno", maxseg=Size(300)),
        Netcat(size=Size.of("1 MiB"), back=Size(1)),
        Bulk(block=Size.of("128 KiB"), effort=Duration.of("280 us")),
        Iperf(duration=Duration.of("1500 ms")),
        Iperf3(duration=Duration.of("3 s"), udp_rate=Rate.of("10 Mbit/s"), length=Size(1000)),
        Flent(test="tcp_download", length=Duration.of("3 s"), step=Duration.of("200 ms")),
        Qperf(test="tcp_lat"),
        Ping(count=3, interval=Duration.of("200 ms"), size=Size(1472)),
        PacedReader(rate=Rate.of("10 Mbit/s"), block=Size.of("32 KiB")),
        SmallWrites(messages=5, writes=3, size=Size(9), way="writev", file=Size.of("8 KiB"), ip=6),
        RequestResponse(count=3, response=Size(2), think=Duration.of("20 ms"), asleep=Duration.of("1 s")),
    ],
)
def test_a_workload_comes_back_whole(workload: Any) -> None:
    assert from_plain(to_plain(workload), cast(Any, Workload)) == workload


@pytest.mark.parametrize(
    "probe", [Capture(node="a", filter="tcp port 80"), CpuTime(), ExpertInfo(), Netstat(node="a"), TcpInfo(node="b")]
)
def test_a_probe_comes_back_whole(probe: Any) -> None:
    assert from_plain(to_plain(probe), cast(Any, Probe)) == probe


def test_the_kind_of_a_task_is_the_name_of_its_class() -> None:
    for task in (*get_args(Workload), *get_args(Probe), *get_args(Middlebox)):
        kind = msgspec.inspect.type_info(task).tag  # type: ignore[attr-defined]
        assert re.fullmatch("[a-z0-9_]+", kind), task
        assert kind.replace("_", "") == task.__name__.lower()


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="speed"):
        from_plain({**to_plain(Bulk()), "speed": 9}, cast(Any, Workload))


@pytest.mark.parametrize("tool", [Iperf3, Qperf])
@pytest.mark.parametrize("duration", ["500 ms", "0 s", "1500 ms"])
def test_tools_that_count_whole_seconds_say_so(tool: type[Iperf3] | type[Qperf], duration: str) -> None:
    """Half a second would be cut to none, which to iperf3 means for ever."""
    with pytest.raises(ValueError, match="whole seconds"):
        tool(duration=Duration.of(duration))


def test_flent_counts_whole_seconds() -> None:
    with pytest.raises(ValueError, match="is not a length for it"):
        Flent(length=Duration.of("1500 ms"))
    with pytest.raises(ValueError, match="is not a delay for it"):
        Flent(delay=Duration(0))


def test_a_reader_that_would_read_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing would be read"):
        PacedReader(duration=Duration.of("1 ms"))
    with pytest.raises(ValueError, match="count: should be from 1 to"):
        RequestResponse(count=0)


@pytest.mark.parametrize("asked", [{"messages": 0}, {"writes": 0}, {"size": Size(0)}])
def test_nothing_to_write_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"from 1 to|at least one byte"):
        SmallWrites(**asked)


@pytest.mark.parametrize(
    ("tool", "fields", "message"),
    [
        (Flent, {"test": "tcp_upload", "others": ("b", "c")}, "'tcp_upload' uses one server; leave others out"),
        (Flent, {"test": "rtt_fair", "others": ("b",) * 4}, "'rtt_fair' uses 4 servers; name 3 more"),
        (Flent, {"step": "0 s"}, "0 ns is not between 1 ms and the length, 2 s"),
        (Flent, {"step": "3 s"}, "3 s is not between 1 ms and the length, 2 s"),
        (Ping, {"interval": "0 s"}, "ping's interval is whole milliseconds from 1 ms to 60000 min, not 0 ns"),
        (Ping, {"interval": "1500 us"}, "not 1.5 ms"),
        (Iperf3, {"tcp_rate": "1 bit/s"}, "tcp_rate: 128 KiB at 1 bit/s take longer than 10 s; give it a higher rate"),
        (Iperf3, {"pacing": "1 bit/s"}, "pacing: 1448 B at 1 bit/s take longer than 10 s"),
        (Iperf3, {"udp_rate": "1 bit/s", "length": "100 B"}, "udp_rate: 100 B at 1 bit/s take longer than 10 s"),
    ],
)
def test_a_value_without_effect_is_refused(tool: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        tool(**fields)


def test_a_test_of_any_number_of_servers_takes_them() -> None:
    assert len(Flent(test="rtt_fair_var_up", others=("b",) * 9).others) == 9
