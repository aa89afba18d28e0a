"""Records with stored captures and samples, and what reads them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.record.record import Record
from lab.record.store import Store
from tests.trials import trial

DATA = Path(__file__).parents[2] / "data"
WAY = {
    "rate": "10 Mbit/s",
    "delay": "10 ms",
    "jitter": "0 ns",
    "loss": 0.0,
    "reorder": 0.0,
    "duplicate": 0.0,
    "mtu": "1500 B",
    "limit": 1000,
    "shaper": "path",
}
OFF = {"tso": False, "gso": False, "gro": False}

Make = Callable[..., Record]


def _end(node: str, address: str) -> dict[str, Any]:
    mac = f"02:00:00:00:00:{'01' if node == 'sender' else '02'}"
    named = {"node": node, "name": "eth0", "mac": mac, "mtu": "1500 B"}
    return {**named, "addresses": [f"{address}/24"], "offloads": OFF}


NETWORK: dict[str, Any] = {
    "name": "two",
    "nodes": [{"name": name, "kind": "host", "sysctls": {}, "routes": []} for name in ("receiver", "sender")],
    "links": [
        {
            "name": "path",
            "ends": [_end("sender", "10.0.1.1"), _end("receiver", "10.0.1.2")],
            "forward": WAY,
            "back": WAY,
        }
    ],
}
LOSSY = {
    "capture.sender.eth0.pcap": DATA / "lossy.pcap",
    "tcp_info.sender.bin": DATA / "lossy.tcp_info.bin",
}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a record of these outputs, each a file or its bytes, in the store `results`."""

    def make(outputs: Mapping[str, Path | bytes], **changed: object) -> Record:
        with Store(tmp_path / "results").stage(trial(network=NETWORK, **changed)) as stage:
            for name, content in outputs.items():
                (stage.out / name).parent.mkdir(exist_ok=True)
                (stage.out / name).write_bytes(content if isinstance(content, bytes) else content.read_bytes())
            return stage.commit({})

    return make


@pytest.fixture
def lossy(make: Make) -> Record:
    """A transfer that lost packets, as its sender saw it."""
    return make(LOSSY)
