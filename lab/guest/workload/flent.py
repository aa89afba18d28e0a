"""Run Flent, the tool of the article on timestamps: netperf fills the path while fping measures the round trip."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from typing import ClassVar

from lab.guest import outputs
from lab.guest.task import Reader, Task, Writer
from lab.guest.testbed import Testbed
from lab.guest.workload.sockets import MARGIN_SECONDS, control_congestion
from lab.units import Duration

__all__ = ["Flent"]

PORT = 12865
_SEVERAL = {"cisco_5tcpup": 5, "rtt_fair": 4, "rtt_fair4be": 4, "rtt_fair6be": 6, "rtt_fair_up": 4}  # test: servers
_VARIABLE = ("rtt_fair_var", "rtt_fair_var_down", "rtt_fair_var_up")  # these use any number of servers
_SHORTEST_STEP = Duration.of("1 ms")  # a shorter one would give millions of points
_UP, _DOWN = "upload_streams", "download_streams"
_PARAMETERS = {  # test: the parameters that it needs
    "rrul_be_nflows": (_UP, _DOWN),
    "rrul_var": ("bidir_streams",),
    "tcp_ndown": (_DOWN,),
    "tcp_nup": (_UP,),
}
_MOST_STREAMS = 128
_STREAMS = ("cc_algos", "markings", "stream_delays")
_CHOSEN = "tcp_cong_control"  # of flows for which the test has none
_READ = {  # test: further parameters that have an effect; otherwise _CHOSEN
    "ping": (),
    "rrul_var": (*_STREAMS, "labels", "send_sizes"),
    **dict.fromkeys(
        ("rtt_fair", "rtt_fair4be", "rtt_fair6be", "rtt_fair_up"), ("cc_algos", "send_sizes", "stream_delays")
    ),
    **dict.fromkeys(
        ("rtt_fair_var", "rtt_fair_var_down", "rtt_fair_var_up"), (*_STREAMS, "labels", "ping_labels", "send_sizes")
    ),
    "tcp_1up": ("cc_algo", "cc_algos", "marking", "markings", _CHOSEN),
    **dict.fromkeys([f"tcp_{count}{way}" for count in ("n", 2, 4, 6, 8, 12) for way in ("down", "up")], _STREAMS),
    **dict.fromkeys(("cubic_bbr", "cubic_dctcp", "cubic_reno"), ()),
    **dict.fromkeys(("tcp_2up_square", "tcp_2up_square_westwood", "tcp_4up_squarewave"), ()),
}
_NEEDED = {  # test: its congestion controls; netperf would use the default instead of one that the kernel does not have
    **{f"cubic_{name}": ("cubic", name) for name in ("bbr", "dctcp", "reno")},
    "cubic_westwood": ("westwood",),
    **dict.fromkeys(("tcp_2up_square", "tcp_2up_square_westwood"), ("cubic", "reno", "westwood")),
    "tcp_4up_squarewave": ("bbr", "cubic"),
}
_TESTS = (  # these run with the programs of the sealed userland, and with the congestion controls of its kernel
    *("cubic_bbr", "cubic_dctcp", "cubic_reno", "cubic_westwood", "ping"),
    *("rrul", "rrul_100_up", "rrul_50_down", "rrul_50_up", "rrul_be", "rrul_cs8", "rrul_icmp", "rrul_noclassification"),
    *("rrul_prio", "rrul_up", "rtt_fair_var", "rtt_fair_var_down", "rtt_fair_var_up"),
    *("tcp_12down", "tcp_12up", "tcp_1down", "tcp_1up", "tcp_1up_noping", "tcp_2down", "tcp_2up", "tcp_2up_delay"),
    *("tcp_2up_square", "tcp_2up_square_westwood", "tcp_4down", "tcp_4up", "tcp_4up_squarewave", "tcp_6down"),
    *("tcp_6up", "tcp_8down", "tcp_8up", "tcp_bidirectional", "tcp_download", "tcp_upload", "tcp_upload_prio"),
    *_SEVERAL,
    *_PARAMETERS,
)
_IPERF = "Flent 2.2.0 misreads the times of iperf 2.2.1; use Flows with Iperf3(udp_rate=...) or Bulk, and a Ping"
_VOICE = "it needs D-ITG or irtt, and the userland has neither; use OnOff, and the metrics lost_share() and jitter()"
_HTTP = "it needs http-getter, and Debian does not have it; use Arrivals, or curl and nginx with userland='programs'"
_BURSTS = "it needs traffic-gen, and Debian does not have it; use Flows with OnOff and Ping"
_BOTH = "it needs one name for an IPv4 and an IPv6 address; use rrul, or Flows with ip=4 and ip=6"
_CONTROL = (
    "the kernel does not have its congestion control, and netperf would use the default instead; use Flows of Bulk "
    "with congestion=..., on a kernel that has it"
)
_NETPERF = "Flent's program for netperf refuses its traffic; use Flows of Bulk and RequestResponse"
_REFUSED = {  # test: why it cannot run, and the closest alternative
    **dict.fromkeys(("bursts", "bursts_11e"), _BURSTS),
    **dict.fromkeys(("cisco_5tcpup_2udpflood", "rrul_be_iperf", "udp_flood", "udp_flood_var_up"), _IPERF),
    "udp_flood_var_up_stagger": _IPERF,
    **dict.fromkeys(("cubic_cdg", "cubic_ledbat", "cubic_ledbat_1", "ledbat_cubic_1", "rrul_torrent"), _CONTROL),
    **dict.fromkeys([f"reno_cubic_westwood_{name}" for name in ("cdg", "ledbat", "lp")], _CONTROL),
    **dict.fromkeys(("dslreports_8dn", "iterated_bidirectional", "sctp_vs_tcp"), _NETPERF),
    **dict.fromkeys(("http", "http-1down", "http-1up", "http-rrul"), _HTTP),
    "qdisc-stats": "it sends nothing; use the probe QueueState",
    **dict.fromkeys(("rrul46", "rrul46compete"), _BOTH),
    "rtt_fair_var_mixed": "you cannot choose its directions; use Flows of Bulk",
    "tcp_upload_1000": "a guest has no room for a thousand netperfs; use Arrivals",
    **dict.fromkeys(("voip", "voip-1up", "voip-rrul"), _VOICE),
}


class Flent(Task, frozen=True):
    """Runs Flent's `test` on `client` against netperf's server on `server`, and on `others` if the test has several.

    In a download, the servers send. `parameters` are the test's own, such as `{"upload_streams": "3"}`. Writes Flent's
    data file, `*.flent.gz`. The guest's clock and host name are the same in every trial, so the file has the same bytes
    every time. UDP round trips come from netperf (UDP_RR), because the userland has no irtt.
    """

    greedy: ClassVar[bool] = True
    tools: ClassVar[tuple[str, ...]] = ("flent", "fping", "netperf")

    ip: ClassVar[int] = 4

    client: str = "sender"
    server: str = "receiver"
    test: str = "tcp_upload"
    length: Duration = Duration.of("2 s")  # of load
    delay: Duration = Duration.of("1 s")  # before the load, and again after it
    step: Duration = Duration.of("50 ms")  # between two points of the series
    parameters: dict[str, str] = {}
    others: tuple[str, ...] = ()  # further servers; a name may appear several times

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, each in (("length", self.length), ("delay", self.delay)):
            if not each or each.ns % 10**9:
                raise ValueError(f"flent counts whole seconds: {each} is not a {name} for it")
        if self.test in _REFUSED:
            raise ValueError(f"Flent.test: '{self.test}' cannot run here: {_REFUSED[self.test]}")
        if self.test not in _TESTS:
            raise ValueError(f"Flent.test: unknown test {self.test[:60]!r}; use one of {', '.join(sorted(_TESTS))}")
        servers = _SEVERAL.get(self.test, 1)
        if len(self.others) + 1 < servers:
            raise ValueError(f"Flent.others: '{self.test}' needs {servers} servers; name {servers - 1} more")
        if len(self.others) + 1 > servers and self.test not in _VARIABLE:
            most = f"{servers} servers; name {servers - 1} more" if servers > 1 else "one server; leave others out"
            raise ValueError(f"Flent.others: '{self.test}' uses {most}")
        if self.step < _SHORTEST_STEP or self.step > self.length:
            raise ValueError(f"Flent.step: {self.step} is not between {_SHORTEST_STEP} and the length, {self.length}")
        self._check_parameters()

    def _check_parameters(self) -> None:
        """Raise ValueError for a missing parameter, and for one that Flent would ignore."""
        needed = _PARAMETERS.get(self.test, ())
        for name in needed:
            if name not in self.parameters:
                raise ValueError(f"Flent.parameters: '{self.test}' needs '{name}'; write {{'{name}': '2'}}")
        pings = () if self.test == "tcp_1down" else ("ping_hosts", "ping_markings")
        known = (*needed, *_READ.get(self.test, (_CHOSEN,)), *pings)
        for name, value in self.parameters.items():
            if name not in known:
                raise ValueError(
                    f"Flent.parameters: '{name[:60]}' has no effect in '{self.test}'; use {', '.join(sorted(known))}"
                )
            if name in needed and not _is_count(value):
                raise ValueError(
                    f"Flent.parameters: '{name}' should be a whole number from 1 to {_MOST_STREAMS}, not '{value[:60]}'"
                )

    def controls(self) -> Iterator[str]:
        """Yield the congestion controls that the test or its parameters ask for."""
        yield from _NEEDED.get(self.test, ())
        for name in (_CHOSEN, "cc_algo", "cc_algos"):
            yield from filter(None, self.parameters.get(name, "").split(","))

    def writer(self) -> Writer:
        """Return an unknown way of writing, because no model covers netperf."""
        return Writer()

    def reader(self) -> Reader:
        """Return how the receiver reads: all available data."""
        return Reader()

    def run(self, testbed: Testbed) -> None:
        """Run the test.

        Raises WorkloadError if the test fails or is late, or if the kernel does not have its congestion control, and
        MachineError if a tool is missing.
        """
        for control in self.controls():
            with socket.socket() as unused:
                control_congestion(unused, control)
        port = testbed.port(PORT)
        for name in dict.fromkeys((self.server, *self.others)):
            server = testbed.start(name, ["netserver", "-D", "-4", "-p", str(port)])
            testbed.wait_for_listener(server, port)
        argv = [sys.executable, "-m", "flent", self.test, "-4", "-H", testbed.address(self.server)]
        for name in self.others:
            argv += ["-H", testbed.address(name)]
        for name, value in self.parameters.items():
            argv += ["--test-parameter", f"{name}={value}"]
        argv += ["-l", str(self.length.ns // 10**9), "-d", str(self.delay.ns // 10**9)]
        argv += ["-s", f"{self.step.seconds:g}", "-r", "/dev/null", "-D", str(testbed.out), "-o", "/dev/null"]
        argv += [] if port == PORT else ["--netperf-control-port", str(port)]  # Flent's data file keeps its arguments
        client = testbed.start(self.client, argv, outputs.FLENT_LOG)
        seconds = self.length.seconds + 2 * self.delay.seconds + MARGIN_SECONDS
        testbed.wait(client, seconds, outputs.FLENT_LOG)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= _MOST_STREAMS
