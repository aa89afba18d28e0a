"""Figures out of records: traceable, the same each time, and a sentence where there is nothing to draw."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.path import Path as LinePath
from matplotlib.text import Annotation, Text

import lab
from lab.errors import InputError
from lab.metric.packets import Packets
from lab.report import figures
from lab.report.article import Article
from lab.report.claim import Claim
from lab.report.drawing import Label, LivePicture, Picture, axes, heading, labels
from lab.report.figures.scale import NotBetween, between
from lab.report.html import Html
from lab.report.traffic import traffic_of
from lab.units import Value
from lab.verdict.sample import Sample
from tests.model.scenarios import hop, scenario
from tests.report.conftest import Keep

SMALL_WRITES = """
from lab import Arm, Capture, Experiment, Reported, SmallWrites, Within, metric, model

EXPERIMENT = Experiment(
    topology="symmetric-1g",
    links={"path": {"delay": "200 us"}},
    workload=SmallWrites(messages=20),
    probes=(Capture(node="sender"),),
    metric=metric.message_latency(),
    prediction=model.message_latency,
    arms=(Arm("plain", Reported("40 ms", "it says so")),),
    tolerance=Within(0.05, because="it is made up"),
)
"""

Toy = Callable[[], Article]
Draw = Callable[[Claim], Html]


def io_graph(claim: Claim) -> Html:
    return figures.io_graph(claim, start=0.1)


def ack_rates(claim: Claim) -> Html:
    return figures.ack_rates(claim, start=0, end=0.1)


DRAWN: list[tuple[Draw, str]] = [
    (figures.header_lengths, "header"),
    (figures.frame, "header"),
    (figures.goodput, "header"),
    (figures.goodput, "rate"),
    (figures.windows, "header"),
    (io_graph, "header"),
    (figures.limits, "sweep"),
    (figures.heatmap, "sweep"),
    (figures.sweep, "sweep"),
    (figures.bars, "rate"),
    (figures.ack_delay_series, "header"),
    (figures.acks_behind_hole, "header"),
    (ack_rates, "header"),
    (figures.flow, "header"),
]


@pytest.mark.long
@pytest.mark.parametrize(("draw", "claim"), DRAWN, ids=lambda each: getattr(each, "__name__", each))
def test_a_figure_is_traceable_and_always_the_same(toy: Toy, draw: Draw, claim: str) -> None:
    drawn = toy()[claim]
    shown, again = draw(drawn), draw(toy()[claim])
    assert isinstance(shown, Picture)
    assert isinstance(again, Picture)
    assert shown.text == again.text
    assert shown.png == again.png
    assert shown.png.startswith(b"\x89PNG")
    assert shown.name.startswith(f"toy.{claim}.")
    for record in drawn.judged.records:
        if not re.search(r"io-graph|flow", shown.name) or record.trial.arm == "on":
            assert f"results/{record.address[:2]}/{record.address}/" in shown.text
            assert record.address[:12] in shown.text
    assert "seed 1" in shown.text
    assert "7.2.13-1" in shown.text


def test_without_a_record_a_figure_says_so(toy: Toy) -> None:
    unrun = toy()["unrun"]
    for draw in (*dict(DRAWN), figures.counters):
        text = draw(unrun).text
        assert "skipped" in text, draw
        assert "lab run toy/unrun" in text, draw


def test_a_record_that_lacks_what_a_figure_needs(toy: Toy) -> None:
    assert "no capture" in figures.header_lengths(toy()["rate"]).text


@pytest.mark.long
def test_acks_in_words(toy: Toy) -> None:
    header = toy()["header"]
    assert "on: 5 ACKs for 69 segments" in figures.acks_behind_hole(header, "on").text
    drawn = figures.ack_rates(header, "on", start=0, end=0.1).text
    assert 'aria-label="on: 2.5 segments per ACK from 0 to 100 ms"' in drawn, "the time is named"
    assert "on: 0 to 20" in figures.ack_delay_series(header, "on").text
    assert "100\N{NO-BREAK SPACE}µs was not run" in figures.ack_rates(header, "on", point="100 us").text


@pytest.mark.long
def test_a_heat_map_has_a_cell_for_every_pair(toy: Toy) -> None:
    text = figures.heatmap(toy()["sweep"], rows="tcp_wmem", of="drops").text
    assert "drops by tcp_wmem and limit, frames: only at 2: 1; only at 5000: 0" in text
    assert "Framed: the claim's figures" in text


def test_a_claim_without_a_sweep_has_no_curve(toy: Toy) -> None:
    assert "no sweep" in figures.sweep(toy()["header"]).text


def test_between_two_scenarios_every_number_lies_between() -> None:
    low, middle, high = (
        scenario(hop(f"{rate} Mbit/s", f"{5 + 5 * rate} ms", loss=(rate - 1) / 4), rcvbuf=rate << 20)
        for rate in (1, 2, 3)
    )
    assert between(low, high, 0.5) == middle
    assert between({"rmem": "4096 100 200"}, {"rmem": "4096 100 400"}, 0.25) == {"rmem": "4096 100 250"}
    assert between((1, "0.5 s"), (3, "1.5 s"), 0.5) == (2, "1.0 s")
    apart: tuple[tuple[object, object], ...] = (("1 ms", "1 s"), (False, True), ((1,), (1, 2)), (None, 1))
    for one, other in apart:
        with pytest.raises(NotBetween, match="there is nothing between"):
            between(one, other, 0.5)


def test_counters(toy: Toy) -> None:
    text = figures.counters(toy()["header"]).text
    rows = re.findall(r'data-label="Arm">(.*?)</th><td role="cell" data-label="Source">', text)
    assert {"on", "longer"} <= {*rows}, "each row names its arm"
    assert "1,234 packets" in text
    assert "0 dropped" in text
    assert "2 retransmissions" in text
    assert "0 retransmitted" in text


@pytest.mark.long
def test_acks_that_are_drawn_and_acks_that_are_measured_are_told_apart(here: Path, keep: Keep) -> None:
    """A table's figure of one time and a drawing's of another are two figures: each has its time beside it."""
    file = here / "experiments" / "toy" / "header.py"
    text = file.read_text().replace("metric.header_length()", "metric.segments_per_ack(0.001, 0.06)")
    for was, now in (("model.tcp_header_length", "None"), ('"20 B"', "2"), ('"32 B"', "3")):
        text = text.replace(was, now)
    file.write_text(text)
    keep("header")
    claim = lab.load("toy/header", results="results")[0]
    measured = claim.results[0].measured
    assert measured
    drawn = figures.ack_rates(claim, "on", start=0, end=0.1).text
    said = f"1 ACK for {measured.number:.4g} measured, from 1 to 60 ms"
    assert f'aria-label="on: 2.5 segments per ACK from 0 to 100 ms, {said}"' in drawn
    assert f"on: {said}</text>" in drawn.replace("\N{NO-BREAK SPACE}", " ")
    assert "ACKs, 1 for 2.5 in 100 ms</text>" in drawn


def test_a_figure_is_saved_as_its_name_ends_or_not_at_all(toy: Toy, tmp_path: Path) -> None:
    drawn = figures.goodput(toy()["header"])
    for name in ("window.jpg", "window", "window.SVG"):
        with pytest.raises(InputError, match=r"use a name that ends in .png or .svg$"):
            drawn.save(tmp_path / name)
        assert not (tmp_path / name).exists(), name


@pytest.mark.long
def test_a_caption_names_every_seed(toy: Toy, keep: Keep) -> None:
    """In the order of seeds, whichever trial ended first."""
    toy()
    (plain,) = lab.load("toy/rate", results="results")
    assert "seed 1." in figures.bars(plain).text
    file = Path("experiments/toy/rate.py")
    file.write_text(file.read_text().replace("arms=(", "samples=3, arms=("))
    for seed in (3, 1, 2):
        keep("rate", seed=seed)
    (claim,) = lab.load("toy/rate", results="results")
    assert [record.trial.seed for record in claim.records] == [1, 2, 3]
    assert "seeds 1-3, n = 3." in figures.bars(claim).text


@pytest.mark.long
def test_the_users_settings_do_not_matter(toy: Toy) -> None:
    import matplotlib as mpl

    plain = figures.goodput(toy()["header"]).text
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30}):
        assert figures.goodput(toy()["header"]).text == plain


def test_a_capture_is_reduced_to_what_its_packets_say(toy: Toy) -> None:
    record = toy()["header"].judged.records[0]
    traffic = traffic_of(record)
    assert 0 < traffic.segments <= traffic.data.value.sum()
    assert traffic.header_lengths == {32: traffic.segments}
    assert traffic.inflight.value.max() <= traffic.rwnd.value.max()
    means = traffic.goodput.means(2)
    assert means.value[0] == pytest.approx(traffic.goodput.value[:2].mean())


def test_in_a_report_links_stay_in_its_folder(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.report.notebooks.in_report", lambda: True)
    header = toy()["header"]
    assert f'href="trials/{header.records[0].address}/index.html"' in figures.goodput(header).text


def test_a_figure_on_a_page_has_text_and_the_pages_colours(toy: Toy) -> None:
    text = figures.goodput(toy()["header"]).text
    assert re.search(r"<text[^>]*>[^<]*goodput", text)
    assert "var(--ink, #1a1a1a)" in text
    for name in re.findall(r"""(?:url\(#|href="#)([^")]+)""", text):
        assert f' id="{name}"' in text, "what a figure refers to is its own"


@pytest.mark.long
@pytest.mark.parametrize("draw", [figures.header_lengths, figures.ack_delay_series, ack_rates, figures.frame])
def test_every_word_of_a_figure_can_be_read_in_dark_colours(toy: Toy, draw: Draw) -> None:
    words = re.findall(r"<text[^>]*>", draw(toy()["header"])._repr_html_())
    assert words
    assert [word for word in words if "fill: var(--" not in word] == []


@pytest.fixture
def written(toy: Toy, here: Path, keep: Callable[..., object]) -> Claim:
    """A claim on small writes, with the record of 20 messages."""
    text = '"""Small writes stall."""\n' + SMALL_WRITES
    (here / "experiments" / "toy" / "small.py").write_text(text)
    keep("small")
    return toy()["small"]


MESSAGES: list[Draw] = [
    figures.message_latencies,
    figures.message_packets,
    lambda claim: figures.message_sequence(claim, "plain"),
]


@pytest.mark.long
@pytest.mark.parametrize("draw", MESSAGES)
def test_small_writes_are_drawn_the_same_each_time(written: Claim, draw: Draw) -> None:
    shown = draw(written)
    assert isinstance(shown, Picture)
    assert shown.text == draw(written).text
    assert all(record.address[:12] in shown.text for record in written.judged.records)


@pytest.mark.long
def test_small_writes_in_words(written: Claim) -> None:
    assert "plain: 41 ms" in figures.message_latencies(written).text
    packets = figures.message_packets(written).text
    assert "plain, client: data: 2; plain, server: answer: 1; plain, server: pure ACK: 2" in packets
    sequence = figures.message_sequence(written, "plain").text
    assert "0 µs 2 B (seq 301:303, ack 21); " in sequence
    assert " 28 B (seq 303:331, ack 21); " in sequence


@pytest.fixture
def drawn_figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are drawn, as matplotlib's objects."""
    found: list[Figure] = []
    save = Figure.savefig

    def noted(figure: Figure, *args: Any, **kwargs: Any) -> None:
        found.append(figure)
        save(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", noted)
    return found


@pytest.mark.long
def test_no_text_of_a_packet_diagram_lies_across_an_arrow(written: Claim, drawn_figures: list[Figure]) -> None:
    """A page scales the whole drawing, so that what is apart here is apart at every width."""
    figures.message_sequence(written, "plain")
    (panel,) = drawn_figures[-1].axes
    drawn_figures[-1].canvas.draw()  # at one scale, after a PNG of another
    notes = [each for each in panel.get_children() if isinstance(each, Annotation)]
    boxes = [(each.get_text(), Text.get_window_extent(each)) for each in notes if each.get_text()]
    arrows = [each.arrow_patch for each in notes if each.arrow_patch is not None]
    assert (len(boxes), len(arrows)) == (13, 5), "five packets with their times, two hosts and a wait"
    for text, box in boxes:
        for arrow in arrows:
            shaft = LinePath(
                arrow.get_transform().transform(np.asarray(arrow.get_path().vertices)[:3])
            )  # a curve's three points
            assert not shaft.intersects_bbox(box, filled=False), text
    for (one, box), (other, another) in combinations(boxes, 2):
        assert not box.overlaps(another), (one, other)


@pytest.mark.long
def test_packets_of_one_moment_are_drawn_in_the_order_of_the_capture(
    toy: Toy, here: Path, keep: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where computing takes no time, and the path none, all that follows a wait has one time."""
    fine = Packets.__dict__["time_ns"].func
    monkeypatch.setattr(Packets, "time_ns", property(lambda packets: fine(packets) // 10**7 * 10**7))
    text = '"""Small writes stall."""\n' + SMALL_WRITES.replace("200 us", "0 us")
    (here / "experiments" / "toy" / "small.py").write_text(text)
    keep("small")
    sequence = figures.message_sequence(toy()["small"], "plain").text
    order = ["2 B (seq 301:303", "ACK (ack 303)", "28 B (seq 303:331", "ACK (ack 331)", "2 B (seq 21:23"]
    places = [sequence.index(f" {each}") for each in order]
    assert places == sorted(places)


def test_long_labels_leave_room_for_the_lines_and_for_each_other() -> None:
    _, (panel,) = axes()
    long = "one segment per skb, 3.7 Gbit/s writer 92.73"
    labels(panel, [Label(0.5, long, "#000000"), Label(0.5, "another", "#000000")])
    first, second = (child for child in panel.get_children() if isinstance(child, Annotation))
    assert first.get_text() == "one segment per skb,\n3.7\N{NO-BREAK SPACE}Gbit/s writer 92.73"
    assert second.xyann[1] - first.xyann[1] == pytest.approx(1.5 * 0.075), "half of two lines, and half of one"


@pytest.mark.parametrize("label", ["defaults", "HZ=1000 at 100 µs: 1 ACK for 31.49 measured, from 100 to 1200 ms"])
def test_no_panels_name_is_cut_at_the_figures_edge(label: str) -> None:
    figure, (panel,) = axes()
    heading(panel, label)
    labels(panel, [Label(0.5, "data segments here", "#000000")])
    figure.canvas.draw()
    name = panel.get_title(loc="left")
    assert " ".join(name.replace("\N{NO-BREAK SPACE}", " ").split()) == label
    (text,) = (each for each in panel.get_children() if isinstance(each, Text) and each.get_text() == name)
    assert text.get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.long
def test_a_caption_speaks_of_no_line_that_is_not_drawn(toy: Toy) -> None:
    assert "Dashed" not in ack_rates(toy()["header"]).text, "a length is predicted, no ratio"
    assert "Grey: ticks without data, 90 %" in figures.io_graph(toy()["header"], start=0).text


@pytest.mark.long
def test_what_is_linked_is_there(toy: Toy) -> None:
    """Outside a report nothing writes a figure's PNG, and a notebook's server shows files only."""
    drawn = figures.header_lengths(toy()["header"]).text
    linked = re.findall(r'href="(?!#)([^"]+)"', drawn)
    assert linked
    assert all(Path(each).is_file() for each in linked)


@pytest.mark.long
def test_a_notebook_shows_a_figure_whoever_wrote_it(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a notebook that Jupyter does not trust it shows PNG as it is, and HTML without its drawings."""
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: shown.append(data))
    drawn = figures.windows(toy()["header"])
    assert isinstance(drawn, LivePicture)
    drawn._ipython_display_()
    picture, caption = shown
    assert set(picture) == {"image/png", "text/plain"}
    assert picture["text/plain"].startswith("Receive window and bytes in flight")
    assert "The window that the receiver advertises" in caption["text/html"]
    assert "<svg" not in caption["text/html"]


RATIO = '''"""The header is as long as it was."""

from lab import Arm, AtMost, Bulk, Capture, Duration, Experiment, Reported, metric, model

EXPERIMENT = Experiment(
    topology="delay-100ms", workload=Bulk(duration=Duration.of("50 ms")), probes=(Capture(node="sender"),),
    metric=metric.header_length(), prediction=model.tcp_header_length,
    arms=(Arm("on"), Arm("later", Reported(1, "it says so"), relative_to="on")),
    tolerance=AtMost(because="it is made up"), accuracy=AtMost(because="so is this"),
)
'''


def test_the_bars_of_a_ratio_are_the_claimed_ones(here: Path, keep: Keep) -> None:
    (here / "experiments" / "toy" / "ratio.py").write_text(RATIO)
    keep("ratio")
    text = figures.bars(lab.article("toy", "results")["ratio"]).text
    assert 'aria-label="later, article: ≤ 1×; later, predicted: ≤ 1×; later, measured: 1×"' in text
    assert "relative to on" in text
    assert "Claimed; predicted by the model; measured." in text


@pytest.mark.long
def test_a_bound_is_a_stroke_with_an_arrow_and_no_bar(here: Path, keep: Keep, drawn_figures: list[Figure]) -> None:
    (here / "experiments" / "toy" / "ratio.py").write_text(RATIO)
    keep("ratio")
    text = figures.bars(lab.article("toy", "results")["ratio"]).text
    (panel,) = drawn_figures[-1].axes
    assert len(panel.containers) == 1, "the measured figure alone is a bar"
    assert [line.get_marker() for line in panel.get_lines()] == ["|", "|"], "claimed and predicted"
    arrows = [each for each in panel.get_children() if isinstance(each, Annotation) and each.arrow_patch]
    assert [each.xyann for each in arrows] == [(-20, 0)] * 2, "at most: to smaller figures"
    assert "A stroke with an arrow: a bound, and what it allows." in text


@pytest.mark.long
@pytest.mark.parametrize(("tolerance", "arrow"), [("AtMost", (0, -20)), ("AtLeast", (0, 20))])
def test_a_bound_of_a_sweep_is_no_cross(
    here: Path, keep: Keep, drawn_figures: list[Figure], tolerance: str, arrow: tuple[int, int]
) -> None:
    source = here / "experiments" / "toy" / "sweep.py"
    text = source.read_text().replace("import Arm,", f"import Arm, {tolerance},").replace("Exactly(", f"{tolerance}(")
    source.write_text(text.replace("metric.any_drops()", "metric.drops()"))
    keep("sweep")
    caption = figures.sweep(lab.article("toy", "results")["sweep"]).text
    (panel,) = drawn_figures[-1].axes
    drawn = [str(line.get_marker()) for line in panel.get_lines() if np.size(line.get_xdata())]
    assert [marker for marker in drawn if marker in ("x", "_")] == ["_", "_"]
    arrows = [each for each in panel.get_children() if isinstance(each, Annotation) and each.arrow_patch]
    assert [each.xyann for each in arrows] == [arrow] * 2
    assert "a claimed bound and what it allows" in caption
    assert "Crosses" not in caption


@pytest.mark.long
def test_an_interval_without_an_end_has_an_arrow(toy: Toy, drawn_figures: list[Figure]) -> None:
    claim = toy()["rate"]
    (result,) = claim.results
    sample = Sample({(seed, 0): Value(9e9 + seed, "bit/s") for seed in range(3)})
    for high, count in ((9.9e9, 0), (inf, 1)):
        measured = Value(9.4e9, "bit/s", 9e9, high, 0.95)
        found = replace(claim.judged.result, results=(replace(result, measured=measured, sample=sample),))
        figures.bars(replace(claim, judged=replace(claim.judged, result=found)))
        (panel,) = drawn_figures[-1].axes
        arrows = [each for each in panel.get_children() if isinstance(each, Annotation) and each.arrow_patch]
        assert len(arrows) == count


def test_bars_of_yes_and_no_have_words_and_no_scale(toy: Toy, drawn_figures: list[Figure]) -> None:
    text = figures.bars(toy()["sweep"]).text
    assert "only at 2, article: yes; only at 2, predicted: yes; only at 2, measured: yes" in text
    assert "only at 5000, measured: no" in text
    assert drawn_figures[-1].axes[0].get_xticks().tolist() == []


@pytest.mark.long
def test_bars_speak_of_no_claim_where_there_is_none(here: Path, keep: Keep) -> None:
    (here / "experiments" / "toy" / "ratio.py").write_text(RATIO)
    keep("ratio")
    assert ">Predicted by the model; measured." in figures.bars(lab.article("toy", "results")["ratio"], "on").text


def test_a_drawing_on_a_page_has_no_digits_that_no_screen_shows() -> None:
    svg = (
        b'<svg viewBox="0 0 9 9"><path d="M 1.239999 -7.5 \nL 3 4.999 \nz"/><text x="1.2345" y="2">1.23456</text></svg>'
    )
    drawn = Picture("toy", svg, bytes, "a line", "").text
    assert 'd="M 1.23 -7.5 L 3 4.99 z"' in drawn
    assert '<text x="1.23" y="2">1.23456</text>' in drawn, "text stays as it is"
