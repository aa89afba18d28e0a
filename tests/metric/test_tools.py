"""What a tool says when it fails reaches the user, in its own words: outputs recorded from the tools themselves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import metric
from lab.guest import outputs
from lab.metric import MetricError
from lab.metric.tools import (
    iperf3_bits_per_second,
    iperf_bits_per_second,
    netstat_counters,
    ping_rtts,
    qperf_results,
)
from tests.kinds import Keep

DATA = Path(__file__).parents[1] / "data"
TOOLS = DATA / "tools"

SENTENCES = {
    "flent.test.txt": "ERROR: Found no hostnames on lookup of tcp_uploadd",
    "iperf.refused.txt": "tcp connect failed: Connection refused",
    "iperf3.length.txt": "iperf3: parameter error - block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
    "iptables.option.txt": 'iptables v1.8.9 (nf_tables): unknown option "--nope"',
    "iptables.rule.txt": "iptables: Bad rule (does a matching rule exist in that chain?).",
    "netperf.refused.txt": "establish_control could not establish the control connection from 0.0.0.0 port 0 address "
    "family AF_UNSPEC to 127.0.0.1 port 5997 address family AF_INET",
    "nft.syntax.txt": "Error: syntax error, unexpected newline",
    "nft.table.txt": "Error: Could not process rule: No such file or directory",
    "ping.lost.txt": "2 packets transmitted, 0 received, 100% packet loss, time 204ms",
    "ping.unreachable.txt": "ping: connect: Network is unreachable",
    "qperf.refused.txt": "127.0.0.1: failed to connect",
    "qperf.test.txt": "tcp_bww: bad test; try: qperf --help tests",
    "tcpdump.device.txt": "tcpdump: eth7: No such device exists",
    "tcpdump.filter.txt": "tcpdump: can't parse filter expression: syntax error",
    "tshark.file.txt": 'tshark: The file "/nonexistent" doesn\'t exist.',
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_tool_that_failed_is_quoted(name: str) -> None:
    assert outputs.sentence(name.partition(".")[0], (TOOLS / name).read_text()) == SENTENCES[name]


@pytest.mark.parametrize("before", ["", "warning: UDP block size 1470 exceeds TCP MSS 1448\n"])
def test_an_error_in_json_is_quoted(before: str) -> None:
    text = before + (DATA / "iperf3.refused.json").read_text()
    assert outputs.sentence("iperf3", text) == "unable to connect to server: Connection refused"
    with pytest.raises(MetricError, match=r"^iperf3 failed: unable to connect to server: Connection refused$"):
        iperf3_bits_per_second(text, "received")


def test_no_output_is_told_as_that() -> None:
    assert outputs.sentence("ping", "\n") == "it left no message"


def test_a_warning_before_the_report_of_iperf3_does_not_hide_it(record: Keep) -> None:
    """It warns of every UDP length above an MSS, on standard error."""
    text = (TOOLS / "iperf3.warned.json").read_bytes()
    assert text.startswith(b"warning: UDP block size 1470 exceeds TCP MSS 1448")
    measured = metric.iperf3_goodput()(record({outputs.IPERF3: text}))
    assert measured.number == json.loads(text.partition(b"\n")[2])["end"]["sum_received"]["bits_per_second"]
    assert measured.number == pytest.approx(1e6, rel=0.01)


@pytest.mark.parametrize(
    ("parse", "name"),
    [
        (lambda text: iperf3_bits_per_second(text, "received"), "iperf3.length.txt"),
        (iperf_bits_per_second, "iperf.refused.txt"),
        (qperf_results, "qperf.refused.txt"),
        (ping_rtts, "ping.lost.txt"),
    ],
)
def test_a_parser_quotes_the_tool(parse: object, name: str) -> None:
    with pytest.raises(MetricError) as raised:
        parse((TOOLS / name).read_text())  # type: ignore[operator]
    assert SENTENCES[name] in str(raised.value)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (iperf_bits_per_second, "0,a,1,b,2,3,0.0-1.0,4,x"),
        (qperf_results, "    bw  =  1.2.3 MB/sec"),
        (qperf_results, "    bw  =  , MB/sec"),
        (ping_rtts, "64 bytes: time=1.2.3 ms"),
        (netstat_counters, "TcpExt: A\nTcpExt: x\n"),
        (netstat_counters, "\nTcpExt: 1\n"),
    ],
)
def test_damaged_output_is_one_message(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(MetricError):
        parse(text)


def test_an_iperf3_report_without_streams_has_a_rate(record: Keep) -> None:
    text = json.dumps(
        {
            "start": {"target_bitrate": 1000, "test_start": {"num_streams": 0}},
            "end": {"sum_sent": {"bits_per_second": 1000}, "sum_received": {"bits_per_second": 900}},
        }
    )
    assert metric.iperf3_goodput()(record({outputs.IPERF3: text.encode()})).number == 900


@pytest.mark.parametrize("measure", [metric.flent_goodput(), metric.flent_rtt()])
def test_flent_quotes_the_program_that_it_ran(measure: metric.DeclaredMetric, record: Keep) -> None:
    """Flent itself ends with status 0, and leaves a data file without the transfer."""
    left = gzip.compress(json.dumps({"raw_values": {"Ping (ms) ICMP": [], "TCP upload": []}}).encode())
    done = record({"a.flent.gz": left, outputs.FLENT_LOG: (TOOLS / "flent.refused.txt").read_bytes()})
    with pytest.raises(
        MetricError, match=r"establish control: are you sure there is a netserver listening on 127.0.0.1"
    ):
        measure(done)
