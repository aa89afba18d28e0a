"""Flent's tests: those that the sealed userland can run, with their figures, and why it cannot run the others."""

from __future__ import annotations

from typing import Any

import pytest

from lab import metric
from lab.guest.workload import Flent
from lab.metric import MetricError
from lab.units import Duration
from tests.kinds import Perform

LENGTH, STEP = Duration.of("2 s"), Duration.of("200 ms")
LINE = 10e6 * 1448 / 1538
BOTTLENECK = {"bottleneck": {"rate": "10 Mbit/s", "delay": "5 ms", "limit": 50, "forward": {"limit": 50}}}


@pytest.mark.guest
def test_rrul_loads_both_directions_and_measures_the_wait(perform: Perform) -> None:
    record = perform("shared-bottleneck", Flent(test="rrul", length=LENGTH, step=STEP), links=BOTTLENECK)
    for way in ("TCP upload", "TCP download"):
        assert 0.8 * LINE < metric.flent_goodput(of=way)(record).number < LINE * 1.02
    each = [metric.flent_goodput(of=f"TCP upload {name}")(record).number for name in ("BE", "BK", "CS5", "EF")]
    assert sum(each) == pytest.approx(metric.flent_goodput(of="TCP upload")(record).number)
    idle, loaded = metric.flent_rtt(idle=True)(record).number, metric.flent_rtt()(record).number
    assert idle == pytest.approx(0.0103, abs=0.0003), "two delays of 5 ms, and the frames' times on the wire"
    full = 2 * 50 * 1538 * 8 / 10e6  # both queues
    assert idle + full / 8 < loaded < idle + full + 0.002
    assert metric.flent_rtt(of="Ping (ms) UDP BE", idle=True)(record).number == pytest.approx(0.0101, abs=0.0002)
    assert metric.flent_rtt(quantile=0.99)(record).number >= loaded
    with pytest.raises(MetricError, match=r"Flent has the flows TCP download BE, .*; name some of them"):
        metric.flent_goodput()(record)
    with pytest.raises(MetricError, match=r"no series 'Ping of death', but Ping \(ms\) ICMP, Ping \(ms\) UDP BE, "):
        metric.flent_rtt(of="Ping of death")(record)


@pytest.mark.guest
def test_a_test_with_several_servers(perform: Perform) -> None:
    fair = Flent(test="rtt_fair_var_up", server="receiver", others=("rival",), length=LENGTH, step=STEP)
    links = {**BOTTLENECK, "rival-access": {"rate": "20 Mbit/s"}}
    record = perform("shared-bottleneck", fair, links=links)
    assert metric.flent_goodput(of="TCP upload BE 10.0.3.2")(record).number == pytest.approx(LINE, rel=0.1)
    assert metric.flent_goodput(of="TCP upload BE 10.0.2.1")(record).number == pytest.approx(2 * LINE, rel=0.1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"test": "voip"}, "'voip' cannot run here: it needs D-ITG or irtt, and the userland has neither; use OnOff"),
        ({"test": "cubic_cdg"}, "'cubic_cdg' cannot run here: the kernel does not have its congestion control"),
        ({"test": "udp_flood"}, "misreads the times of iperf 2.2.1; use Flows with Iperf3"),
        ({"test": "rrull"}, "Flent.test: unknown test 'rrull'; use one of cisco_5tcpup, cubic_bbr"),
        ({"test": "rtt_fair"}, "Flent.others: 'rtt_fair' needs 4 servers; name 3 more"),
        ({"test": "tcp_nup"}, "Flent.parameters: 'tcp_nup' needs 'upload_streams'; write {'upload_streams': '2'}"),
        ({"parameters": {"a": 1}}, r"Flent.parameters: \['a'\] should be a text, not 1"),
    ],
)
def test_a_test_that_cannot_run_is_refused_with_an_alternative(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Flent(**fields)
