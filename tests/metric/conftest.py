"""Captures and records made of little: crafted segments, written as pcap and kept in a store."""

import struct
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.packet import Raw

from lab.record.record import Record
from lab.record.store import Store
from tests.frames import ETHERNET
from tests.kinds import Save
from tests.trials import trial


@pytest.fixture(scope="session")
def save(tmp_path_factory: pytest.TempPathFactory) -> Save:
    """Writes packets, one a second, as a pcap file of its own."""
    numbers, folder = count(), tmp_path_factory.mktemp("captures")

    def save(packets: list[bytes], order: str = "<", nano: bool = True, snap: int = 65535) -> Path:
        path = folder / f"{next(numbers)}.pcap"
        write(path, packets, order, nano, snap)
        return path

    return save


@pytest.fixture(scope="session")
def segment() -> Callable[..., bytes]:
    """Makes one segment between 10.0.0.1:1 and 10.0.0.2:2."""
    return packet


@pytest.fixture(scope="session")
def handshake() -> list[bytes]:
    """SYN 100, SYN-ACK 500 and the ACK; the client scales its window by 3, the server by 4."""
    return [packet(True, 100, 0, "S", wscale=3), packet(False, 500, 101, "SA", wscale=4), packet(True, 101, 501)]


@pytest.fixture
def record(tmp_path: Path) -> Callable[[Mapping[str, bytes]], Record]:
    """Makes a record with these outputs."""
    return lambda outputs: keep(tmp_path, outputs)


def keep(root: Path, outputs: Mapping[str, bytes]) -> Record:
    with Store(root).stage(trial()) as stage:
        for name, content in outputs.items():
            (stage.out / name).write_bytes(content)
        return stage.commit({})


def write(path: Path, packets: list[bytes], order: str = "<", nano: bool = True, snap: int = 65535) -> None:
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, 1)]
    for index, packet in enumerate(packets):
        head = struct.pack(order + "IIII", 1_700_000_000 + index, 1000 * index, min(len(packet), snap), len(packet))
        out += [head, packet[:snap]]
    path.write_bytes(b"".join(out))


def packet(
    forward: bool,
    seq: int,
    ack: int,
    flags: str = "A",
    size: int = 0,
    window: int = 1000,
    wscale: int = -1,
    mss: int = 0,
) -> bytes:
    ends = ("10.0.0.1", 1, "10.0.0.2", 2) if forward else ("10.0.0.2", 2, "10.0.0.1", 1)
    options = [*([("MSS", mss)] if mss else []), *([("WScale", wscale)] if wscale >= 0 else [])]
    tcp = TCP(
        sport=ends[1], dport=ends[3], seq=seq % 2**32, ack=ack % 2**32, flags=flags, window=window, options=options
    )
    return bytes(ETHERNET / IP(src=ends[0], dst=ends[2]) / tcp / Raw(bytes(size)))
