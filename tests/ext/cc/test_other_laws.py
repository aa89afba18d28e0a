"""The laws of the congestion controls that are no references: a figure or "open" for each cell of the nine cards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from math import sqrt
from pathlib import Path

import pytest

from lab.ext.cc import flows
from lab.ext.cc.cases import JudgeCase
from lab.units import Value
from tests.ext.cc.cards import shipped_pack
from tests.ext.cc.path_laws import HELD, PACKETS, PATH, PAYLOAD, RENO, RTT, SLOW, queue, sawtooth, slow_growth

ROOT = Path(__file__).parents[3]
OTHERS = ("dctcp", "vegas", "htcp", "illinois", "westwood", "hybla")
NEAR = 10.0  # points between a law and a measurement
FULL = 20e6 * PAYLOAD
Law = float | tuple[float, float]


@cache
def quick_cases() -> Mapping[str, JudgeCase]:
    """The pack's quick cases by name."""
    return {case.name.partition("/")[2]: case for case in shipped_pack().cases if case.is_quick}


def shares(one: float, other: float) -> float:
    """Jain's index of two flows with these packets in the queue."""
    return (one + other) ** 2 / (2 * (one**2 + other**2))


def latecomer(first: float, target: float) -> float:
    """Packets in the queue of a Vegas flow that takes the queue of the first flow for a part of the path."""
    own = target
    for _ in range(100):
        own = target + first * own / (first + own)
    return own


def mean_of_growth(low: float, high: float) -> float:
    """Mean over time of a window that grows by a packet in each round trip, which takes window / rate."""
    return 2 / 3 * (high**3 - low**3) / (high**2 - low**2)


def one_by_one(before: float, after: float, held: float = 3) -> float:
    """Packets that a window misses that grows by one packet in each round trip, after the rate has grown."""
    missing = max(0.0, PATH / 12 * (after - before) - held)
    return missing**2 / 2


def lost(growth: float, left: float, top: float = 15) -> float:
    """Share of packets that are lost if each sawtooth up to this window loses one."""
    return 2 * growth / ((1 - left**2) * top**2)


NEAR_RTT = 0.041 / 0.0615  # H-TCP's part of a window that is left: the smallest round trip over the largest
SLOW_TOP = 66 + HELD  # packets that path and buffer hold at 2 Mbit/s
LATER = (
    sqrt(SLOW_TOP**2 - 2 * SLOW * 2),
    sqrt(SLOW_TOP**2 - 2 * SLOW * 10),
)  # one packet less each round trip, 8 s, 16 s
VEGAS_RATE = (7.71 - (2 * one_by_one(3, 9) + one_by_one(9, 12) + one_by_one(4, 8)) / PACKETS * 12 / 14) * 1e6 * PAYLOAD
TRIES = (0.739, 0.904)  # of the case outage, with Reno
LAWS: Mapping[str, Mapping[str, Law]] = {
    "one-flow": dict.fromkeys(OTHERS, PAYLOAD),
    "shallow-buffer": {
        **dict.fromkeys(("dctcp", "hybla"), sawtooth(48, RENO)),
        "vegas": PAYLOAD,
        "htcp": sawtooth(48, 0.8),
    },
    "bufferbloat": {
        **dict.fromkeys(("dctcp", "hybla"), queue(7 / 9 * 240)),
        "illinois": (queue(7 / 9 * 240), queue(240)),
        "westwood": queue(mean_of_growth(sqrt(PATH**2 + 2 * PACKETS * 4), sqrt(PATH**2 + 2 * PACKETS * 18))),
    },
    "ecn": dict.fromkeys(OTHERS, (0, 5e-3)),
    "rate-down": {
        **dict.fromkeys(("dctcp", "hybla"), queue(7 / 9 * SLOW_TOP, HELD, SLOW)),
        "vegas": queue((LATER[0] ** 3 - LATER[1] ** 3) / (3 * SLOW * 8), HELD, SLOW),
        "htcp": (queue(SLOW_TOP / 2, HELD, SLOW), queue(7 / 9 * SLOW_TOP, HELD, SLOW)),
        "illinois": (queue(7 / 9 * SLOW_TOP, HELD, SLOW), queue(15 / 16 * SLOW_TOP, HELD, SLOW)),
    },
    "loss-rate": {
        "dctcp": lost(1, RENO),
        "vegas": 0,
        "htcp": lost(2 * (1 - NEAR_RTT), NEAR_RTT),
        "westwood": lost(1, 10 / 15),
    },
    "collapse": dict.fromkeys(OTHERS, (0.00323, 0.0524)),
    "even-pair": {"vegas": (shares(2, 4), 1)},
    "late-flow": {"vegas": (shares(2, latecomer(2, 4)), 1)},
    "far-flow": {"dctcp": (0.195, 0.33), "vegas": (2 / 6, 4 / 6)},
    "beside-cubic": {"vegas": (0.5, 1)},
    "own-share": {},
    "l4s": {"dctcp": 1, "htcp": (shares(1, sqrt(1.8 / 1.5)), 1)},
    "short-beside-long": {"dctcp": 0.092 + 2 * queue(7 / 9 * 160)},
    "short-transfers": dict.fromkeys(("dctcp", "vegas", "htcp", "illinois", "westwood"), 4 * RTT - 5e-3 + 74 / PACKETS),
    "incast": dict.fromkeys(OTHERS, (8.7e-3, 208.7e-3)),
    "random-loss": dict.fromkeys(("dctcp", "vegas"), PAYLOAD * sqrt(1.5 / 0.005) / RTT / PACKETS),
    "varying-rate": {
        **dict.fromkeys(("dctcp", "htcp", "illinois", "hybla"), 7.71e6 * PAYLOAD),
        "vegas": VEGAS_RATE,
    },
    "outage": {
        **dict.fromkeys(("dctcp", "htcp", "illinois", "westwood", "hybla"), TRIES),
        "vegas": tuple(each - PAYLOAD * one_by_one(6, 12, 1) / (6 * PACKETS) for each in TRIES),  # type: ignore[dict-item]
    },
    "rate-up": {
        **dict.fromkeys(("dctcp", "htcp", "hybla"), (slow_growth(36.5, 1), FULL)),
        "vegas": (slow_growth(HELD + 2, 1), slow_growth(HELD + 4, 1)),
        "illinois": (slow_growth(36.5, 0.3), FULL),
        "westwood": (slow_growth(HELD, 1), FULL),
    },
}


