"""The wait in a link's queue is what is left of the time over the link without its delay and the segment's own time."""

import struct
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.packet import Raw

from lab import metric
from lab.guest import outputs
from lab.metric import MetricError
from lab.record.record import Record
from lab.record.store import Store
from tests.frames import ETHERNET
from tests.trials import trial

WAITS = (0.0, 0.002, 0.007)  # seconds, of three segments to each destination
DELAYS = {"10.0.0.2": 0.010, "10.0.9.9": 0.060}
RATE, PAYLOAD = 10e6, 1000
OWN = 8 * (PAYLOAD + 40 + 38) / RATE


def segment(number: int, to: str) -> bytes:
    tcp = TCP(sport=1, dport=2, seq=number * PAYLOAD, flags="A")
    return bytes(ETHERNET / IP(src="10.0.0.1", dst=to) / tcp / Raw(bytes(PAYLOAD)))


def pcap(seen: list[tuple[float, bytes]]) -> bytes:
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
    for seconds, frame in seen:
        whole, ns = divmod(round(seconds * 1e9), 10**9)
        out += [struct.pack("<IIII", whole, ns, len(frame), len(frame)), frame]
    return b"".join(out)


def kept(root: Path, own: float, **settings: Any) -> Record:
    """Return the record of segments whose time over the link has `own` seconds beside delay and wait."""
    sent, came = [], []
    for number, wait in enumerate(WAITS):
        for to, delay in DELAYS.items():
            at, frame = 5.0 + number, segment(number, to)
            sent.append((at, frame))
            came.append((at + delay + wait + own, frame))
    plain = {"jitter": "0 ns", "loss": 0.0, "reorder": 0.0, "duplicate": 0.0, "mtu": "1500 B", "limit": 100}
    way = {"rate": "10 Mbit/s", "delay": "10 ms", "shaper": "path", **plain}
    delays = [{"to": "10.0.9.9/32", "delay": "60 ms"}]
    ends: list[dict[str, Any]] = [
        {"node": node, "name": "eth0", "mac": "", "mtu": "1500 B", "addresses": [], "offloads": {}}
        for node in ("sender", "receiver")
    ]
    link = {"name": "path", "ends": ends, "forward": {**way, "delays": delays, **settings}, "back": way}
    node = {"kind": "host", "sysctls": {}, "routes": []}
    network = {"name": "n", "nodes": [{"name": each["node"], **node} for each in ends], "links": [link]}
    with Store(root).stage(trial(network=network)) as stage:
        for name, seen in (("sender", sent), ("receiver", came)):
            (stage.out / outputs.capture(name, "eth0")).write_bytes(pcap(sorted(seen)))
        return stage.commit({})


def test_each_destination_has_its_own_delay(tmp_path: Path) -> None:
    _, waited = metric.sojourns(kept(tmp_path, OWN))
    assert waited == pytest.approx([wait for wait in WAITS for _ in DELAYS], abs=1e-8)


BUCKET: dict[str, Any] = {"kind": "tbf", "parameters": [["burst", "4000 B"], ["limit", "9000 B"]]}


@pytest.mark.parametrize(("given", "own"), [([], 0.0), ([["rate", "5 Mbit/s"]], OWN)], ids=["the link's", "its own"])
def test_a_bucket_with_the_links_rate_leaves_none_to_the_wire(tmp_path: Path, given: list[Any], own: float) -> None:
    """The frames of a burst leave at once, unless the link behind the bucket has a rate."""
    bucket = {**BUCKET, "parameters": sorted([*BUCKET["parameters"], *given])}
    _, waited = metric.sojourns(kept(tmp_path, own, queue=bucket))
    assert waited == pytest.approx([wait for wait in WAITS for _ in DELAYS], abs=1e-8)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"changes": [{"at": "1 s", "rate": "1 Mbit/s"}]}, "a rate or a delay that changes"),
        ({"changes": [{"at": "1 s", "delay": "0 ns"}]}, "a rate or a delay that changes"),
        ({"jitter": "1 ms"}, "delays each frame differently"),
        ({"reorder": 0.1}, "delays each frame differently"),
        ({"slot": {"min": "1 ms", "max": "1 ms", "packets": None, "bytes": None}}, "delays each frame differently"),
        ({"shaper": "nic"}, "in the sender's interface, before the capture"),
    ],
)
def test_a_link_whose_own_time_is_not_known_has_no_wait(tmp_path: Path, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(MetricError, match=f"link 'path', forward, .*{why}"):
        metric.queue_delay("path")(kept(tmp_path, OWN, **settings))


def test_a_link_that_only_loses_more_is_measured(tmp_path: Path) -> None:
    changes = [{"at": "1 s", "loss": 0.5}, {"at": "2 s", "down": "1 s"}]
    assert metric.queue_delay("path", 1.0)(kept(tmp_path, OWN, changes=changes)).number == pytest.approx(WAITS[-1])
