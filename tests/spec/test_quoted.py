"""A quotation that contradicts its figure is a mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.spec.claimed import Reported
from lab.spec.quoted import contradiction, quantities
from lab.units import Value


@pytest.mark.parametrize(
    ("figure", "quote"),
    [
        ("758 Mbit/s", "0.0-10.0 sec   904 MBytes   758 Mbits/sec"),
        ("94.4 Mbit/s", "we see 94.4Mbps"),
        ("460 B", "no greater than 460 bytes"),
        ("20 B", "TCP header length is 20-bytes"),
        ("131 s", "after 131seconds"),
        ("400129781.25 us", "10000 packets of 30 bytes sent in 400129.781250 ms: 0.749757 bytes/ms"),
        ("64 KiB", "a window of 64 kB"),
        ("64 kB", "a window of 64 kB"),
        ("3145728 B", "3,145,728 bytes"),
        ("15 ms", "10 to 20 ms"),
        ("949 Mbit/s", "and 949 without"),
        ("0.944 s", "about 0.94 s"),
        (0.67, "a 33% decrease in 10 s"),
        ("1460 B", "win 65535, options [mss 1460"),
        ("1.5 s", "nach 1,5 s"),
    ],
)
def test_a_figure_that_its_words_print_or_do_not_concern(figure: str | float, quote: str) -> None:
    assert Reported(figure, quote).value == Value.of(figure)


@pytest.mark.parametrize(
    ("figure", "quote", "printed"),
    [
        ("941 Mbit/s", "carries 914 Mbit/s", "914 Mbit/s"),
        ("941 Mbit/s", "carries 941 kbit/s", "941 kbit/s"),
        ("27 s", "about 27 ms, not 28 ms", "27 ms and 28 ms"),
        ("460 B", "no greater than 1460 bytes", "1460 bytes"),
        ("0.95 s", "about 0.94 s", "0.94 s"),
        ("25 ms", "10 to 20 ms", "10 to 20 ms"),
    ],
)
def test_a_figure_that_its_words_contradict(figure: str, quote: str, printed: str) -> None:
    with pytest.raises(ValueError, match=f"but the quotation has {printed}; correct one of them"):
        Reported(figure, quote)


@given(st.text(max_size=200), st.sampled_from(["bit/s", "s", "B", "1"]))
def test_any_text_can_be_a_quotation(quote: str, unit: str) -> None:
    assert all(low <= high for each in quantities(quote, unit) for low, high in each.ranges)


@given(st.integers(1, 10**9), st.sampled_from(["Mbit/s", "kbit/s", "ms", "s", "B", "KiB"]))
def test_a_figure_agrees_with_itself_and_not_with_its_triple(number: int, unit: str) -> None:
    assert contradiction(Value.of(f"{number} {unit}"), f"so: {number} {unit}.") == ""
    assert contradiction(Value.of(f"{3 * number} {unit}"), f"so: {number} {unit}.") != ""
