"""A simulation answers for no path that does what it does not play."""

import re
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

import lab.model
from lab.guest.network import (
    BurstLoss,
    Change,
    DelayTo,
    Direction,
    Distribution,
    Offloads,
    Queue,
    Shaper,
    Slot,
    Trace,
)
from lab.guest.workload import Bulk, SmallWrites
from lab.model import (
    KernelTraits,
    ModelError,
    Scenario,
    any_drops,
    frames_in_flight,
    goodput_bulk,
    message_latency,
    transfer_time,
)
from lab.spec.prediction import Prediction, declared
from lab.units import Duration, Size, Value
from tests.model.scenarios import hop, scenario

ASKED = [
    (goodput_bulk, Bulk(duration=Duration.of("100 ms"))),
    (transfer_time, Bulk(size=Size.of("100 KiB"))),
    (any_drops, Bulk(duration=Duration.of("100 ms"))),
    (message_latency, SmallWrites(messages=3)),
]
WIRE = hop("100 Mbit/s", "1 ms")
CHANCE = [{"loss": 0.01}, {"reorder": 0.01}, {"duplicate": 0.01}, {"jitter": Duration.of("100 us")}]


# No model covers these settings: every law, replay and simulation refuses them, with a reason.
UNKNOWN: dict[str, dict[str, Any]] = {
    "changes of the path repeat": {
        "changes": (Change(Duration(0), every=Duration.of("9 s"), delay=Duration.of("2 ms")),)
    },
    "path repeat": {"changes": (Change(Duration(0), every_about=Duration.of("9 s"), down=Duration.of("2 ms")),)},
}
UNKNOWN["depends on the destination"] = {"delays": (DelayTo("10.0.1.2/32", Duration.of("9 ms")),)}
UNKNOWN["distribution pareto"] = {"jitter": Duration.of("1 ms"), "distribution": Distribution("pareto")}
UNKNOWN["are correlated"] = {"loss": 0.01, "loss_correlation": 0.1}
UNKNOWN["only after 5 frames"] = {"reorder": 1.0, "reorder_gap": 5}
UNKNOWN["stay in order"] = {"jitter": Duration.of("1 ms"), "in_order": True}
UNKNOWN |= {
    f"token bucket .{kind}": {"queue": Queue(kind, (("burst", "4000 B"), ("limit", limit)))}
    for kind, limit in (("tbf", "9000 B"), ("htb", 9))
}
UNKNOWN["releases them together"] = {"slot": Slot(Duration.of("100 ms"), Duration.of("100 ms"), packets=1)}
UNKNOWN["trace decides"] = {"rate": None, "trace": Trace("radio.csv", "1")}
# Only laws that declare it cover these.
ODD: dict[str, dict[str, Any]] = {
    "changes": {"changes": (Change(Duration.of("1 ms"), down=Duration.of("100 s")),)},
    "corrupt": {"corrupt": 0.3},
    "burst_loss": {"burst_loss": BurstLoss(0.3, 0.01, 1.0, 0.0)},
}
PREDICTIONS = [each for each in vars(lab.model).values() if isinstance(each, Prediction) and each.kind != "definition"]


def over(there: Direction, back: Direction, workload: Any) -> Scenario:
    return scenario(there, back, writer=workload.writer(), reader=workload.reader())


@pytest.mark.parametrize(("model", "workload"), ASKED)
@pytest.mark.parametrize("odd", [*CHANCE, {"shaper": Shaper.NIC}], ids=str)
def test_chance_and_cards_are_refused_whichever_way_they_are(model: Any, workload: Any, odd: dict[str, Any]) -> None:
    strange = structs.replace(WIRE, **odd)
    assert model(over(WIRE, WIRE, workload)).number >= 0
    for ways in ((strange, WIRE), (WIRE, strange)):
        with pytest.raises(ModelError):
            model(over(*ways, workload))


def refusal(model: Prediction, about: Scenario) -> str:
    """The model's reason to refuse, or its answer."""
    try:
        return f"it answers {model(about)}"
    except ModelError as error:
        return str(error)


@pytest.mark.parametrize("reason", UNKNOWN)
def test_settings_that_no_model_covers_are_refused(reason: str) -> None:
    strange = structs.replace(WIRE, **UNKNOWN[reason])
    for about in (over(strange, WIRE, ASKED[0][1]), over(WIRE, strange, ASKED[0][1])):
        said = {model.name: refusal(model, about) for model in PREDICTIONS}
        assert {name: each for name, each in said.items() if not re.search(reason, each)} == {}


