"""Delays that depend on a frame's destination: exact, by the longest prefix, and read back."""

from __future__ import annotations

import ipaddress
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.guest import outputs
from lab.guest.fabric import classifier
from lab.guest.probe import Capture
from lab.guest.task import IpNumber
from lab.guest.workload import Bulk, Ping
from lab.machine.kernel import UmlKernel
from lab.metric.capture import Capture as Packets
from lab.units import Duration, Rate
from tests.guest.fabric.test_readback import spoiled
from tests.kinds import Perform

TOPOLOGY = """
about: Three servers behind one uplink, at different distances.
hosts: [client, server-a, server-b, other]
switches: [lan]
links:
  uplink:
    ends: [client, lan]
    rate: 10 Mbit/s
    forward: {delay: 5 ms, delays: {server-a: 109 ms, server-b: 251 ms}}
  a: [lan, server-a]
  b: [lan, server-b]
  c: [lan, other]
""".replace(": [lan, server-a]", ": {ends: [lan, server-a]}").replace(": [lan, server-b]", ": {ends: [lan, server-b]}")


@pytest.fixture
def star(tmp_path: Path) -> str:
    file = tmp_path / "star.yaml"
    file.write_text(TOPOLOGY.replace(": [lan, other]", ": {ends: [lan, other]}"))
    return str(file)


@pytest.mark.guest
@pytest.mark.parametrize(
    ("server", "milliseconds", "ip"),
    [("server-a", 109, 4), ("server-b", 251, 4), ("server-b", 251, 6), ("other", 5, 4)],
)
def test_a_delay_depends_on_the_destination(
    perform: Perform, star: str, server: str, milliseconds: int, ip: IpNumber
) -> None:
    """The delay there, and a frame's time there and back, for each ping, to a microsecond."""
    ping = Ping(client="client", server=server, count=3, interval=Duration.of("500 ms"), ip=ip)
    record = perform(star, ping, (Capture(node="client", filter="icmp or icmp6[0] == 128 or icmp6[0] == 129"),))
    assert record.invalid == ()
    times = Packets(record.path(outputs.capture("client", "eth0"))).time_ns / 1e9
    size = 56 + 8 + (20 if ip == 4 else 40) + 38
    wanted = milliseconds / 1e3 + 2 * 8 * size / Rate.of("10 Mbit/s").bps
    assert list(times[1::2] - times[::2]) == pytest.approx([wanted] * 3, abs=1e-6)


@pytest.mark.guest
def test_a_rate_stays_exact_before_several_delays(perform: Perform, star: str) -> None:
    """Full frames that wait together leave one frame's time apart, to the nanosecond."""
    bulk = Bulk(client="client", server="server-a", duration=Duration.of("3 s"))
    record = perform(star, bulk, (Capture(node="server-a"),))
    assert record.invalid == ()
    packets = Packets(record.path(outputs.capture("server-a", "eth0")))
    gaps = np.diff(packets.time_ns[packets.payload == 1448])
    assert np.median(gaps) == gaps.min() == pytest.approx(1538 * 8e9 / 10e6, abs=2)


@pytest.mark.guest
@pytest.mark.needs("ip", "tc", "ethtool", "sysctl")
@pytest.mark.parametrize(
    ("command", "noticed"),
    [
        ("tc -n wires qdisc change dev w0b parent 1:2 netem delay 20ms", "delay 1, delay is 20 ms, not 30 ms"),
        ("tc -n wires qdisc change dev w0b parent 1:1 netem delay 20ms", "delay is 20 ms, not 10 ms"),
        ("tc -n wires filter del dev w0b parent 1:", "classifier is , not"),
        ("true", ""),
    ],
)
def test_a_change_behind_our_back_is_noticed(kernel: UmlKernel, tmp_path: Path, command: str, noticed: str) -> None:
    changes: dict[str, Any] = {"rate": None, "forward": {"delays": {"receiver": "30 ms"}}}
    before, after, _ = spoiled(kernel, tmp_path, command, links={"path": changes})
    assert before == []
    assert any(noticed in each for each in after) if noticed else after == []


@pytest.mark.guest
def test_all_delays_may_be_the_same(kernel: UmlKernel, tmp_path: Path) -> None:
    """There is one netem then, but prio has two bands at least."""
    changes: dict[str, Any] = {"rate": None, "forward": {"delays": {"receiver": "10 ms"}}}
    before, after, _ = spoiled(kernel, tmp_path, "true", links={"path": changes})
    assert before == after == []


def run(code: bytes, frame: bytes) -> int:
    """What the classic BPF program returns for a frame, by the definition of its instructions."""
    steps: list[tuple[int, int, int, int]] = list(struct.iter_unpack("=HBBI", code))
    at = value = 0
    while True:
        operation, true, false, operand = steps[at]
        at += 1
        match operation:
            case 0x20:
                value = int.from_bytes(frame[operand : operand + 4])
            case 0x28:
                value = int.from_bytes(frame[operand : operand + 2])
            case 0x54:
                value &= operand
            case 0x15:
                at += true if value == operand else false
            case 0x05:
                at += operand
            case 0x06:
                return operand
            case _:
                raise AssertionError(operation)


Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_addresses: dict[int, st.SearchStrategy[Address]] = {
    4: st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address),
    6: st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address),
}


@given(st.data(), st.sampled_from([4, 6]))
def test_the_first_prefix_that_fits_decides(data: st.DataObject, version: int) -> None:
    target = data.draw(_addresses[version])
    bases = st.one_of(st.just(target), _addresses[4], _addresses[6])
    prefixes = [
        ipaddress.ip_network(f"{base}/{data.draw(st.integers(0, base.max_prefixlen))}", strict=False)
        for base in data.draw(st.lists(bases, max_size=12))
    ]
    code = classifier.program([(str(prefix), number) for number, prefix in enumerate(prefixes, 1)])
    kind, at = ((0x0800, 16), (0x86DD, 24))[version == 6]
    packet = bytes(at).ljust(at, b"\0") + target.packed
    frame = bytes(12) + kind.to_bytes(2) + packet
    fits = [n for n, each in enumerate(prefixes, 1) if each.version == version and target in each]
    assert run(code, frame) == (fits[0] if fits else 0)
    assert run(code, bytes(12) + b"\x08\x06" + packet) == 0, "ARP"
