"""Figures of round trips, sequence numbers, ratios and Flent's: drawn from what trials recorded."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import lab
from lab.guest.trial import Trial
from lab.record.store import Store
from lab.report import figures
from lab.report.claim import Claim
from lab.report.drawing import Picture, axes
from lab.report.figures.ratios import _axis
from lab.spec import find
from lab.units import to_plain

DATA = Path(__file__).parents[1] / "data"
KERNEL = {"name": "7.2", "version": "7.2.13-1", "id": "k1", "hz": 1000, "patches": []}
FILES = {
    "capture.sender.eth0.pcap": "lossy.pcap",
    "tcp_info.sender.bin": "lossy.tcp_info.bin",
    "tcp_upload-then.flent.gz": "tcp_upload.flent.gz",
}
COUNTERS = "TcpExt: Other TCPDSACKUndo\nTcpExt: 0 {}\n"
EXPERIMENT = '''"""A lossy path still gives round trips."""

from lab import Arm, Capture, Exactly, Experiment, Flent, Reported, metric, model

EXPERIMENT = Experiment(
    topology="lossy", workload=Flent(), metric=metric.rtt_samples(), prediction=model.rtt_for_new_data,
    few_samples="nothing is judged here",
    arms=(Arm("on", Reported(1, "it says so")), Arm("more", relative_to="on")),
    tolerance=Exactly(because="they are counted"),
)
'''

Draw = Callable[[Claim], object]


Told = Callable[..., Claim]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Tells the claim of these trials; with reasons, none of them counts."""

    def claim(*invalid: str) -> Claim:
        _keep(tmp_path, monkeypatch, invalid)
        return lab.article("trips", "results")["lossy"]

    return claim


@pytest.fixture
def claim(told: Told) -> Claim:
    return told()


def _keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invalid: Sequence[str]) -> None:
    folder = tmp_path / "experiments" / "trips"
    folder.mkdir(parents=True)
    (folder / "article.yaml").write_text("title: Trips\nauthor: Nobody\ndate: 1 May 2020\nurl: unknown\n")
    (folder / "lossy.py").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    (loaded,) = find.find(["trips/lossy"])
    none: dict[str, str] = {}
    for case in loaded.cases():
        trial = Trial(
            claim=case.claim, arm=case.arm, point="", source_sha256=loaded.source_sha256,
            network=to_plain(case.network), workload=to_plain(case.workload), probes=[], middleboxes=[],
            kernel=KERNEL, on="uml", clock="virtual", seed=1, repeat=0, tools=none,
        )  # fmt: skip
        with Store(tmp_path / "results").stage(trial) as stage:
            for name, file in FILES.items():
                (stage.out / name).write_bytes((DATA / file).read_bytes())
            for when, undone in (("before", 2), ("after", 9)):
                (stage.out / f"netstat.sender.{when}.txt").write_text(COUNTERS.format(undone))
            stage.commit({}, invalid)


@pytest.mark.long
@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda claim: figures.sequence(claim, "on"), " retransmissions, "),
        (lambda claim: figures.rtt_sources(claim, "on"), "segment selected (SACK) "),
        (lambda claim: figures.rtt_samples(claim, "on", seconds=0.1), " by timestamp"),
        (figures.ratios, "more over on: 1"),
        (lambda claim: figures.flent_plot(claim, "on"), "Bandwidth and ping plot"),
        (lambda claim: figures.flent_plot(claim, "on", plot="ping_cdf"), "Ping CDF plot"),
    ],
)
def test_a_figure_is_drawn_the_same_again(claim: Claim, draw: Draw, says: str) -> None:
    shown, again = draw(claim), draw(claim)
    assert isinstance(shown, Picture)
    assert isinstance(again, Picture)
    assert (shown.text, shown.png) == (again.text, again.png)
    assert says in shown.text
    assert "7.2.13-1" in shown.text


def test_the_sequence_graph_shows_the_loss(claim: Claim) -> None:
    text = figures.sequence(claim, "on").text
    assert " 0 retransmissions" not in text
    assert " 0 SACK blocks" not in text
    assert "no segment was sent" in figures.sequence(claim, "on", at=99, span=1).text


@pytest.mark.parametrize("furthest", [0.005, 0.0083, 0.022, 0.05, 0.076])
def test_an_axis_of_ratios_has_a_tick_at_one_and_at_both_sides(furthest: float) -> None:
    _, (panel,) = axes()
    _axis(panel, [1 + furthest])
    low, high = panel.get_xlim()
    ticks = [round(tick, 6) for tick in panel.get_xticks() if low <= tick <= high]
    assert 1 in ticks
    assert 3 <= len(ticks) <= 7
    assert ticks == [round(2 - tick, 6) for tick in reversed(ticks)]


def test_what_the_kernel_counted(claim: Claim) -> None:
    text = figures.kernel_counts(claim, {"TcpExt.TCPDSACKUndo": "Undone"}).text
    assert "Undone" in text
    assert ">7</td>" in text


def test_where_no_trial_counts_a_sentence_says_so(told: Told) -> None:
    claim = told("its timers were late")
    assert figures.ratios(claim).text == '<p class="missing">No figure of ratios: none of its repeats counts</p>'
