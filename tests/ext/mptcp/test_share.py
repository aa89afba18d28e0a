"""What each path of a connection carried, by captures on one end's interfaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from lab.ext.mptcp.share import path_share
from lab.metric import MetricError
from lab.record.record import Record
from tests.kinds import Save


def subflow(segment: Callable[..., bytes], handshake: list[bytes], sizes: list[int]) -> list[bytes]:
    """The packets of a subflow: the last segment is sent again, which counts once."""
    packets, seq = list(handshake), 101
    for size in sizes:
        packets += [segment(True, seq, 501, size=size), segment(False, 501, seq + size)]
        seq += size
    return [*packets, segment(True, seq - sizes[-1], 501, size=sizes[-1])]


def test_each_path_has_what_its_own_capture_shows(
    segment: Callable[..., bytes],
    handshake: list[bytes],
    save: Save,
    record: Callable[[Mapping[str, bytes]], Record],
) -> None:
    sizes = {"capture.client.eth0.pcap": [1000, 2000], "capture.client.eth1.pcap": [500, 500]}
    packets = {name: save(subflow(segment, handshake, each)).read_bytes() for name, each in sizes.items()}
    found = record(packets)
    assert path_share("client", "eth0")(found).number == pytest.approx(0.75)
    assert path_share("client", "eth1")(found).number == pytest.approx(0.25)
    with pytest.raises(MetricError, match=r"'client' \(eth0, eth1\) hold no payload through eth2"):
        path_share("client", "eth2")(found)
