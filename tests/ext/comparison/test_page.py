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
        "✓\N{NO-BREAK SPACE}reproduced",
        "✗\N{NO-BREAK SPACE}not reproduced",
        "−0.27 %",
        'href="#toy/claim"',
    ):
        assert text in shown
    assert repr(changes) == "toy/claim: verdict changed"


def test_a_claim_in_full(changes: Changes) -> None:
    shown = changes.sections().text
    for text in ("1,460 B", "1,456 B", "−0.27 %", "packet 1 of", "mss 1460", "mss 1456", 'id="toy/claim"'):
        assert text in shown
    assert changes["toy/claim"].change == "verdict changed"


def test_what_the_model_makes_of_it(changes: Changes) -> None:
    assert 'data-label="Predicted change">0 %</td>' in changes.sections().text  # it knows no such kernel


def test_every_case_that_differs_in_a_packet(judge: Judge, syn: Syn) -> None:
    """Three arms: another MSS, another window, and another sequence number, which is chance."""
    declaration = CLAIM.replace('Arm("only", ', 'Arm("b"), Arm("c"), Arm("a", ')
    base = judge(declaration, {arm: [{PCAP: syn()}] for arm in "abc"}, "k1")
    outputs = {"a": [{PCAP: syn(mss=1456)}], "b": [{PCAP: syn(window=1)}], "c": [{PCAP: syn(isn=9)}]}
    changes = Changes(compare([base], [judge(declaration, outputs, "k2")]))
    shown = changes.sections().text
    assert "<code>a</code>: packet 1 of <code>capture.sender.eth0.pcap</code> is the first that differs" in shown
    assert "differs, in options" in shown
    assert "differs, in window" in shown
    assert "<code>c</code>: the same packets, other bytes in capture.sender.eth0.pcap, byte " in shown
    causes = changes.causes().text
    for what in ("options", "window"):
        row = next(row for row in causes.split("<tr") if f"{what}</th>" in row)
        assert 'data-label="Claims">1</td>' in row
        assert '<a href="#toy/claim">toy/claim</a>' in row


def test_a_claim_that_was_not_run(changes: Changes) -> None:
    assert "No capture differs in a packet" in Changes(()).causes().text
    assert "<code>toy/other</code> did not run on both kernels" in changes.section("toy/other").text
    with pytest.raises(InputError, match="did not run on both"):
        changes["toy/other"]


def test_nothing_in_common() -> None:
    assert "No claim" in Changes(())._repr_html_()
