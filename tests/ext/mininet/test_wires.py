"""Mininet's parameters become a wire's, and two outputs of a script are compared line by line."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.ext.mininet.comparing import LinePair, differences
from lab.ext.mininet.exact.exact_link import FRAMES, direction_of, time_of
from lab.units import Duration, Rate

LINES = st.text(st.characters(codec="ascii", exclude_characters="\r\n\v\f\x1c\x1d\x1e"), max_size=60)


@pytest.mark.parametrize(
    ("text", "ns"),
    [("5ms", 5e6), ("1.5s", 1.5e9), ("10us", 1e4), ("7", 7), ("0.5msecs", 5e5), ("1e3us", 1e6), (3, 3)],
)
def test_times_are_as_tc_reads_them(text: object, ns: float) -> None:
    assert time_of(text) == Duration(int(ns))


@pytest.mark.parametrize("text", ["", "ms", "5 parsecs", "-1ms", "1.2.3ms", None, "5ms 1ms"])
def test_what_is_no_time_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"time|float"):
        time_of(text)


@given(st.text(max_size=20))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert time_of(text).ns >= 0


def test_a_wire_has_the_parameters_of_the_link() -> None:
    found = direction_of(bw=10, delay="5ms", jitter="1ms", loss=2, max_queue_size=50)
    assert (found.rate, found.delay, found.jitter) == (Rate.of("10 Mbit/s"), Duration.of("5 ms"), Duration.of("1 ms"))
    assert found.loss == pytest.approx(0.02)
    assert found.queue is not None
    assert (found.queue.kind, dict(found.queue.parameters)) == ("pfifo", {"limit": 49})  # and one on its way


@pytest.mark.parametrize(
    ("given", "kind", "limit"),
    [
        ({}, "pfifo", FRAMES - 1),
        ({"max_queue_size": 1}, "pfifo", 1),
        ({"max_queue_size": 83.3}, "pfifo", 82),
        ({"use_tbf": True, "latency_ms": 20}, "bfifo", "40000 B"),
        ({"use_tbf": True, "delay": "1ms"}, "pfifo", FRAMES - 1),  # Mininet's netem has its own limit
        ({"enable_red": True}, "red", "1000000 B"),
        ({"enable_ecn": True, "max_queue_size": 20}, "red", "30280 B"),
    ],
)
def test_a_rate_has_the_queue_that_mininet_gives_it(given: dict[str, object], kind: str, limit: object) -> None:
    queue = direction_of(bw=10, **given).queue  # type: ignore[arg-type]
    assert queue is not None
    assert (queue.kind, dict(queue.parameters)["limit"]) == (kind, limit)


def test_without_a_rate_nothing_queues() -> None:
    found = direction_of(delay="5ms", max_queue_size=5)
    assert (found.rate, found.queue) == (None, None)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"bw": 0}, "rate"),
        ({"bw": -1}, "rate"),
        ({"bw": 1e-8}, "rate"),
        ({"loss": 101}, "loss"),
        ({"loss": -1}, "loss"),
        ({"jitter": "1ms"}, "jitter needs a delay"),
        ({"max_queue_size": 0}, "at least one frame"),
    ],
)
def test_what_no_wire_can_have_is_refused(given: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        direction_of(**given)  # type: ignore[arg-type]


def test_numbers_stand_below_one_another_with_their_ratio() -> None:
    pair = LinePair("idle 20.0 ms, at most 135.0 ms", "idle 20.0 ms, at most 80.4 ms")
    assert pair.rows == ("idle 20.0 ms, at most 135.0 ms", "idle 20.0 ms, at most  80.4 ms", " " * 22 + " 0.60")


def test_names_and_addresses_are_words() -> None:
    pair = LinePair("10.0.0.1 at h1-eth0: 5", "10.0.0.2 at h1-eth0: 5")
    assert pair.rows == (pair.mininet, pair.exact, "")


def test_only_what_differs_is_shown() -> None:
    before = "start\nrate 9.4 Mbit/s\nwarning\nend\n"
    after = "start\r\nrate 9.1 Mbit/s\nend\n"
    assert list(differences(before, after)) == [LinePair("rate 9.4 Mbit/s", "rate 9.1 Mbit/s"), LinePair("warning", "")]


@given(st.lists(LINES), st.lists(LINES))
def test_every_difference_is_a_line_of_each_output(one: list[str], two: list[str]) -> None:
    found = list(differences("\n".join(one), "\n".join(two)))
    assert list(differences("\n".join(one), "\n".join(one))) == []
    for pair in found:
        assert pair.mininet in ["", *one]
        assert pair.exact in ["", *two]
        first, second, _ = pair.rows
        assert first.replace(" ", "") == pair.mininet.replace(" ", "")
        assert second.replace(" ", "") == pair.exact.replace(" ", "")