@pytest.mark.parametrize("setting", ODD)
def test_a_law_covers_odd_settings_only_if_it_declares_them(setting: str) -> None:
    strange = structs.replace(WIRE, **ODD[setting])
    for about in (over(strange, WIRE, ASKED[0][1]), over(WIRE, strange, ASKED[0][1])):
        for model in PREDICTIONS:
            if setting in model.covers:
                about.check(model)
            else:
                with pytest.raises(ModelError, match=f"{model.name} does not cover this"):
                    model(about)


def test_a_users_own_prediction_may_cover_them() -> None:
    strange = over(structs.replace(WIRE, **UNKNOWN["path repeat"]), WIRE, ASKED[0][1])
    own = declared(lambda scenario: Value(scenario.delay.seconds, "s"))
    assert own(strange).number == 0.001


@pytest.mark.parametrize(("model", "workload"), ASKED)
@pytest.mark.parametrize("offloads", [Offloads(tso=True, gso=True), Offloads(gro=True)], ids=str)
@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_offloads_are_refused_at_either_end(model: Any, workload: Any, offloads: Offloads, end: str) -> None:
    plain = over(WIRE, WIRE, workload)
    host = getattr(plain, end)
    offloading = replace(host, interface=structs.replace(host.interface, offloads=offloads))
    with pytest.raises(ModelError):
        model(replace(plain, **{end: offloading}))


@pytest.mark.parametrize(("model", "workload"), ASKED)
def test_a_later_link_is_wide_enough_or_refused(model: Any, workload: Any) -> None:
    plain, narrow = over(WIRE, WIRE, workload), structs.replace(WIRE, mtu=Size(1000))
    two = replace(plain, forward=(WIRE, WIRE), reverse=(WIRE, WIRE))
    assert model(two).number >= 0
    with pytest.raises(ModelError, match="MTU"):
        model(replace(two, forward=(WIRE, narrow)))
    assert model(replace(two, forward=(narrow, WIRE))).number >= 0
    assert model(replace(two, forward=(WIRE, narrow), reverse=(narrow, WIRE))).number >= 0  # the receiver announced it


@pytest.mark.parametrize(
    ("model", "workload"), [*ASKED[:2], (message_latency, SmallWrites(messages=3, file=Size(30_000)))]
)
def test_a_queue_that_is_too_short_is_refused_on_any_link_and_way(model: Any, workload: Any) -> None:
    plain, short = over(WIRE, WIRE, workload), structs.replace(WIRE, limit=1)
    slow = structs.replace(WIRE, limit=1, delay=Duration.of("10 ms"))
    for forward, reverse in (((short,), (WIRE,)), ((WIRE, short), (WIRE,)), ((WIRE,), (slow,))):
        with pytest.raises(ModelError, match="too short"):
            model(replace(plain, forward=forward, reverse=reverse))


def test_links_in_a_row_do_not_hold_each_others_frames() -> None:
    far = hop("100 Mbit/s", "20 ms")
    plain = over(far, far, Bulk(duration=Duration.of("1 s")))
    one = int(frames_in_flight(plain).number)
    two = replace(plain, forward=(structs.replace(far, limit=one),) * 2)
    assert any_drops(two).number == 0


@pytest.mark.parametrize(
    ("version", "measured"), [((6, 1), 0.716_889_760), ((7, 2), 0.716_900_480)], ids=["6.1", "7.2"]
)
def test_a_queue_long_enough_keeps_its_link_busy_although_it_drops(version: tuple[int, int], measured: float) -> None:
    workload = Bulk(size=Size.of("8 MiB"))
    plain = replace(over(WIRE, WIRE, workload), kernel=KernelTraits(version))
    long = replace(plain, forward=(structs.replace(WIRE, limit=100),))
    assert any_drops(long).number == 1
    assert transfer_time(long).number == pytest.approx(measured, rel=2e-5)
    with pytest.raises(ModelError, match="too short"):  # 7 % slower in a guest
        transfer_time(replace(plain, forward=(structs.replace(WIRE, limit=20),)))
    upstream = hop("200 Mbit/s", "1 ms", limit=10)
    with pytest.raises(ModelError, match="too short"):
        transfer_time(replace(plain, forward=(upstream, structs.replace(WIRE, limit=100))))


def test_a_host_that_sends_to_itself_is_covered() -> None:
    plain = over(WIRE, WIRE, SmallWrites(messages=3))
    loopback = replace(plain, forward=(), reverse=(), receiver=plain.sender)
    assert message_latency(loopback).number >= 0
