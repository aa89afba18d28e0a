"""Quantities survive their text exactly, compare by size, and refuse what they are not."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.units import Duration, Quantity, Rate, Size, UnitError, Value, from_plain, to_plain

KINDS = (Rate, Duration, Size)
kinds = st.sampled_from(KINDS)
amounts = st.integers(0, 10**15)


@given(kinds, amounts)
def test_of_is_the_inverse_of_str(kind: type[Quantity], base: int) -> None:
    quantity = kind(base)
    assert kind.of(str(quantity)) == quantity


@given(kinds, amounts, amounts)
def test_quantities_order_as_their_amounts(kind: type[Quantity], one: int, other: int) -> None:
    assert (kind(one) < kind(other)) == (one < other)
    assert (kind(one) == kind(other)) == (one == other)
    assert (hash(kind(one)) == hash(kind(other))) or one != other


@given(kinds, st.integers(0, 10**6), st.data())
def test_every_unit_counts_its_base_units(kind: type[Quantity], number: int, data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(sorted(kind.units)))
    assert kind.of(f"{number} {unit}").base == number * kind.units[unit]
    assert kind.of(f"{number}{unit}") == kind.of(f" {number}  {unit} ")


@given(kinds, amounts)
def test_copies_are_equal(kind: type[Quantity], base: int) -> None:
    quantity = kind(base)
    assert copy.deepcopy(quantity) == quantity == pickle.loads(pickle.dumps(quantity))


@given(kinds, st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_unit_error(kind: type[Quantity], text: str) -> None:
    try:
        quantity = kind.of(text)
    except UnitError:
        return
    assert kind.of(str(quantity)) == quantity


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Rate, "-1 Mbit/s", "rate '-1 Mbit/s' is negative"),
        (Rate, "100", "lacks a unit: use one of Tbit/s"),
        (Rate, "1 Mbps", "unknown unit 'Mbps'"),
        (Duration, "0.5 ns", "finer than one ns"),
        (Duration, "soon", "write it like '10 ms'"),
        (Size, "1 b", "unknown unit 'b'"),
    ],
)
def test_errors_name_the_text_and_the_cure(kind: type[Quantity], text: str, message: str) -> None:
    with pytest.raises(UnitError, match=message):
        kind.of(text)


def test_kinds_do_not_mix() -> None:
    assert Rate(1) != Duration(1)
    with pytest.raises(TypeError):
        assert Rate(1) < Duration(1)  # type: ignore[operator]


def test_a_quantity_does_not_change() -> None:
    with pytest.raises(AttributeError):
        Rate(1).base = 2


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Rate(10**9), "1 Gbit/s"),
        (Rate(2_500_000_000), "2.5 Gbit/s"),
        (Rate(941_482_444), "941482.444 kbit/s"),
        (Duration(10**8), "100 ms"),
        (Duration(0), "0 ns"),
        (Size(1500), "1500 B"),
        (Size(65536), "64 KiB"),
    ],
)
def test_text_is_what_a_person_would_write(quantity: Quantity, text: str) -> None:
    assert str(quantity) == text


@given(st.integers(1, 10**12), st.integers(0, 10**9))
def test_serialisation_time_is_exact(bps: int, size: int) -> None:
    assert Rate(bps).time_for(Size(size)) == Fraction(8 * size, bps)


@pytest.mark.parametrize(
    ("figure", "number", "unit"),
    [
        ("927 Mbit/s", 927e6, "bit/s"),
        ("9.39 Gbit/s", 9.39e9, "bit/s"),
        ("32 B", 32, "B"),
        ("40 ms", 0.04, "s"),
        (0, 0, "1"),
        (Duration.of("10 ms"), 0.01, "s"),
    ],
)
def test_a_figure_has_a_base_unit(figure: str | float | Quantity, number: float, unit: str) -> None:
    value = Value.of(figure)
    assert value.number == pytest.approx(number)
    assert value.unit == unit


def test_a_value_refuses_other_units() -> None:
    with pytest.raises(UnitError):
        Value(1.0, "ms")
    with pytest.raises(UnitError):
        Value.of("12 parsecs")


class _Pair(msgspec.Struct, frozen=True):
    rate: Rate
    delay: Duration | None


@given(amounts, st.none() | amounts)
def test_plain_data_gives_the_struct_back(rate: int, delay: int | None) -> None:
    pair = _Pair(Rate(rate), None if delay is None else Duration(delay))
    assert from_plain(json.loads(json.dumps(to_plain(pair))), _Pair) == pair


def test_a_ratio_has_no_unit() -> None:
    assert Value(30, "s").over(Value(60, "s")) == Value(0.5, "1")
    assert Value(30, "s").over(Value(0, "s")) is None
    with pytest.raises(UnitError):
        Value(30, "s").over(Value(1, "B"))


@given(st.floats(0.1, 1e9), st.floats(0.1, 1e9), st.floats(0, 0.9), st.floats(0, 0.9))
def test_a_ratio_holds_that_of_any_two_figures_within_the_bounds(
    a: float, b: float, share: float, other: float
) -> None:
    ratio = Value(a, "s").within(share).over(Value(b, "s").within(other))
    assert ratio is not None
    low, high = ratio.bounds
    for top in Value(a, "s").within(share).bounds:
        for bottom in Value(b, "s").within(other).bounds:
            assert low * (1 - 1e-12) <= top / bottom <= high * (1 + 1e-12)
    assert (share == other == 0) == (ratio.low is None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Duration, "1e30 s"), (Duration, "18446744073709551616 ns"), (Rate, "1e30 Gbit/s"), (Size, "9e9 GiB")],
)
def test_what_the_kernel_cannot_count_is_refused(kind: type[Quantity], text: str) -> None:
    with pytest.raises(UnitError, match="is more than the kernel can count: at most"):
        kind.of(text)
    assert kind.of(str(kind(kind.most))).base == kind.most
