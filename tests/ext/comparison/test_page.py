"""A notebook shows what changed: both verdicts, the figures, what the model makes of it, the packets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.errors import InputError
from lab.ext.comparison.compare import compare
from lab.ext.comparison.page import Changes
from tests.kinds import Judge

Syn = Callable[..., bytes]

PCAP = "capture.sender.eth0.pcap"

CLAIM = """
    topology="symmetric-1g", workload=Netcat(), probes=(Capture(node="sender"),), metric=metric.mss_in("SYN"),
    prediction=model.mss_of_syn, arms=(Arm("only", Reported("1460 B", "it says so")),),
    tolerance=Exactly(because="it is a number"),
"""


@pytest.fixture
def changes(judge: Judge, syn: Syn) -> Changes:
    """A claim of one SYN, whose MSS lost 4 bytes."""
    sides = [judge(CLAIM, {"only": [{PCAP: syn(mss=mss)}]}, kernel) for kernel, mss in (("k1", 1460), ("k2", 1456))]
    return Changes(compare([sides[0]], [sides[1]]))


def test_all_claims_at_a_glance(changes: Changes) -> None:
    shown = changes._repr_html_()
    for text in (
        "1 claim: 1 verdict changed",
        "k1",
        "k2",
        'title="reproduced"',
        'title="not reproduced"',
        "−0.27 %",
        'href="#toy/claim"',
        'data-filter="change article topic"',
    ):
        assert text in shown
    assert repr(changes) == "toy/claim: verdict changed"


def test_a_claim_in_full(changes: Changes) -> None:
    shown = changes.sections().text
    for text in (
        "1,460 B",
        "1,456 B",
        "−0.27 %",
        "packet 1 of",
        "<mark>1460</mark>",
        "<mark>1456</mark>",
        'id="toy/claim"',
    ):
        assert text in shown
    assert changes["toy/claim"].change == "verdict changed"


def test_what_the_model_makes_of_it(changes: Changes) -> None:
    assert 'data-label="Predicted change">0 %</td>' in changes.sections().text  # it knows no such kernel


def test_each_difference_is_shown_once(judge: Judge, syn: Syn) -> None:
    """Four arms: two with the same different MSS, one with another window, and one where only chance differs."""
    declaration = CLAIM.replace('Arm("only", ', 'Arm("b"), Arm("c"), Arm("d"), Arm("a", ')
    base = judge(declaration, {arm: [{PCAP: syn()}] for arm in "abcd"}, "k1")
    mss = [{PCAP: syn(mss=1456)}]
    outputs = {"a": mss, "b": [{PCAP: syn(window=1)}], "c": [{PCAP: syn(isn=9)}], "d": mss}
    changes = Changes(compare([base], [judge(declaration, outputs, "k2")]))
    packets = changes.packets().text
    assert packets.count("<h3>") == 2
    assert packets.count('class="packets"') == 1, "the first are at the top"
    assert "The SYN has mss 1456; on the base kernel mss 1460. In 1 claim" in packets
    assert '<a href="#toy/claim">toy/claim</a> d, a' in packets
    assert "The SYN offers 1 B; on the base kernel 8,192 B." in packets.replace("\N{NO-BREAK SPACE}", " ")
    assert "win <mark>1</mark>" in packets
    section = changes.sections().text
    assert section.count("<summary>") == 2
    assert "packet 1 of capture.sender.eth0.pcap, in d, a</summary>" in section
    assert 'data-topic="Options of the SYN|Receive window"' in section


def test_the_first_screen_names_the_change(changes: Changes) -> None:
    """The window is not explained where something else changed."""
    shown = changes._repr_html_()
    assert shown.startswith("<h1>Options of the SYN changed</h1>")
    assert '<p class="answer">The SYN has mss 1456; on the base kernel mss 1460.</p>' in shown
    assert "indow" not in shown


def test_the_first_screen_names_a_changed_window(judge: Judge, syn: Syn) -> None:
    sides = [judge(CLAIM, {"only": [{PCAP: syn(window=window)}]}, f"k{window}") for window in (8192, 4096)]
    shown = Changes(compare([sides[0]], [sides[1]]))._repr_html_().replace("\N{NO-BREAK SPACE}", " ")
    assert shown.startswith("<h1>Receive window changed</h1>")
    assert '<p class="answer">The SYN offers 4,096 B; on the base kernel 8,192 B.</p>' in shown


def test_nothing_changed(judge: Judge, syn: Syn) -> None:
    sides = [judge(CLAIM, {"only": [{PCAP: syn()}]}, kernel) for kernel in ("k1", "k2")]
    changes = Changes(compare([sides[0]], [sides[1]]))
    assert changes._repr_html_().startswith("<h1>No change</h1>")
    assert "<table" not in changes._repr_html_()
    assert "No verdict, no figure and no packet changed" in changes.sections().text
    assert "Everything was compared" in changes.not_compared().text


def test_an_arm_that_was_not_compared_is_not_one_without_change(judge: Judge, syn: Syn) -> None:
    arms = "".join(f'Arm("{name}", Reported("1460 B", "it says so")),' for name in ("only", "same", "lost"))
    declaration = CLAIM.replace('Arm("only", Reported("1460 B", "it says so")),', arms)
    same = [{PCAP: syn(mss=1460)}]
    base = judge(declaration, {"only": same, "same": same, "lost": same}, "k1")
    new = judge(declaration, {"only": [{PCAP: syn(mss=1456)}], "same": same, "lost": []}, "k2")
    section = Changes(compare([base], [new])).sections().text
    assert "1 further case: no change of the figure." in section
    assert "1 further case: cannot tell." in section


def test_a_claim_that_was_not_run(changes: Changes) -> None:
    assert "No capture differs in a packet" in Changes(()).packets().text
    assert "<code>toy/other</code> did not run on both kernels" in changes.section("toy/other").text
    with pytest.raises(InputError, match="did not run on both"):
        changes["toy/other"]


def test_nothing_in_common() -> None:
    assert "No claim" in Changes(())._repr_html_()
