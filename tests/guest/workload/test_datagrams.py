"""Loss, delay, jitter and reordering of UDP, beside what iperf3 itself reports of the same datagrams."""

from __future__ import annotations

import json

import pytest

from lab import metric
from lab.guest import outputs
from lab.guest.probe import Capture
from lab.guest.workload import Iperf3
from lab.units import Duration, Rate, Size
from tests.kinds import Perform

BOTH = (Capture(node="sender"), Capture(node="receiver"))
UDP = Iperf3(duration=Duration.of("2 s"), udp_rate=Rate.of("4 Mbit/s"), length=Size.of("1000 B"))


@pytest.mark.guest
def test_loss_and_jitter_are_iperf3s(perform: Perform) -> None:
    """A uniform jitter of 2 ms around 20 ms, and 5 % of loss: 1,000 datagrams, 2 ms apart."""
    path = {"forward": {"delay": "20 ms", "jitter": "2 ms", "loss": "5 %"}}
    record = perform("symmetric-1g", UDP, BOTH, links={"path": path})
    reported = json.loads(record.text(outputs.IPERF3))["end"]["sum"]
    lost = metric.lost_share()(record).number
    assert 0.02 < lost < 0.09
    hello = 1  # iperf3 does not count the datagram that opens the stream
    assert lost == pytest.approx(reported["lost_packets"] / (reported["packets"] + hello))
    assert metric.iperf3_lost_share()(record).number == pytest.approx(lost, rel=0.002)
    assert metric.jitter()(record).number == pytest.approx(metric.iperf3_jitter()(record).number, rel=0.02)
    assert metric.one_way_delay()(record).number == pytest.approx(0.020, abs=0.0004)
    assert metric.delay_variation(1.0)(record).number == pytest.approx(0.004, abs=0.0003)
    assert metric.reordered_share()(record).number == 0, "a link with a rate keeps frames in order"


@pytest.mark.guest
def test_the_share_of_reordered_datagrams(perform: Perform) -> None:
    """Datagrams leave 2 ms apart. A quarter of them skip a delay of 10 ms, and overtake the four before them."""
    path = {"forward": {"jitter": "0 ms", "reorder": "25 %"}}
    record = perform("reordering", UDP, BOTH, links={"path": path})
    overtaken = 1 - 0.75**4  # the chance that one of the next four skips the delay
    assert metric.reordered_share()(record).number == pytest.approx(0.75 * overtaken, abs=0.05)
    assert metric.lost_share()(record).number == 0
