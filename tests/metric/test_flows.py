"""Metrics of several flows, on records made by hand: who got what, how evenly, and from when on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path

import pytest

from lab import metric
from lab.guest import outputs
from lab.metric.tcp_info import FIELDS
from lab.record.record import Record, RecordError
from lab.record.store import Store
from lab.spec import find
from lab.spec.changes import Changes
from lab.spec.metric import MetricError
from lab.units import Value, to_plain
from tests.trials import trial

SECOND = 10**9
ZERO = 1_700_000_000 * SECOND
STEP = SECOND // 10


def sample(now: int, port: int, **fields: int) -> bytes:
    """What the probe writes for one connection to that port."""
    info = bytearray(248)
    for name, value in fields.items():
        offset, kind = FIELDS[name]
        width = int(kind[-1])
        info[offset : offset + width] = value.to_bytes(width, "little")
    return outputs.TCP_INFO_RECORD.pack(now, port << 16 | 40_000, len(info)) + bytes(info)


def flows(
    root: Path,
    megabits: Mapping[str, tuple[float, Sequence[float]]],
    changes: Sequence[Mapping[str, str]] = (),
    **fields: int,
) -> Record:
    """A record of flows: name -> (when it starts, what it gets in each tenth of a second from then on, in Mbit/s)."""
    begun, samples = {}, []
    for port, (name, (start, rates)) in enumerate(megabits.items(), 10_001):
        begun[name] = {"port": port, "start_ns": ZERO + round(start * SECOND)}
        taken = 0.0
        for number, rate in enumerate([0.0, *rates]):
            taken += rate * 1e6 / 8 / 10
            now = begun[name]["start_ns"] + number * STEP
            samples.append((now, sample(now, port, bytes_received=round(taken), **fields)))
    link = {"rate": "100 Mbit/s", "forward": {"changes": changes}}
    network = to_plain(find.topology("two-hosts").resolve(Changes(links={"path": link})))
    network["links"][0]["back"]["rate"] = None
    workload = {"kind": "flows", "flows": [{"name": name, "workload": {"kind": "bulk"}} for name in megabits]}
    with Store(root).stage(trial(network=network, workload=workload)) as stage:
        (stage.out / outputs.FLOWS).write_text(json.dumps(begun))
        (stage.out / outputs.tcp_info("receiver")).write_bytes(b"".join(data for _, data in sorted(samples)))
        for name in megabits:
            (stage.out / name).mkdir()
            (stage.out / name / outputs.BULK).write_text(json.dumps({"name": name}))
        return stage.commit({})


@pytest.fixture
def late(tmp_path: Path) -> Record:
    """One has all, 80 Mbit/s, for two seconds; then another gets 20, and from the fourth second on both get 40."""
    return flows(tmp_path, {"a": (0, [80] * 20 + [60] * 20 + [40] * 20), "b": (2, [20] * 20 + [40] * 20)})


def test_a_rate_that_changes_is_none_to_compare_with(tmp_path: Path) -> None:
    slower, lossy = {"at": "1 s", "rate": "10 Mbit/s"}, {"at": "1 s", "loss": "10 %"}
    with pytest.raises(MetricError, match="the rate of link 'path', forward, changes"):
        metric.utilisation("path", 0, 1)(flows(tmp_path, {"a": (0, [80] * 20)}, [slower]))
    assert metric.utilisation("path", 0, 1)(flows(tmp_path, {"a": (0, [80] * 20)}, [lossy])).number > 0


def test_goodputs_and_shares_between_two_times(late: Record) -> None:
    assert metric.flow_goodput("a", 0, 2)(late).number == pytest.approx(80e6)
    assert metric.flow_goodput("b", 0, 2)(late).number == 0
    assert metric.flow_goodput("b", 1, 3)(late).number == pytest.approx(10e6)
    assert metric.flow_share("b", 2, 4)(late).number == pytest.approx(0.25)
    assert metric.total_goodput(0, 6)(late).number == pytest.approx(80e6)
    assert metric.utilisation("path", 0, 6)(late).number == pytest.approx(0.8)
    times, goodput = metric.shares_of(late).over_time("b", 1.0)
    assert list(times) == [0, 1, 2, 3, 4, 5]
    assert goodput == pytest.approx([0, 0, 20e6, 20e6, 40e6, 40e6])


def test_fairness_and_when_it_comes(late: Record) -> None:
    assert metric.jain_index(0, 2)(late).number == pytest.approx(0.5), "one of two has all"
    assert metric.jain_index(2, 4)(late).number == pytest.approx(80**2 / (2 * (60**2 + 20**2)))
    assert metric.jain_index(4, 6)(late).number == pytest.approx(1)
    # Both are even for a whole window of half a second 2.5 s after the second starts; a tenth of it is a step.
    assert metric.convergence_time(0.999, 0.5)(late).number == pytest.approx(2.5, abs=0.05)


def test_shares_that_never_converge_give_a_lower_bound(late: Record) -> None:
    """Both flows run for 4 s. Each window of 3 s contains at least one second with shares of 60 and 20."""
    assert metric.convergence_time(0.99, 3.0)(late) == Value(4, "s", 4, inf)
    with pytest.raises(MetricError, match=r"all flows ran together for 4 s, which is not more than 5 s"):
        metric.convergence_time(0.99, 5.0)(late)


def test_what_was_not_sampled_is_no_figure(late: Record) -> None:
    with pytest.raises(MetricError, match=r"sampled for 6 s, not until 7 s"):
        metric.total_goodput(0, 7)(late)
    with pytest.raises(RecordError, match="no link 'path' with a rate back"):
        metric.utilisation("path", 0, 1, "back")(late)
    with pytest.raises(MetricError, match="no flow carried data"):
        metric.flow_share("b", 0, 0.05)(flows(late.folder.parents[2] / "none", {"a": (0, [0] * 2), "b": (0, [0] * 2)}))


def test_a_part_has_its_own_outputs_by_their_usual_names(late: Record) -> None:
    part = metric.part_of(late, "b")
    assert part.json(outputs.BULK) == {"name": "b"}
    assert part.port == metric.flows_of(late)["b"]["port"]
    assert part.trial.workload == {"kind": "bulk"}
    assert sorted(part.outputs) == [outputs.BULK, outputs.FLOWS, outputs.tcp_info("receiver")]
    assert metric.tcp_info_of(part, "receiver").local_port == part.port


def test_signals_are_shares_of_what_was_sent(tmp_path: Path) -> None:
    counts = {"bytes_retrans": 30, "bytes_sent": 1000, "delivered_ce": 5, "delivered": 20}
    record = flows(tmp_path, {"a": (0, [1])}, (), **counts)
    assert metric.retransmitted_share("receiver")(record).number == 0.03
    assert metric.marked_share("receiver")(record).number == 0.25
