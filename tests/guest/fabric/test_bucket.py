"""Token buckets in front of a wire: the time of each frame by the bucket's definition, and the read-back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lab.guest import outputs
from lab.guest.fabric import bucket
from lab.guest.fabric.netlink import attributes
from lab.guest.network import Direction, Queue, Shaper
from lab.guest.probe import QueueState
from lab.guest.workload import Bulk
from lab.units import Duration, Rate, Size
from tests.guest.fabric.cases import bulk_goodput
from tests.guest.fabric.conftest import FRAME, Case, Streams
from tests.kinds import Perform

MS = 10**6
SECOND = 10**9
BURSTS = [(0, 0, FRAME)] * 60 + [(900 * MS, 0, FRAME)] * 6 + [(1500 * MS, 0, 300)] * 9
CASES = {
    "tbf": Case(
        {"rate": "1 Mbit/s", "delay": "5 ms", "queue": {"kind": "tbf", "burst": "8 kB", "latency": "400 ms"}}, BURSTS
    ),
    "tbf as tc counts": Case(
        {"rate": "100 Mbit/s", "queue": {"kind": "tbf", "rate": "1 Mbit/s", "burst": "4 kB", "limit": "54 kB"}}, BURSTS
    ),
    "tbf with a peak": Case(
        {
            "queue": {
                "kind": "tbf",
                "rate": "1 Mbit/s",
                "burst": "20 kB",
                "limit": "40 kB",
                "peakrate": "4 Mbit/s",
                "mtu": "1600 B",
                "mpu": "400 B",
            }
        },
        BURSTS,
    ),
    "htb": Case({"rate": "1 Mbit/s", "queue": {"kind": "htb", "burst": "9 kB", "cburst": "9 kB", "limit": 30}}, BURSTS),
    "htb, usual cburst": Case({"rate": "1 Mbit/s", "queue": {"kind": "htb", "burst": "9 kB", "limit": 30}}, BURSTS),
    "htb with a ceil": Case(
        {"queue": {"kind": "htb", "rate": "1 Mbit/s", "burst": "9 kB", "ceil": "8 Mbit/s", "cburst": "3 kB"}}, BURSTS
    ),
}


@pytest.fixture(scope="module")
def came(streams: Streams) -> dict[str, Any]:
    return streams(CASES)


def law(case: Case) -> dict[int, float]:
    """When each frame leaves its bucket, in ns, by the bucket's definition; those that do not leave are lost.

    A bucket of `depth` ns fills by one ns each ns. A frame costs the time that it takes at the bucket's rate. tbf sends
    a frame if both buckets have as much; htb sends it if neither bucket is in debt, and then may run into debt.
    """
    asked = dict(case.forward["queue"])
    whole = 0 if "rate" in asked else 24
    rate = Rate.of(str(asked.get("rate", case.forward.get("rate")))).bps / 8
    if asked["kind"] == "tbf":
        other = Rate.of(asked["peakrate"]).bps / 8 if "peakrate" in asked else rate
        depths = [asked["burst"], asked.get("mtu", asked["burst"])]
    else:
        other = Rate.of(asked.get("ceil", case.forward.get("rate", asked.get("rate")))).bps / 8
        depths = [asked["burst"], asked.get("cburst", "1600 B")]
    extra = whole if asked["kind"] == "tbf" else 0
    least = Size.of(asked.get("mpu", "0 B")).bytes
    rates = (rate, other)
    full = [(Size.of(depth).bytes + extra) / speed * SECOND for depth, speed in zip(depths, rates, strict=True)]
    limit = Size.of(asked["limit"]).bytes if isinstance(asked.get("limit"), str) else asked.get("limit", 1000)
    if "latency" in asked:
        limit = rate * Duration.of(asked["latency"]).seconds + Size.of(asked["burst"]).bytes
    tokens, since = list(full), 0.0
    left: dict[int, float] = {}
    for number, (sent, _, size) in enumerate(case.sends):
        waiting = [each for each in left if left[each] > sent]
        held = len(waiting) + 1 if asked["kind"] == "htb" else sum(case.sends[each][2] for each in waiting) + size
        if held > limit:
            continue
        costs = [max(size + whole, least) / speed * SECOND for speed in rates]
        needs = costs if asked["kind"] == "tbf" else [0.0, 0.0]
        now = max(sent, since)
        tokens = [min(most, has + now - since) for most, has in zip(full, tokens, strict=True)]
        wait = max(0.0, *(need - has for need, has in zip(needs, tokens, strict=True)))
        since = now + wait
        tokens = [min(most, has + wait) - cost for most, has, cost in zip(full, tokens, costs, strict=True)]
        left[number] = since
    return left


def on_the_wire(case: Case, size: int) -> float:
    """ns that a frame takes behind its bucket: the delay, and its own time if the wire has a rate."""
    delay = Duration.of(case.forward.get("delay", "0 ms")).ns
    own = "rate" in case.forward["queue"] and "rate" in case.forward
    return delay + (8 * SECOND * (size + 24) / Rate.of(case.forward["rate"]).bps if own else 0)


@pytest.mark.guest
@pytest.mark.parametrize("name", CASES)
def test_every_frame_leaves_at_the_time_that_the_bucket_defines(came: dict[str, Any], name: str) -> None:
    case, found = CASES[name], came[name]
    assert found["differences"] + found["timeline"]["differences"] == []
    expected = law(case)
    arrived = {number: at for at, number in found["came"]}
    assert set(arrived) == set(expected)
    assert len(expected) < len(case.sends) or name.startswith("htb with"), "some are lost"
    behind = "rate" in case.forward and "rate" in case.forward["queue"]
    last = 0.0
    for number, at in sorted(arrived.items()):
        size = case.sends[number][2]
        own = on_the_wire(case, size)
        last = max(expected[number], last) + own if behind else expected[number] + own
        assert at == pytest.approx(last, abs=300), number


@pytest.mark.guest
def test_a_burst_is_read_back(came: dict[str, Any]) -> None:
    """8 kB and the overhead of a frame fill in 64.192 ms at 1 Mbit/s, in steps of 64 ns."""
    (found,) = (each for each in came["tbf"]["qdiscs"] if each["interface"].startswith("q"))
    assert found["kind"] == "tbf"
    assert found["options"]["burst_time"] == "64.192 ms"
    assert found["options"]["overhead"] == "24 B"
    assert found["drops"] == len(BURSTS) - len(came["tbf"]["came"])
    (found,) = (each for each in came["tbf as tc counts"]["qdiscs"] if each["interface"].startswith("q"))
    assert (found["options"]["overhead"], found["options"]["limit"]) == ("0 B", "54000 B")


@pytest.mark.guest
@pytest.mark.parametrize(("count", "kbit"), [("the lab's", 1448 / 1538), ("tc's", 1448 / 1514)])
def test_tbf_as_people_configure_it(perform: Perform, count: str, kbit: float) -> None:
    """tbf rate 1mbit burst 32kbit latency 400ms: 941.5 kbit/s of TCP, or 956.4 as tc counts; 35 frames wait 431 ms."""
    queue = {"kind": "tbf", "burst": "4 KiB", "latency": "400 ms"}
    path = {"rate": "1 Mbit/s"} if count == "the lab's" else {"rate": "100 Mbit/s"}
    queue |= {} if count == "the lab's" else {"rate": "1 Mbit/s"}
    record = perform(
        "delay-10ms",
        Bulk(duration=Duration.of("20 s")),
        (QueueState(link="path", way="forward"),),
        links={"path": {"rate": "100 Mbit/s", "forward": {**path, "queue": queue}}},
    )
    assert record.invalid == ()
    assert bulk_goodput(record) == pytest.approx(1e6 * kbit, rel=0.003)
    most = max(each["backlog"] for each in record.json(outputs.queue("path", "forward")))
    assert most == 35


def direction(kind: str, link: str | None, **parameters: Any) -> Direction:
    held = Queue(kind, tuple(sorted(parameters.items())))
    plain: Any = {"delay": Duration(0), "jitter": Duration(0), "mtu": Size(1500), "limit": 9, "shaper": Shaper.PATH}
    return Direction(None if link is None else Rate.of(link), **plain, loss=0, reorder=0, duplicate=0, queue=held)


@given(st.integers(1, 2**32 - 1), st.integers(1, 2**24), st.integers(0, 100), st.booleans())
def test_the_options_that_are_sent_are_those_that_are_wanted_back(speed: int, burst: int, mpu: int, own: bool) -> None:
    """Except for the fields that only the kernel computes: a tbf's time in which it fills."""
    rate = {"rate": str(Rate(8 * speed))} if own else {}
    sizes = {"burst": str(Size(burst)), "mpu": str(Size(mpu))}
    asked = direction("htb", None if own else str(Rate(8 * speed)), **rate, **sizes)
    told = attributes(b"".join(bucket.htb_class(asked)))
    assert bucket.htb_described(told[bucket.TCA_OPTIONS]) == bucket.wanted(asked)
    asked = structs.replace(asked, queue=Queue("tbf", (*asked.queue.parameters, ("limit", "9 kB"))))  # type: ignore[union-attr]
    told = attributes(b"".join(bucket.tbf(asked)))
    described, wanted = bucket.tbf_described(told), bucket.wanted(asked)
    assert {key: described[key] for key in ("rate", "overhead", "mpu", "limit")} == {
        key: wanted[key] for key in ("rate", "overhead", "mpu", "limit")
    }
    assert wanted["overhead"] == ("0 B" if own else "24 B")


def test_a_latency_is_a_limit_as_tc_computes_it() -> None:
    """q_tbf.c: what leaves in that time, and the burst; a peak rate may have less."""
    one = direction("tbf", "1 Mbit/s", burst="4096 B", latency="400 ms")
    assert bucket.Bucket.of(one).limit == 54_096
    two = direction("tbf", "1 Mbit/s", burst="40960 B", latency="400 ms", peakrate="1100 kbit/s", mtu="1600 B")
    assert bucket.Bucket.of(two).limit == 56_600
