"""Messages of small writes out of a record of 20 of them: plain writes over 0.2 ms, on Linux 7.2 at 1,000 Hz."""

import json
from pathlib import Path

import numpy as np
import pytest

from lab import metric
from lab.metric import MetricError, counts_of
from lab.units import Value
from tests.kinds import Keep

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def outputs() -> dict[str, bytes]:
    return {
        "capture.sender.eth0.pcap": (DATA / "small_writes.pcap").read_bytes(),
        "small_writes.json": (DATA / "small_writes.json").read_bytes(),
    }


def test_times(record: Keep, outputs: dict[str, bytes]) -> None:
    done = record(outputs)
    assert metric.message_latency()(done).number == pytest.approx(0.041, rel=1e-5)
    assert metric.message_latency(0)(done).number == pytest.approx(0.8056e-3, rel=1e-3)  # the first: ACKed at once
    assert metric.exchange_time()(done).number == pytest.approx(0.7799, rel=1e-4)


def test_packets(record: Keep, outputs: dict[str, bytes]) -> None:
    done = record(outputs)
    assert metric.data_packets()(done) == Value(2, "1")
    assert metric.lone_acks()(done) == Value(2, "1")
    assert metric.first_segment()(done) == Value(2, "B")
    assert metric.file_in_first()(done) == Value(0, "1")


def test_what_is_counted_for_which_message(record: Keep, outputs: dict[str, bytes]) -> None:
    """The handshake's ACK and those of the end are none's; the client acknowledges the first answer alone."""
    counts = counts_of(record(outputs), "sender")
    assert counts.server_data.tolist() == [1] * 20
    assert counts.client_acks.tolist() == [1] + [0] * 19
    assert np.unique(counts.client_data + counts.server_acks).tolist() == [4]


def test_a_capture_of_something_else_is_told(record: Keep, outputs: dict[str, bytes]) -> None:
    plain = json.loads(outputs["small_writes.json"])
    other = {**outputs, "small_writes.json": json.dumps({**plain, "message_bytes": 31}).encode()}
    with pytest.raises(MetricError, match="600 bytes, which are not 20 messages of 31 B"):
        counts_of(record(other), "sender")


def test_an_output_without_times_is_told(record: Keep) -> None:
    with pytest.raises(MetricError, match="has no 'stamps_ns'"):
        metric.exchange_time()(record({"small_writes.json": b"{}"}))
