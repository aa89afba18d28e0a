"""Metrics of the second half of a transfer."""

import struct
from pathlib import Path

import pytest

from lab import metric
from lab.metric import MetricError
from lab.metric.tcp_info import FIELDS
from lab.record.record import Record
from lab.record.store import Store
from lab.units import Value
from tests.kinds import Save, Segment
from tests.trials import trial

MS = 1_000_000


def kept(root: Path, outputs: dict[str, bytes], duration: str) -> Record:
    with Store(root).stage(trial(workload={"kind": "bulk", "duration": duration})) as stage:
        for name, content in outputs.items():
            (stage.out / name).write_bytes(content)
        return stage.commit({})


def sample(ms: int, acked: int, rtt_us: int) -> bytes:
    info = bytearray(256)
    struct.pack_into("<Q", info, FIELDS["bytes_acked"][0], acked)
    struct.pack_into("<I", info, FIELDS["rtt"][0], rtt_us)
    return struct.pack("<qII", ms * MS, 1 << 16 | 2, len(info)) + info


def test_only_the_second_half_counts(tmp_path: Path) -> None:
    """10 ms of SYN, 1,000 ms slow, then 125 bytes a ms: a megabit."""
    acked = [0] + [1 + ms for ms in range(0, 1000, 10)] + [1001 + 125 * ms for ms in range(0, 1010, 10)]
    samples = b"".join(sample(10 * at, count, 100_000 + at) for at, count in enumerate(acked))
    done = kept(tmp_path, {"tcp_info.sender.bin": samples}, "2 s")
    assert metric.steady_goodput()(done) == Value(1e6, "bit/s")
    assert metric.steady_rtt()(done).number == pytest.approx(0.10015, abs=2e-6)


def test_samples_that_end_early_are_told(tmp_path: Path) -> None:
    done = kept(tmp_path, {"tcp_info.sender.bin": sample(0, 1, 9) + sample(10, 5, 9)}, "2 s")
    with pytest.raises(MetricError, match="before the second half"):
        metric.steady_goodput()(done)


def test_idle_is_what_no_segment_takes(tmp_path: Path, segment: Segment, handshake: list[bytes], save: Save) -> None:
    """The capture has a packet a second: 40 segments at once, then five and five ACKs in turn."""
    sent = [segment(True, 101 + 10 * at, 501, size=10) for at in range(40)]
    busy = kept(tmp_path / "busy", {"capture.receiver.eth0.pcap": save([*handshake, *sent]).read_bytes()}, "40 s")
    assert metric.steady_idle_share()(busy).number == 0, "a full wire, whatever the half begins and ends within"
    acks = [segment(False, 501, 101) for _ in range(5)]
    bursts = [each for at in range(0, 40, 5) for each in (*sent[at : at + 5], *acks)]
    half = kept(tmp_path / "half", {"capture.receiver.eth0.pcap": save([*handshake, *bursts]).read_bytes()}, "80 s")
    assert metric.steady_idle_share()(half).number == pytest.approx(0.5, abs=0.02)
