"""Flent's tests: those that the sealed userland can run, with their figures, and why it cannot run the others."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from flent import testenv

from lab import metric
from lab.guest.testbed import WorkloadError
from lab.guest.workload import Flent
from lab.guest.workload import flent as module
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
def test_flows_that_begin_at_different_times_have_no_sum(perform: Perform) -> None:
    """One of them is alone for the delay. Each mean is over its own time."""
    given = {"tcp_cong_control": "westwood"}
    delayed = Flent(test="tcp_2up_delay", length=LENGTH, step=STEP, parameters=given)
    record = perform("shared-bottleneck", delayed, links=BOTTLENECK)
    with pytest.raises(MetricError, match=r"the flows .* start or end 1\.\d s apart, so their means have no sum"):
        metric.flent_goodput(of="TCP")(record)
    names = [name for name in definition("tcp_2up_delay") if name.startswith("TCP")]
    first, second = (metric.flent_goodput(of=name)(record).number for name in names)
    assert first > second > 0.2 * LINE
    for name in names:
        about = json.loads(gzip.decompress(metric.flent_file(record).read_bytes()))["metadata"]["SERIES_META"]
        assert about[name]["CONG_CONTROL"] == "westwood"


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
        ({"test": "rrul_torrent"}, "'rrul_torrent' cannot run here: the kernel does not have its congestion"),
        (
            {"test": "tcp_nup", "parameters": {"upload_streams": "2", "upload_stream": "3"}},
            "'upload_stream' has no effect in 'tcp_nup'; use cc_algos, markings, ping_hosts, ",
        ),
        ({"parameters": {"upload_streams": "3"}}, "'upload_streams' has no effect in 'tcp_upload'; use ping_hosts, "),
        ({"test": "tcp_12up", "parameters": {"upload_streams": "3"}}, "'upload_streams' has no effect in 'tcp_12up'"),
        ({"test": "cubic_bbr", "parameters": {"tcp_cong_control": "reno"}}, "has no effect in 'cubic_bbr'"),
        ({"test": "tcp_1down", "parameters": {"ping_hosts": "10.0.1.2"}}, "has no effect in 'tcp_1down'"),
        *(
            (
                {"test": "tcp_nup", "parameters": {"upload_streams": wrong}},
                f"'upload_streams' should be a whole number from 1 to 128, not '{wrong[:60]}'",
            )
            for wrong in ("-5", "two", "0", "129", "", "1_0", " 3", "\u0663", "num_cpus", "9" * 5000)
        ),
    ],
)
def test_a_test_that_cannot_run_is_refused_with_an_alternative(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Flent(**fields)


FLOWS = ("TCP_STREAM", "TCP_MAERTS")
VALUES = {  # of parameters that have an effect
    "cc_algo": "vegas",
    "cc_algos": "vegas",
    "labels": "mine",
    "marking": "CS5",
    "markings": "CS5",
    "ping_hosts": "10.0.1.2",
    "ping_labels": "mine",
    "ping_markings": "CS5",
    "send_sizes": "512",
    "stream_delays": "1",
}


def definition(test: str, **parameters: str) -> Mapping[str, Mapping[str, Any]]:
    """What Flent itself reads from the definition of a test, for each series that it measures."""
    settings = {
        "HOSTS": list("abcdef"),
        "HOST": "a",
        "LENGTH": 2,
        "DELAY": 1,
        "STEP_SIZE": 0.2,
        "TOTAL_LENGTH": 4,
        "IP_VERSION": 4,
        "LOCAL_BIND": [],
        "SEND_SIZE": [],
        "SOCKET_TIMEOUT": 2,
    }
    given = {**dict.fromkeys(module._PARAMETERS.get(test, ()), "2"), **parameters}
    environment = testenv.TestEnvironment({**settings, "TEST_PARAMETERS": given})
    found = environment.execute(str(Path(testenv.TEST_PATH, f"{test}.conf")))["DATA_SETS"]
    return {name: each for name, each in found.items() if "apply_to" not in each}  # without what it computes


def made(test: str, **parameters: str) -> Flent:
    needed = dict.fromkeys(module._PARAMETERS.get(test, ()), "2")
    return Flent(test=test, others=("rival",) * (module._SEVERAL.get(test, 1) - 1), parameters={**needed, **parameters})


def test_the_lab_knows_the_congestion_controls_of_each_test() -> None:
    """netperf uses the default, without a word, instead of one that the kernel does not have."""
    config = (Path(module.__file__).parents[2] / "machine/kernel/uml/config").read_text()
    for test in module._TESTS:
        wanted = {each["cong_control"] for each in definition(test).values() if each.get("cong_control")}
        assert set(made(test).controls()) == wanted, test
        for name in wanted - {"reno"}:  # reno is always there
            assert f"CONFIG_TCP_CONG_{name.upper()}=y" in config, test


@pytest.mark.long
@pytest.mark.parametrize("test", sorted(module._TESTS))
def test_each_parameter_that_is_taken_has_an_effect(test: str) -> None:
    plain = definition(test)
    flows = [each for each in plain.values() if each.get("test") in FLOWS]
    for name, value in VALUES.items():
        others = {"ping_hosts": "10.0.1.2"} if name == "ping_markings" else {}
        has_effect = definition(test, **others, **{name: value}) != (definition(test, **others) if others else plain)
        if has_effect:
            made(test, **others, **{name: value})
        else:
            with pytest.raises(ValueError, match=f"'{name}' has no effect in '{test}'|'ping_hosts' has no effect"):
                made(test, **others, **{name: value})
    chosen = {"tcp_cong_control": "vegas"}
    if any("cong_control" not in each for each in flows) or definition(test, **chosen) != plain:
        assert "vegas" in made(test, **chosen).controls()
    else:
        with pytest.raises(ValueError, match=f"'tcp_cong_control' has no effect in '{test}'"):
            made(test, **chosen)


@pytest.mark.parametrize(
    ("test", "parameters"),
    [
        ("tcp_upload", {"tcp_cong_control": "nosuch"}),
        ("tcp_2up", {"cc_algos": "reno,nosuch"}),
        ("tcp_1up", {"cc_algo": "nosuch"}),
    ],
)
def test_without_its_congestion_control_a_trial_fails(test: str, parameters: dict[str, str]) -> None:
    with pytest.raises(WorkloadError, match="this kernel has no congestion control 'nosuch', but "):
        Flent(test=test, parameters=parameters).run(cast("Any", None))
