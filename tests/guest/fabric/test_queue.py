"""Queues on a link: told and read back, exact in their rate, and each as its law or its RFC has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import LabError
from lab.guest import outputs
from lab.guest.fabric import counters, qdisc, queue, shaper
from lab.guest.fabric.netlink import attributes
from lab.guest.network import Direction, Queue, Setting, Shaper
from lab.guest.probe import Capture
from lab.guest.share import Percent
from lab.guest.workload import Bulk
from lab.machine.kernel import UmlKernel
from lab.metric.capture import Capture as Packets
from lab.record.record import Record
from lab.spec import queue as spec
from lab.units import Duration, Rate, Size
from tests.guest.fabric.cases import bulk_goodput
from tests.kinds import Perform

DATA = Path(__file__).parents[2] / "data" / "qdiscs.json"  # tc's own words of qdiscs, and what netlink said of them

QUEUES = [kind for kind in spec.KINDS if not Queue(kind).is_bucket]  # `test_bucket` has the others

ALL: Mapping[str, Mapping[str, Setting]] = {
    "pfifo": {"limit": 100},
    "bfifo": {"limit": "150 kB"},
    "codel": {"target": "10 ms", "interval": "200 ms", "limit": 500, "ecn": True, "ce_threshold": "1 ms"},
    "fq_codel": {
        "target": "6 ms",
        "interval": "90 ms",
        "limit": 5000,
        "ecn": False,
        "ce_threshold": "2 ms",
        "flows": 256,
        "quantum": "300 B",
        "drop_batch": 32,
        "memory_limit": "4 MiB",
    },
    "cake": {
        "rtt": "50 ms",
        "memlimit": "4 MiB",
        "diffserv": "diffserv4",
        "isolation": "dual-srchost",
        "ack_filter": "ack-filter",
        "wash": True,
        "ingress": True,
        "split_gso": False,
    },
    "pie": {
        "target": "20 ms",
        "limit": 500,
        "tupdate": "30 ms",
        "alpha": 3,
        "beta": 25,
        "ecn": True,
        "bytemode": True,
        "dq_rate_estimator": True,
    },
    "fq_pie": {
        "target": "20 ms",
        "limit": 500,
        "tupdate": "30 ms",
        "alpha": 3,
        "beta": 25,
        "ecn": True,
        "flows": 64,
        "quantum": "3028 B",
        "memory_limit": "4 MiB",
        "ecn_prob": 20,
    },
    "red": {"limit": "400 kB", "min": "30 kB", "max": "90 kB", "probability": "10 %", "ewma": 7, "ecn": True},
    "sfq": {
        "limit": 100,
        "flows": 64,
        "depth": 50,
        "divisor": 512,
        "quantum": "3028 B",
        "perturb": "10 s",
        "headdrop": True,
    },
    "fq": {
        "limit": 2000,
        "flow_limit": 200,
        "quantum": "3028 B",
        "initial_quantum": "15140 B",
        "pacing": False,
        "maxrate": "800 Mbit/s",
        "orphan_mask": 511,
        "refill_delay": "40 ms",
        "ce_threshold": "1 ms",
        "horizon": "5 s",
        "horizon_drop": False,
    },
    "dualpi2": {
        "limit": 5000,
        "target": "20 ms",
        "tupdate": "20 ms",
        "alpha": 40,
        "beta": 800,
        "step_thresh": "2 ms",
        "min_qlen_step": 2,
        "coupling_factor": 3,
        "classic_protection": 20,
        "split_gso": False,
    },
}

# What can be asked of each without contradiction, drawn freely.
_settings: dict[Any, st.SearchStrategy[Any]] = {
    spec._flag: st.booleans(),
    spec._time: st.integers(0, 4 * 10**6).map(lambda us: str(Duration(1000 * us))),
    spec._positive_time: st.integers(1, 4 * 10**6).map(lambda us: str(Duration(1000 * us))),
    spec._power_of_2: st.integers(0, 16).map(lambda bits: 1 << bits),
    spec._whole_seconds: st.integers(0, 600).map(lambda seconds: str(Duration(seconds * 10**9))),
    spec._rate: st.integers(1, 10**9).map(lambda number: str(Rate(8 * number))),
    spec._share: st.sampled_from(["0.1 %", "2 %", "10 %", "100 %"]),
}


def drawn(reader: Any) -> st.SearchStrategy[Any]:
    """What a parameter may be, including the bounds."""
    match reader:
        case spec.Whole():
            return st.integers(reader.least, reader.most)
        case spec.Sized():
            return st.integers(reader.least, reader.most).map(lambda number: str(Size(number)))
        case _:
            return _settings.get(reader, st.nothing())


def asked(kind: str, **parameters: Any) -> Queue:
    found, mistakes = spec.read({"kind": kind, **parameters})
    assert found is not None, mistakes
    return found


def told(queue_: Queue) -> dict[str, Any]:
    return qdisc.describe(attributes(b"".join(queue.told(queue_, Rate.of("10 Mbit/s")))))


@pytest.mark.parametrize("kind", QUEUES)
def test_every_parameter_can_be_told(kind: str) -> None:
    """What is told is what is wanted back, except where the kernel keeps a time in its own unit, which is coarser."""
    made = asked(kind, **ALL[kind])
    described = told(made)
    assert described["kind"] == kind
    for name, setting in queue.wanted(made).items():
        if isinstance(setting, str) and setting.endswith("s") and not setting.endswith("/s"):
            held, given_ = Duration.of(setting), Duration.of(str(described["options"][name]))
            assert 0 <= given_.ns - held.ns <= 1024 + 1000
        elif name in ("alpha", "beta"):
            assert described["options"][name] - 1 <= setting <= described["options"][name]
        else:
            assert described["options"][name] == setting


@given(st.data())
def test_what_is_told_is_what_is_described(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([kind for kind in QUEUES if kind not in ("red", "sfq")]))
    chosen = {
        name: data.draw(st.just(ALL[kind][name]) if drawn(reader).is_empty else drawn(reader))
        for name, reader in spec.KINDS[kind].items()
        if name in ALL[kind] or not drawn(reader).is_empty
    }
    made = asked(kind, **chosen)
    described = told(made)["options"]
    assert {name: described[name] for name, _ in made.parameters} == dict(made.parameters)


@given(st.data())
def test_every_accepted_queue_can_be_told(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(QUEUES))
    chosen = {
        name: data.draw(drawn(reader))
        for name, reader in spec.KINDS[kind].items()
        if not drawn(reader).is_empty and (name in spec.NEEDED.get(kind, ()) or data.draw(st.booleans()))
    }
    made, _ = spec.read({"kind": kind, **chosen})
    if made is not None:
        told(made)


@given(st.integers(1, 12 * 10**9), st.integers(64, 9038))
def test_no_frame_waits_behind_the_queue(bytes_per_second: int, size: int) -> None:
    """The netem's time for a frame is never longer than HTB's, by the kernel's own arithmetic in both."""
    rate = Rate(8 * bytes_per_second)
    direction = _direction(rate)
    wire = shaper.wire_rate(direction)
    assert wire is not None
    factor, shift = 10**9, 0  # psched_ratecfg_precompute
    while not ((multiplier := factor // bytes_per_second) & 1 << 31 or factor & 1 << 63):
        factor, shift = factor << 1, shift + 1
    assert size * 10**9 // (wire.bps // 8) <= size * multiplier >> shift
    assert wire.bps <= rate.bps + 8 * (1 + bytes_per_second // 2**31)


def _direction(rate: Rate) -> Direction:
    held = Queue("pfifo", (("limit", 10),))
    return Direction(rate, Duration(0), Duration(0), 0.0, 0.0, 0.0, Size(1500), 10, Shaper.PATH, queue=held)


@pytest.mark.parametrize("recorded", json.loads(DATA.read_text()), ids=lambda each: each["tc"]["kind"])
def test_what_tc_says_is_what_we_read(recorded: dict[str, Any]) -> None:
    """Recorded in a guest after some traffic: `tc -j -s qdisc`, and the attributes that netlink gave of the same."""
    found = qdisc.describe({int(number): bytes.fromhex(data) for number, data in recorded["netlink"].items()})
    tc = recorded["tc"]
    assert (found["kind"], found["bytes"], found["packets"]) == (tc["kind"], tc["bytes"], tc["packets"])
    assert (found["drops"], found["overlimits"]) == (tc["drops"], tc["overlimits"])
    for name in ("ecn_mark", "marked", "new_flow_count", "maxpacket", "count", "early", "pdrop", "packets_in", "maxq"):
        if name in tc and name in found.get("counted", {}):
            assert found["counted"][name] == tc[name], name
    for name, value in tc["options"].items():
        if name in found["options"] and isinstance(value, int | bool):
            assert _number(found["options"][name]) == int(value), name


def _number(setting: object) -> int:
    if isinstance(setting, str):
        return Duration.of(setting).ns // 1000 if setting.endswith("s") else Size.of(setting).bytes
    assert isinstance(setting, int)
    return setting


def test_what_is_cut_short_counts_as_zero() -> None:
    """An older kernel's statistics are shorter: what it does not count is 0."""
    assert counters.counted("red", bytes(4)) == {"early": 0, "pdrop": 0, "other": 0, "marked": 0, "marks": 0}


def test_a_share_of_red_is_exact() -> None:
    assert told(asked("red", **ALL["red"]))["options"]["probability"] == "10 %"
    assert Percent.of("10 %") == 0.1


# -- In a guest


def has(kernel: UmlKernel, kind: str) -> bool:
    """Whether the kernel was built with that queue; FIFOs always are there."""
    config = (kernel.path.parent / "config").read_text().splitlines()
    return kind.endswith("fifo") or f"CONFIG_NET_SCH_{kind.upper()}=y" in config


def with_queue(kind: str, parameters: Mapping[str, Setting], rate: str = "20 Mbit/s") -> dict[str, Any]:
    return {"path": {"rate": rate, "forward": {"queue": {"kind": kind, **parameters}}}}


USUAL: Mapping[str, Mapping[str, Setting]] = {
    "pfifo": {"limit": 60},
    "bfifo": {"limit": "90 kB"},
    "red": {**ALL["red"], "ecn": False},
}


def of_queue(record: Record, when: str = outputs.QDISCS_AFTER) -> dict[str, Any]:
    """The queue of the way forward, as it was read back."""
    (found,) = (each for each in record.json(when) if each["interface"] == "q0b")
    return dict(found)


@pytest.mark.guest
@pytest.mark.parametrize("kind", QUEUES)
def test_a_queue_reads_back(perform: Perform, kernel: UmlKernel, kind: str) -> None:
    """A trial in which the kernel had another parameter would be invalid."""
    links = with_queue(kind, ALL[kind])
    if not has(kernel, kind):
        with pytest.raises(LabError, match=f"path, forward: the queue {kind} is not in this kernel"):
            perform("delay-10ms", Bulk(size=Size.of("20 kB")), links=links)
        return
    record = perform("delay-10ms", Bulk(size=Size.of("20 kB")), links=links)
    assert record.invalid == ()
    options = of_queue(record, outputs.QDISCS_BEFORE)["options"]
    assert set(ALL[kind]) <= {*options, "avpkt"}


@pytest.mark.guest
@pytest.mark.parametrize("kind", QUEUES)
def test_a_rate_stays_exact_behind_a_queue(perform: Perform, kernel: UmlKernel, kind: str) -> None:
    """Full frames that leave a queue one after another are 1538 B / R apart, to the nanosecond.

    What the whole flow carries of the rate is the queue's and TCP's affair; on a queue without losses it is 0.1 %.
    """
    if not has(kernel, kind):
        pytest.skip(f"this kernel lacks {kind}")
    rate = Rate.of("20 Mbit/s")
    record = perform(
        "delay-10ms",
        Bulk(duration=Duration.of("2 s")),
        (Capture(node="receiver"),),
        links=with_queue(kind, USUAL.get(kind, {}), str(rate)),
    )
    assert record.invalid == ()
    packets = Packets(record.path(outputs.capture("receiver", "eth0")))
    gaps = np.diff(packets.time_ns[packets.payload == 1448])
    assert np.median(gaps) == gaps.min() == pytest.approx(1538 * 8e9 / rate.bps, abs=2)
    assert bulk_goodput(record) > 0.8 * rate.bps
    if kind in ("fq", "sfq"):  # ample queues
        assert bulk_goodput(record) == pytest.approx(rate.bps * 1448 / 1538, rel=0.001)
