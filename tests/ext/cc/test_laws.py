"""The laws of the references' figures: computed again from the path, complete, and in the guide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean

import pytest

from lab import model
from lab.ext.cc import display, laws
from lab.ext.cc.cases import JudgeCase
from lab.model.scenario import KernelTraits, Scenario
from lab.report.wording import figure
from lab.spec.document import parse
from lab.spec.prediction import Prediction
from lab.units import Value
from tests.ext.cc.cards import shipped_pack
from tests.ext.cc.path_laws import (
    CUBIC,
    FRIENDLY,
    HELD,
    PACKETS,
    PATH,
    PAYLOAD,
    RENO,
    RTT,
    SLOW,
    policed,
    probing,
    queue,
    sawtooth,
    slow_growth,
)

ROOT = Path(__file__).parents[3]


def cases() -> Mapping[str, JudgeCase]:
    return {case.name.partition("/")[2]: case for case in shipped_pack().cases}


def climb(before: float, after: float, rtt: float = RTT) -> float:
    """What BBR does not send after the rate has grown, with a gain of 1.25 every eight round trips."""
    missing, rate, steps = 0.0, before, 0
    while rate < after:
        missing += (after - rate) * 8 * rtt * (1 if steps else 0.5)
        rate, steps = 1.25 * rate, steps + 1
    return missing


def after_longer_delay(window: float) -> float:
    """Utilisation with Reno from 9 s to 19 s, if the window is this at 6 s, when the round trip grows by 80 ms."""
    rtt = RTT + 0.08
    held = PACKETS * rtt
    at, missing = 6.0, 0.0
    while at < 19:
        trip = max(rtt, window / PACKETS)
        missing += max(0.0, min(at + trip, 19) - max(at, 9)) * max(0.0, 1 - window / held)
        at, window = at + trip, window + 1
        window *= RENO if window > held + 40 else 1
    return PAYLOAD * (1 - missing / 10)


def after_outage(third: float) -> float:
    """Utilisation of BBR from 7 s to 13 s, if the try that gets through is at this time."""
    slow_start, probe = 5 * RTT - (1 + 4 + 8 + 16 + 32) / PACKETS, (0.2 + RTT) * (1 - 4 / PATH)
    return PAYLOAD * (1 - (third - 7 + slow_start + probe) / 6)


def share_left(left: float, period: float, at: float = 6.5, first: float = 9, last: float = 19) -> float:
    """Jain's index between two moments of a flow that starts at another one, with losses in step in each period."""
    difference, total = 1.0, 0.0
    while at < last:
        total += difference * max(0.0, min(at + period, last) - max(at, first))
        difference, at = difference * left, at + period
    return 1 / (1 + (total / (last - first)) ** 2)


def port(payload: float, rate: float) -> float:
    """Seconds that a port of this rate needs for these bytes."""
    return payload / 1448 * 1538 * 8 / rate


