"""Wires against physics: what real packets do on them, in virtual time, whoever made the namespaces."""

from __future__ import annotations

import pytest

from lab.guest import outputs
from lab.guest.fabric import FABRICS
from lab.guest.probe import Capture, TcpInfo
from lab.guest.workload import Bulk, Program
from lab.metric import tcp_info
from lab.metric.capture import Capture as Packets
from lab.units import Duration, Size
from tests.guest.fabric.cases import CASES, held_by
from tests.kinds import Perform

pytestmark = pytest.mark.guest

PCAP_HEADER = 24  # bytes of a capture without a packet


@pytest.mark.parametrize(("name", "fabric"), held_by("virtual"))
def test_a_wire_keeps_to_physics(perform: Perform, name: str, fabric: str) -> None:
    case = CASES[name]
    record = perform(case.topology, case.workload, case.probes, fabric=fabric, **case.changes)
    assert record.invalid == ()
    case.check(record, "virtual")


def test_the_limit_drops_what_the_wire_cannot_hold(perform: Perform) -> None:
    """At 1 Mbit/s a burst of 64 KiB is 44 frames; a wire that holds 10 drops, one that holds 100 does not."""

    def drops(limit: int) -> int:
        record = perform(
            "symmetric-1g", Bulk(size=Size.of("64 KiB")), links={"path": {"rate": "1 Mbit/s", "limit": limit}}
        )
        return sum(each["drops"] for each in record.json(outputs.QDISCS_AFTER))

    assert drops(10) > 0
    assert drops(100) == 0


DATAGRAMS = """
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
sender.setsockopt(socket.IPPROTO_UDP, 103, 1200)
for _ in range(10):
    sender.sendto(bytes(45 * 1200), ("10.0.1.2", 9))
"""


@pytest.mark.parametrize(
    ("path", "dropped"), [({"limit": 140}, 310), ({"queue": {"kind": "pfifo", "limit": 140}}, 309)]
)
def test_a_queue_of_140_frames_holds_140_of_udp_segment(
    perform: Perform, path: dict[str, object], dropped: int
) -> None:
    """Ten calls with UDP_SEGMENT, as a QUIC server makes them, are 450 frames; HTB has let one of them go already."""
    links = {"path": {"rate": "10 Mbit/s", "mtu": "1279 B", **path}}
    record = perform("symmetric-1g", Program(argv=("python3", "-c", DATAGRAMS)), links=links)
    assert record.invalid == ()
    drops = [each["drops"] for each in record.json(outputs.QDISCS_AFTER) if each["direction"] == "forward"]
    assert sum(drops) == dropped


def test_super_packets_enter_where_an_experiment_turns_offloads_on(perform: Perform) -> None:
    """They do on purpose, so that the trial counts; without, TCP's are cut before they leave the sender."""

    def largest(**sender: object) -> int:
        probes = (Capture(node="sender", filter="tcp dst port 5001"),)
        record = perform("symmetric-1g", Bulk(size=Size.of("1 MiB")), probes, hosts={"sender": sender})
        assert record.invalid == ()
        return int(Packets(record.path(outputs.capture("sender", "eth0"))).payload.max())

    assert largest(offloads={"tso": True}) > 10 * 1448
    assert largest() == 1448


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_wire_says_nothing_of_its_own(perform: Perform, fabric: str) -> None:
    """Where hosts speak IPv4 only, nothing else is on the wire: a frame of 90 bytes would delay their segments."""
    record = perform(
        "asymmetric-mtu",
        Bulk(duration=Duration.of("6 s"), size=Size.of("20 MiB")),
        (Capture(node="sender", filter="ip6"),),
        fabric=fabric,
        links={"path": {"rate": "20 Mbit/s"}},
    )
    assert record.path(outputs.capture("sender", "eth0")).stat().st_size == PCAP_HEADER


def test_a_network_card_pushes_back_and_a_path_does_not(perform: Perform) -> None:
    """TCP keeps the queue of a NIC short, two super-packets or 10 ms here; a path takes the whole window."""

    def queued(shaper: str) -> int:
        record = perform(
            "symmetric-1g",
            Bulk(duration=Duration.of("1 s")),
            (TcpInfo(interval=Duration.of("1 ms")),),
            links={"path": {"rate": "100 Mbit/s", "shaper": shaper}},
        )
        (samples,) = tcp_info.read(record.path(outputs.tcp_info("sender")))
        return int(samples["rtt"].max())

    assert queued("nic") < 15_000 < 40_000 < queued("path")
