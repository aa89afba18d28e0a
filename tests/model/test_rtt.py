"""Round trips, predicted: rules of the RFCs, and what Linux 7.2 measured over 10 Gbit/s with Flent."""

from dataclasses import replace

import pytest

from lab import model
from lab.guest.workload import Ping
from lab.model import ModelError, Scenario
from lab.units import Size, Value
from tests.model.scenarios import hop, scenario, tuned

CLEAN = scenario(hop("10 Gbit/s"), sndbuf=16_777_216)
LOSSY = replace(CLEAN, forward=(hop("10 Gbit/s", loss=0.01),))


def without(asked: Scenario) -> Scenario:
    """Without timestamps, which takes one end only."""
    return replace(asked, sender=tuned(asked.sender, tcp_timestamps=0))


def test_an_echo_of_ipv6_is_longer() -> None:
    """Linux 7.2.13 measured 143 us on this path, where it measured to a us."""
    ping = Ping(ip=6)
    slow = scenario(hop("117.412 Mbit/s"), hop("14.33 Mbit/s", "55 us"), writer=ping.writer(), ip=6)
    assert model.rtt_of_ping(slow).number == pytest.approx(143e-6, abs=1e-6)
    assert model.rtt_of_ping(replace(slow, ip=4)).number == pytest.approx(131.4e-6, abs=1e-7)
    longer = replace(slow, writer=Ping(size=Size(156)).writer())
    difference = model.rtt_of_ping(longer).number - model.rtt_of_ping(slow).number
    assert difference == pytest.approx(800 / 117.412e6 + 800 / 14.33e6)


def test_every_ack_gives_a_round_trip_where_nothing_is_lost() -> None:
    assert model.rtt_per_ack(CLEAN) == Value(1, "1")
    with pytest.raises(ModelError, match="duplicate ACKs"):
        model.rtt_per_ack(LOSSY)
    with pytest.raises(ModelError, match="no timestamps"):
        model.rtt_per_ack(without(CLEAN))


def test_new_data_gives_one_in_spite_of_loss() -> None:
    assert model.rtt_for_new_data(LOSSY) == Value(1, "1")


def test_karns_rule() -> None:
    assert model.rtt_despite_retransmission(LOSSY) == Value(1, "1")
    assert model.rtt_despite_retransmission(without(LOSSY)) == Value(0, "1")


def test_a_clock_of_1_ms_is_wrong_by_a_third_of_it() -> None:
    assert model.third_of_tick(CLEAN).number == pytest.approx(1 / 3000)


def test_the_same_samples_make_the_same_srtt_whatever_is_lost() -> None:
    assert model.srtt_difference(LOSSY) == model.srtt_difference(without(CLEAN)) == Value(0, "s")


@pytest.mark.parametrize(("timestamps", "measured_ms"), [(True, 3.35), (False, 3.345)])
def test_a_full_window_stands_in_the_queue(timestamps: bool, measured_ms: float) -> None:
    predicted = model.rtt_of_full_window(CLEAN if timestamps else without(CLEAN))
    assert 1e3 * predicted.number == pytest.approx(measured_ms, rel=0.005)


def test_a_send_buffer_that_is_the_limit_is_not_covered() -> None:
    with pytest.raises(ModelError, match="send buffer"):
        model.rtt_of_full_window(scenario(hop("10 Gbit/s"), sndbuf=4_194_304))


def test_reordering_costs_nothing_in_the_long_run_with_dsack() -> None:
    assert model.goodput_despite_reordering(CLEAN) == model.goodput_line_rate(CLEAN)
    silent = replace(CLEAN, receiver=tuned(CLEAN.receiver, tcp_dsack=0))
    for chancy in (LOSSY, silent):
        with pytest.raises(ModelError, match="chance"):
            model.goodput_despite_reordering(chancy)