BUDGET = 3 * 2  # packets of BBR's three bursts
FAR = PAYLOAD * (1 - 1.2 / 11.2)
FIGURES: Mapping[
    str, Mapping[str, float | tuple[float, float]]
] = {  # case -> reference -> the law's figure, or its bounds
    "one-flow": {"reno": PAYLOAD, "cubic": PAYLOAD, "bbr": probing(10)},
    "shallow-buffer": {"reno": sawtooth(48, RENO), "cubic": sawtooth(48, CUBIC), "bbr": probing(10)},
    "codel": {"reno": sawtooth(46, RENO), "cubic": sawtooth(46, CUBIC), "bbr": probing(10)},
    "exact-marks": {"reno": sawtooth(46, RENO**2), "cubic": sawtooth(46, CUBIC**2), "bbr": probing(10)},
    "high-delay": {"reno": PAYLOAD, "cubic": (PAYLOAD, PAYLOAD * (1 + 1172 / 23 / PACKETS)), "bbr": FAR},
    "high-rate": dict.fromkeys(("reno", "cubic", "bbr"), PAYLOAD),
    "application-limited": dict.fromkeys(("reno", "cubic", "bbr"), 8 * 32768 / 0.040 / 12e6),
    "sub-packet": dict.fromkeys(("reno", "cubic", "bbr"), PAYLOAD),
    "ecn": {**dict.fromkeys(("reno", "cubic"), (0, 5e-3)), "bbr": BUDGET / PACKETS},
    "tunnel": {**dict.fromkeys(("reno", "cubic"), (0, 5e-3)), "bbr": BUDGET / PACKETS},
    "policer": {
        "reno": policed(1, RENO),
        "cubic": policed(FRIENDLY, CUBIC),
        "bbr": (8 / (8 + 48) * 50 / 256, 1 - 1 / 1.25),
    },
    "bufferbloat": {
        "reno": queue(7 / 9 * 240),
        "cubic": (queue(0.85 * 240), queue(0.925 * 240)),
        "bbr": BUDGET / PACKETS,
    },
    "rate-down": {
        "reno": queue(7 / 9 * (66 + HELD), HELD, SLOW),
        "cubic": (queue(0.85 * (66 + HELD), HELD, SLOW), queue(0.925 * (66 + HELD), HELD, SLOW)),
        "bbr": (0.406 * (6 + 10 * 0.446 - 8) + 0.041 * (16 - 6 - 10 * 0.446)) / 8,
    },
    "loss-rate": {"reno": 8 / (3 * 15**2), "cubic": 1 / (15 * 0.3 / FRIENDLY * 15 * 0.85)},
    "collapse": dict.fromkeys(
        ("reno", "cubic"),
        (
            PAYLOAD / PACKETS / (RTT * sqrt(0.6 / 3) + 0.241 * 0.3 * (1 + 32 * 0.09)),
            PAYLOAD / PACKETS * sqrt(1.5 / 0.3) / RTT,
        ),
    ),
    "even-pair": {"reno": share_left(RENO, 1.205, 0, 10, 28), "cubic": share_left(CUBIC, 1.548, 0, 10, 28), "bbr": 1},
    "late-flow": {"reno": share_left(RENO, 1.205), "cubic": share_left(CUBIC, 1.548)},
    "l4s": {"reno": 1, "cubic": 1, "bbr": 1 / (2 * ((share := 2 / 0.055 / PACKETS) ** 2 + (1 - share) ** 2))},
    "short-beside-long": {
        "reno": 0.092 + 2 * queue(7 / 9 * 160),
        "cubic": (0.092 + 2 * queue(0.85 * 160), 0.092 + 2 * queue(0.925 * 160)),
        "bbr": 0.092 + 2 * queue(2 * PATH),
    },
    "short-transfers": dict.fromkeys(("reno", "cubic", "bbr"), 4 * RTT - 5e-3 + 74 / PACKETS),
    "incast": dict.fromkeys(("reno", "cubic", "bbr"), (port(16 * 64e3, 1e9), 0.2 + port(16 * 64e3, 1e9))),
    "incast-fast": dict.fromkeys(("reno", "cubic", "bbr"), (port(16e6, 1e10), 0.2 + port(16e6, 1e10))),
    "random-loss": {
        **dict.fromkeys(("reno", "cubic"), PAYLOAD * sqrt(1.5 / 0.005) / RTT / PACKETS),
        "bbr": 0.995 * probing(16),
    },
    "varying-rate": {
        "reno": 7.71e6 * PAYLOAD,
        "cubic": 7.71e6 * PAYLOAD,
        "bbr": 1e6 * (7.71 - (climb(3, 9) + climb(9, 12) + climb(4, 8) + climb(6, 12)) / 14) * probing(10),
    },
    "delay-change": {
        "reno": (min(map(after_longer_delay, range(40, 81))), max(map(after_longer_delay, range(40, 81)))),
        "bbr": PAYLOAD * (1 - (1.2 * (1 - 80 / 117) + 0.3 + climb(80 / 117, 1, RTT + 0.08)) / 10),
    },
    "outage": {"bbr": (after_outage(6.04 + 1.4 + 0.056 * 10), after_outage(7))},
    "reordering": {"reno": PAYLOAD, "cubic": PAYLOAD, "bbr": probing(10)},
    "jitter": {"reno": (sawtooth(64, RENO), PAYLOAD), "cubic": PAYLOAD, "bbr": probing(10)},
    "rate-up": {
        "reno": (slow_growth(36.5, 1), 20e6 * PAYLOAD),
        "cubic": (slow_growth(51.1, FRIENDLY), 20e6 * PAYLOAD),
        "bbr": (1e6 * PAYLOAD * (20 - climb(2, 20) / 6), 20e6 * PAYLOAD),
    },
    "aggregation": {"reno": sawtooth(67, RENO, 51), "cubic": sawtooth(67, CUBIC, 51), "bbr": probing(10)},
}


