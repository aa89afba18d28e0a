"""Figures and errors as pages write them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from lab import metric
from lab.report import html, quantity, wording
from lab.report.labels import LABELS
from lab.report.tally import worst
from lab.spec.tolerance import Absolute, AtMost, Within
from lab.units import Value
from lab.verdict import Kind, model_error


@pytest.mark.parametrize(
    ("number", "unit", "said"),
    [
        (44_018.2, "1", "44,020"),
        (1_036_400.5, "1", "1,036,000"),
        (1551.5, "1", "1,552"),
        (0.072464, "1", "0.07246"),
        (19_804.4, "s", "19,800 s"),
        (7875.18, "s", "7875 s"),
        (9.4154e9, "bit/s", "9.415 Gbit/s"),
        (1448.0, "B", "1,448 B"),
    ],
)
def test_a_figure_has_four_digits_and_no_exponent(number: float, unit: str, said: str) -> None:
    assert wording.figure(Value(number, unit)) == said


def test_a_quantity_of_one_flow_is_called_as_by_itself() -> None:
    whole, part = metric.bulk_goodput(), metric.of_flow("early", metric.bulk_goodput())
    assert quantity.quantity(part) == quantity.quantity(whole)
    assert ">goodput</span>" in quantity.quantity(whole)


def test_a_quantity_is_called_by_what_it_counts_and_not_by_how_it_is_found() -> None:
    assert ">Jain's index</span>" in quantity.quantity(metric.jain_index(0, 1))
    assert ">connections</span>" in quantity.quantity(metric.program_json("connections"))
    assert ">end bytes acked</span>" in quantity.quantity(metric.program_json("end", "bytes_acked", unit="B"))
    assert ">TcpExt.TCPLossUndo</span>" in quantity.quantity(metric.counted("TcpExt.TCPLossUndo"))
    assert ">share of payload that was sent again</span>" in quantity.quantity(metric.retransmitted_share())


def test_behind_a_number_stands_what_it_is_of() -> None:
    """'105 dropped frames', '0.8648 of the ACKs give an RTT sample'."""
    assert ">dropped frames</span>" in quantity.of_number(metric.drops(), 105)
    assert ">dropped frame</span>" in quantity.of_number(metric.drops(), 1)
    assert ">data packet per message</span>" in quantity.of_number(metric.data_packets(), 1)
    assert ">of the ACKs give an RTT sample</span>" in quantity.of_number(metric.rtt_samples(), 0.8648)


def test_every_metric_has_a_name_that_can_be_read_aloud() -> None:
    made = [getattr(metric, name) for name in metric.__all__]
    names = [each.__name__ for each in made if "Measure" in str(getattr(each, "__annotations__", {}).get("return"))]
    assert len(names) > 50
    own = {"counted", "program_json", "program_match"}  # whose argument names the quantity
    assert {name for name in names if name != "of_flow" and name not in quantity._NAMES} == own
    assert {*quantity._NAMES} <= {*names}


def test_a_tolerance_has_no_exponent_and_is_kept_in_one_line() -> None:
    assert html.allowed(Absolute(1e-9, because="none")) == "within 10⁻⁹"
    assert html.allowed(Absolute(2.5e-7, because="none")) == "within 2.5 × 10⁻⁷"
    assert html.allowed(Within(0.1, because="so")) == "within 10\N{NO-BREAK SPACE}%"


def test_the_link_of_a_heading_never_stands_alone_in_a_line() -> None:
    assert "so.\N{NO-BREAK SPACE}<a " in html.heading("so", "It is so.")


def test_the_sign_of_a_bound_stays_with_its_figure() -> None:
    assert html.prose("≤ 5 ms or > 1") == "≤\N{NO-BREAK SPACE}5\N{NO-BREAK SPACE}ms or &gt;\N{NO-BREAK SPACE}1"


def test_a_metric_of_several_arms_is_explained_once() -> None:
    said = quantity.measured([metric.most_in_flight("a", 0, 1), metric.most_in_flight("a", 0, 2)])
    assert said.count("<code>most_in_flight(") == 2
    assert said.count("Measure the largest number of segments") == 1


def result(predicted: float, measured: float, unit: str = "s", off: bool = False) -> Any:
    values = Value(predicted, unit), Value(measured, unit)
    return SimpleNamespace(
        predicted=values[0],
        measured=values[1],
        model_error=model_error(*values),
        model_is_off=off,
        standing="off" if off else "holds",
        accuracy=Absolute("1 us", because="it says so"),
        is_ratio=False,
    )


def test_next_to_a_prediction_of_zero_the_difference_is_the_error() -> None:
    assert wording.off_by(result(0, 1e-6)) == "−1.000 µs"
    assert wording.off_by(result(1.01, 1)) == "+1.00 %"
    assert wording.off_by(result(0, 0)) == "0 %"


def test_a_predicted_interval_is_shown_from_end_to_end() -> None:
    timed = result(131, 134.6)
    timed.predicted = Value(131, "s", 131, 137.1)
    assert wording.foreseen(timed) == "131.0 s to 137.1 s"


def test_what_a_bound_leaves_room_for_is_no_error() -> None:
    found = [result(1, 0.2), result(1.01, 1)]
    found[0].accuracy = AtMost(because="the law is a bound")
    assert worst([SimpleNamespace(results=found)]) is found[1]  # type: ignore[list-item]
    assert wording.off_by(found[0]) == "holds"
    assert wording.foreseen(found[0]) == "≤ 1.000 s"


def test_a_bound_that_fails_is_off_by_as_much_as_any_prediction() -> None:
    failed = result(1, 1.25, off=True)
    failed.accuracy = AtMost(because="the law is a bound")
    assert wording.off_by(failed) == "−25.00 %"
    assert wording.foreseen(result(1, 1.25)) == "1.000 s"


def test_no_sign_has_two_meanings() -> None:
    signs = [re.sub("<[^>]*>", "", html.sign(kind)) for kind in get_args(Kind)]
    assert len({*signs}) == len(signs)
    marks = {}
    for standing in ("off", "undecided"):
        shown = result(1.25, 1)
        shown.standing = standing
        marks[standing] = re.sub("<[^>]*>", "", html.model_error(shown))
    assert marks == {"off": "+25.00 % !", "undecided": "+25.00 % (undecided)"}
    assert "!" not in signs
    legend = html.legend()
    assert "<dt>!</dt><dd>beside a model error" in legend
    assert "<dt>⊘\N{NO-BREAK SPACE}invalid</dt>" in legend


def test_the_label_of_the_model_error_gives_its_sign_and_formula() -> None:
    label = LABELS["model error"]
    assert "predicted ÷ measured − 1, with a plus, if the prediction is too large" in label
    assert wording.off_by(result(1.2, 1)) == "+20.00 %"
    assert "measured ÷ predicted − 1, with a minus, if it is too small" in label
    assert wording.off_by(result(1, 1.2)) == "−20.00 %"
    assert "from 100 % on, the factor itself" in label
    assert (wording.off_by(result(3, 1)), wording.off_by(result(1, 3))) == ("× 3", "÷ 3")


def test_the_largest_error_is_not_that_of_a_prediction_of_zero() -> None:
    found = [result(0, 1e-6), result(1.01, 1), result(1, 1)]
    assert worst([SimpleNamespace(results=found)]) is found[1]  # type: ignore[list-item]
    found.append(result(0, 5, off=True))
    assert worst([SimpleNamespace(results=found)]) is found[-1], "unless it is off"  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("RFC 9293, 3.8.6.3", "RFC 9293 §3.8.6.3"),
        ("RFC 7323 5", "RFC 7323 §5"),
        ("RFC 5681, section 4.2", "RFC 5681 §4.2"),
        ("RFC 791, 8200, 9293", "RFC 791, 8200, 9293"),
        ("40 us, 3 x 4", "40 µs, 3 × 4"),
    ],
)
def test_a_section_of_an_rfc_is_not_another_rfc(written: str, printed: str) -> None:
    assert wording.typeset(written) == printed


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("8 % of 10 Mbit/s in 40 us", "8_% of 10_Mbit/s in 40_µs"),
        ("3 ms, 2 min and 1.5 MB", "3_ms, 2_min and 1.5_MB"),
        ("10 segments, 5 minutes, 2 bits", "10 segments, 5 minutes, 2 bits"),
        ("run `ping -W 3 host` for 2 s", "run <code>ping -W 3 host</code> for 2_s"),
        ("`sleep 2 s` is 2 s", "<code>sleep 2 s</code> is 2_s"),
        ("0 < 1 s & more", "0 &lt;_1_s &amp; more"),
    ],
)
def test_a_figure_and_its_unit_stay_in_one_line(written: str, shown: str) -> None:
    """The underscores are spaces at which no line breaks. What is code stays as it is, to be copied."""
    assert html.prose(written) == shown.replace("_", "\N{NO-BREAK SPACE}")