def points(case: JudgeCase, law: Law) -> tuple[float, float]:
    """The lowest and the highest points of a law's figures."""
    buffer = flows.buffer_time(flows.bottleneck(case.study))
    ends = law if isinstance(law, tuple) else (law, law)
    low, high = sorted(case.scale.points(Value(each, case.scale.all.unit), buffer) for each in ends)
    return low, high


def cell(case: JudgeCase, law: Law | None) -> str:
    if law is None:
        return "open"
    low, high = (f"{abs(each):.0f}" for each in points(case, law))
    return low if low == high else f"{low} to {high}"


def row(name: str) -> str:
    return f"| `{name}` | {' | '.join(cell(quick_cases()[name], LAWS[name].get(control)) for control in OTHERS)} |"


def measured() -> Mapping[str, Mapping[str, float]]:
    """The points of the nine cards, as the guide has them."""
    text = (ROOT / "docs/measurements/congestion.md").read_text(encoding="utf-8")
    head = re.search(r"^\| case \| (reno \| cubic \| .*) \|$", text, re.MULTILINE)
    assert head
    controls = head[1].split(" | ")
    found = re.findall(r"^\| `([\w-]+)` \| ((?:\d+ \| )+\d+) \|$", text, re.MULTILINE)
    return {name: dict(zip(controls, map(float, cells.split(" | ")), strict=True)) for name, cells in found}


def test_each_quick_case_has_a_law_or_an_open_question_for_each_of_the_others() -> None:
    text = (ROOT / "docs/measurements/congestion-laws.md").read_text(encoding="utf-8")
    assert LAWS.keys() == quick_cases().keys()
    assert [name for name in quick_cases() if row(name) not in text] == []


@pytest.mark.parametrize("control", OTHERS)
def test_a_law_is_near_the_card(control: str) -> None:
    cards = measured()
    for name, laws in LAWS.items():
        if control in laws:
            low, high = points(quick_cases()[name], laws[control])
            assert low - NEAR <= cards[name][control] <= high + NEAR, name


def test_open_cells_are_counted_in_the_guide() -> None:
    text = (ROOT / "docs/measurements/congestion-laws.md").read_text(encoding="utf-8")
    count = sum(control not in laws for laws in LAWS.values() for control in OTHERS)
    assert f"{count} of {len(OTHERS) * len(quick_cases())} cells are open" in " ".join(text.split())