def expected() -> Iterator[tuple[str, str, tuple[float, float]]]:
    for name, found in FIGURES.items():
        for control, law in found.items():
            yield name, control, law if isinstance(law, tuple) else (law, law)


def test_each_law_follows_from_the_path() -> None:
    for name, control, bounds in expected():
        law = cases()[name].laws[control].figure
        assert law is not None, (name, control)
        assert law.bounds == pytest.approx(bounds, rel=0.005), (name, control)


SHARES: Sequence[tuple[str, str, Prediction, bool]] = (  # case, reference, its law, and whether it is of the first flow
    ("far-flow", "reno", model.share_at_full_queue, False),
    ("far-flow", "cubic", model.share_at_full_queue, False),
    ("beside-cubic", "cubic", model.share_at_full_queue, True),
    ("beside-cubic", "reno", model.share_at_full_queue, True),
    ("beside-cubic", "bbr", model.share_beside_bbr, False),
    ("beside-reno", "reno", model.share_at_full_queue, True),
    ("beside-reno", "bbr", model.share_beside_bbr, False),
    ("beside-reno", "cubic", model.share_at_full_queue, True),
    ("own-share", "reno", model.share_at_full_queue, True),
    ("own-share", "cubic", model.share_at_full_queue, True),
    ("own-share", "bbr", model.share_beside_bbr, True),
)


@pytest.mark.parametrize(("name", "control", "predicted", "is_first"), SHARES)
def test_the_models_give_the_same_share(name: str, control: str, predicted: Prediction, is_first: bool) -> None:
    case = cases()[name]
    declared = next(each for each in case.study.cases() if each.arm == control)
    about = Scenario.of(declared.network, declared.path, KernelTraits(), declared.workload)
    low, high = predicted(about).bounds
    law = case.laws[control].figure
    assert law is not None
    assert law.bounds == pytest.approx((low, high) if is_first else (1 - high, 1 - low), abs=0.001)


OTHERS = {  # their bounds need more than a line: all queues at the moment of an outage, and a cubic from all phases
    *(("outage", control) for control in ("reno", "cubic")),
    ("delay-change", "cubic"),
}


def test_each_figure_of_a_law_is_computed_here() -> None:
    computed = {(name, control) for name, control, *_ in (*expected(), *SHARES)}
    stated = {(name, control) for name, case in cases().items() for control, law in case.laws.items() if law.figure}
    assert computed == stated - OTHERS


def test_each_reference_has_a_law_or_an_open_question() -> None:
    for name, case in cases().items():
        assert case.laws.keys() == case.references.keys() == {"reno", "cubic", "bbr"}, name
        for control, law in case.laws.items():
            off = law.off(case.references[control])
            assert law.open or (off is not None and abs(off) < 0.1), f"{name}, {control}: {off} off, and no question"
            assert law.figure is None or (law.because and law.source), (name, control)


