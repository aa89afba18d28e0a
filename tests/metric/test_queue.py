"""What a link's queue did, from its counters before and after, and over time."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from lab import metric
from lab.guest.network import Network, Queue
from lab.metric import MetricError
from lab.record.record import Record
from lab.record.store import Store
from lab.spec import find
from lab.units import Value, to_plain
from tests.kinds import Keep
from tests.trials import trial


def qdiscs(packets: int, drops: int, marks: int | None, lost: int = 0) -> bytes:
    """A wire's netem, which loses frames by itself, and the queue before it."""
    wire = {"node": "path", "direction": "forward", "kind": "netem", "packets": 1, "drops": lost}
    counted = {} if marks is None else {"counted": {"marks": marks}}
    return json.dumps([wire, {**wire, "kind": "codel", "packets": packets, "drops": drops, **counted}]).encode()


def test_a_queue_counts_apart_from_its_wire(record: Keep) -> None:
    done = record({"qdiscs.before.json": qdiscs(10, 1, 2), "qdiscs.after.json": qdiscs(60, 4, 12, lost=7)})
    assert metric.queue_drops("path")(done) == Value(3, "1")
    assert metric.queue_marks("path")(done) == Value(10, "1")
    assert metric.drops("path")(done) == Value(10, "1"), "all that the wire's qdiscs dropped, losses included"
    with pytest.raises(MetricError, match="link path, back, has no separate queue"):
        metric.queue_drops("path", "back")(done)


def test_a_queue_that_marks_nothing_says_so(record: Keep) -> None:
    done = record({"qdiscs.before.json": qdiscs(1, 0, None), "qdiscs.after.json": qdiscs(1, 0, None)})
    with pytest.raises(MetricError, match="does not mark packets"):
        metric.queue_marks("path")(done)


def test_a_queues_delay_is_littles(record: Keep) -> None:
    """On average 20 packets are there and 1,000 a second leave: each waits 20 ms."""
    samples = [{"ns": n * 10**9, "packets": 1000 * n, "drops": 0, "backlog": 20 + (-1) ** n} for n in range(10)]
    done = record({"queue.path.forward.json": json.dumps(samples).encode()})
    assert metric.mean_queue_delay("path")(done) == Value(0.02, "s")


def test_one_look_says_nothing_of_a_delay(record: Keep) -> None:
    once = [{"ns": 0, "packets": 5, "drops": 0, "backlog": 3}]
    done = record({"queue.path.forward.json": json.dumps(once).encode()})
    with pytest.raises(MetricError, match="fewer than two times"):
        metric.mean_queue_delay("path")(done)


def test_drops_are_counted_from_the_first_one_on(record: Keep) -> None:
    """Drops at 30, 40, 50, ... ms, besides those that came before the workload."""
    samples = [{"ns": n * 10**7, "packets": n, "drops": 7 + max(0, n - 2), "backlog": 1} for n in range(11)]
    done = record({"queue.path.forward.json": json.dumps(samples).encode()})
    assert metric.queue_drops_since_first("path", 0)(done) == Value(1, "1")
    assert metric.queue_drops_since_first("path", 0.055)(done) == Value(6, "1")
    with pytest.raises(MetricError, match="was not sampled for 1 s after a drop"):
        metric.queue_drops_since_first("path", 1)(done)


def test_without_a_drop_there_is_no_first_one(record: Keep) -> None:
    samples = [{"ns": n, "packets": n, "drops": 7, "backlog": 1} for n in range(3)]
    done = record({"queue.path.forward.json": json.dumps(samples).encode()})
    with pytest.raises(MetricError, match="dropped nothing"):
        metric.queue_drops_since_first("path", 0)(done)


def looks(*seen: tuple[int, int, int]) -> dict[str, bytes]:
    """What the probe saw each second: packets let go, dropped and marked so far."""
    samples = [
        {"ns": n * 10**9, "packets": packets, "drops": drops, "marks": marks, "backlog": 1}
        for n, (packets, drops, marks) in enumerate(seen)
    ]
    return {"queue.path.forward.json": json.dumps(samples).encode()}


def test_shares_are_of_all_that_came_and_of_all_that_passed(record: Keep) -> None:
    done = record(looks((10, 1, 0), (30, 6, 5), (60, 11, 10)))
    assert metric.queue_dropped_share("path")(done) == Value(1 / 6, "1")
    assert metric.queue_marked_share("path")(done) == Value(0.2, "1")


def test_where_nothing_came_there_is_no_share(record: Keep) -> None:
    done = record(looks((1, 2, 0), (1, 2, 0)))
    with pytest.raises(MetricError, match="no packet reached"):
        metric.queue_dropped_share("path")(done)
    with pytest.raises(MetricError, match="no packet passed"):
        metric.queue_marked_share("path")(done)


def test_a_queue_whose_marks_were_not_seen_has_no_share_of_them(record: Keep) -> None:
    samples = [{"ns": n, "packets": n, "drops": 0, "backlog": 1} for n in range(3)]
    with pytest.raises(MetricError, match="does not mark packets"):
        metric.queue_marked_share("path")(record({"queue.path.forward.json": json.dumps(samples).encode()}))


def on(root: Path, network: Network) -> Record:
    """Ten frames are on the wire at each look, and netem drops one in ten at random."""
    samples = [{"ns": n * 10**8, "packets": 100 * n, "drops": 10 * n, "backlog": 10} for n in range(10)]
    with Store(root).stage(trial(network=to_plain(network))) as stage:
        (stage.out / "queue.path.forward.json").write_text(json.dumps(samples))
        return stage.commit({})


@pytest.mark.parametrize(
    "figure",
    [metric.mean_queue_delay("path"), metric.queue_dropped_share("path"), metric.queue_drops_since_first("path", 0.1)],
    ids=lambda figure: figure.name,
)
def test_frames_in_flight_on_a_plain_wire_are_no_queue(tmp_path: Path, figure: metric.DeclaredMetric) -> None:
    plain = find.topology("symmetric-1g").network
    with pytest.raises(MetricError, match=r"link path, forward, has no separate queue: .* give the link a queue"):
        figure(on(tmp_path, plain))
    (link,) = plain.links
    queued = structs.replace(link, forward=structs.replace(link.forward, queue=Queue("pfifo", (("limit", 9),))))
    assert figure(on(tmp_path, structs.replace(plain, links=(queued,)))).number > 0
