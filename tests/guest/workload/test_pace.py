"""Workloads with a pace keep it."""

from collections.abc import Callable

import numpy as np
import pytest

from lab.guest.probe import Capture
from lab.guest.workload import PacedReader, RequestResponse
from lab.metric import connection_of
from lab.metric.acks import ack_delays
from lab.record.record import Record
from lab.units import Duration, Rate, Size

CAPTURE = (Capture(node="receiver"),)


@pytest.mark.guest
def test_the_sender_follows_the_reader(perform: Callable[..., Record]) -> None:
    reader = PacedReader(duration=Duration.of("1 s"), rate=Rate.of("50 Mbit/s"))
    small = {"net.ipv4.tcp_rmem": "4096 524288 524288", "net.ipv4.tcp_moderate_rcvbuf": 0}
    connection = connection_of(perform("symmetric-1g", reader, CAPTURE, sysctls=small), "receiver")
    start = connection.start_ns
    assert connection.payload_bytes == reader.blocks * reader.block.bytes
    assert connection.goodput(start + 300_000_000, start + 800_000_000) == pytest.approx(50e6, rel=0.03)


@pytest.mark.guest
def test_requests_are_answered_after_a_thought(perform: Callable[..., Record]) -> None:
    asked = RequestResponse(count=5, interval=Duration.of("50 ms"), response=Size(9), think=Duration.of("20 ms"))
    connection = connection_of(perform("symmetric-1g", asked, CAPTURE), "receiver")
    requests, answers = connection.back, connection.forward
    assert np.diff(requests.time_ns[requests.data]) == pytest.approx(50e6, rel=0.001)
    assert answers.time_ns[answers.data] - requests.time_ns[requests.data] == pytest.approx(20e6, rel=0.01)
    assert list(answers.payload[answers.data]) == [9] * 5
    assert ack_delays(connection)[1:] == pytest.approx(20e6, rel=0.01)  # the ACK rides on the answer