@pytest.mark.parametrize(
    ("law", "measured", "off", "shown"),
    [
        (Value(0.9, "1"), (0.8, 1.0), 0.0, "within"),
        (Value(0.8, "1"), (1.0,), -0.2, "−20.0 %"),
        (Value(1.0001, "1"), (1.0,), 0.0001, "0.0 %"),
        (Value(2.0, "1", low=1.5, high=2.5), (1.0,), 0.5, "+50.0 %"),
        (Value(2.0, "1", low=1.5, high=2.5), (1.0, 3.0), 0.0, "within"),
        (None, (1.0,), None, "—"),
        (Value(1.0, "1"), (0.0,), None, "—"),
    ],
)
def test_how_far_a_law_is_off(law: Value | None, measured: tuple[float, ...], off: float | None, shown: str) -> None:
    found = laws.ReferenceLaw(law, "", "", "").off([Value(each, "1") for each in measured])
    assert found == (off if off is None else pytest.approx(off))
    assert display.off(found) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x/y: {reno: {open: why}}", "x/y: unknown case"),
        ("a/b: reno", "a/b: should be a mapping of congestion controls to laws"),
        ("a/b: {reno: 5}", "a/b: reno: should be a mapping with figure, because and source, or with open"),
        ("a/b: {reno: {}}", "a/b: reno: missing: figure, or open"),
        ("a/b: {reno: {figure: 1, source: s}}", "a/b: reno: missing: because"),
        ("a/b: {reno: {figur: 1}}", "a/b: reno: figur: unknown key; did you mean 'figure'?"),
        (
            "a/b: {reno: {figure: 1 ms, because: b, source: s}}",
            "a/b: reno: figure is in s, but the case's figure is without a unit",
        ),
        ("a/b: {reno: {figure: [2, 1], because: b, source: s}}", "the lowest and the highest figure, in one unit"),
        ("a/b: {reno: {figure: [1], because: b, source: s}}", "one figure, or a list of the lowest and the highest"),
        ("a/b: {cubik: {open: why}}", "a/b: cubik: unknown congestion control 'cubik'; did you mean 'cubic'?"),
        ("a/b: {',': {open: why}}", "unknown congestion control ''"),
        ("a/b: {'reno, cubic': {open: why}, reno: {open: why}}", "a/b: reno: reno is named twice"),
        ("a/b: {'reno, reno': {open: why}}", "reno is named twice"),
        ("a/b: {reno: {figure: .nan, because: b, source: s}}", "figure: should be a finite figure"),
        ("a/b: {reno: {figure: [0, .inf], because: b, source: s}}", "figure: should be a finite figure"),
        ("a/b: {reno: {figure: true, because: b, source: s}}", "figure: should be a figure"),
        ("a/b: {reno: {figure: 1, because: [1, 2], source: s}}", "because: should be a text"),
        ("a/b: {reno: {open: 5}}", "open: should be a text"),
        ("a/b: {reno: {figure: soon, because: b, source: s}}", "'soon' is not a rate"),
    ],
)
def test_a_mistake_has_its_line(text: str, message: str) -> None:
    (found,) = laws.mistakes(parse(f"# laws\n{text}\n", Path("laws.yaml")), {"a/b": "1"}, ["reno", "cubic"])
    assert message in found.message
    assert (found.file, found.line) == ("laws.yaml", 2)


def test_one_law_can_be_that_of_several_references() -> None:
    found = laws.read({"reno, cubic": {"figure": [1, 2], "because": "b", "source": "s"}, "bbr": {"open": "o"}})
    assert list(found) == ["reno", "cubic", "bbr"]
    assert found["reno"] is found["cubic"]
    assert (found["cubic"].figure, found["bbr"].figure) == (Value(1.5, "1", low=1, high=2), None)


def row(name: str, case: JudgeCase) -> str:
    """A case's line of the table in the guide."""
    cells = []
    for control, values in case.references.items():
        law = case.laws[control]
        mean = figure(Value(fmean(each.number for each in values), values[0].unit))
        cells.append(f"{mean} ({display.stated(law.figure) if law.figure else 'open'})")
    return f"| `{name}` | {' | '.join(cells)} |"


def test_the_guide_has_the_laws() -> None:
    guide = (ROOT / "docs/measurements/congestion-laws.md").read_text(encoding="utf-8")
    rows = [row(name, case) for name, case in cases().items()]
    assert [each for each in rows if each not in guide] == []


def test_the_guides_search_has_the_laws_figures() -> None:
    """A sawtooth from 48 packets, for each beta of the example in docs/congestion.md."""
    text = (ROOT / "docs/congestion.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (0\.\d0) \|.*\| (0\.\d{3}) \|$", text, re.MULTILINE)
    assert len(rows) == 5
    for beta, law in rows:
        left = min(float(beta), PATH / 48)  # with more, the pipe never runs empty
        assert f"{sawtooth(48, left):.3f}" == law, beta
