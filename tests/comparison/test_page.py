"""A notebook shows what changed: both verdicts, the figures, what the model makes of it, the packets."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from lab.comparison.compare import compare
from lab.comparison.page import Changes
from lab.errors import InputError
from tests.kinds import Judge

CLAIM = """
    topology="symmetric-1g", workload=Netcat(), probes=(Capture(node="sender"),), metric=metric.mss_in("SYN"),
    prediction=model.mss_of_syn, arms=(Arm("only", reported="1460 B"),), tolerance=Exactly(because="it is a number"),
"""


@pytest.fixture
def changes(judge: Judge, tmp_path: Path) -> Changes:
    """A claim of one SYN, whose MSS lost 4 bytes."""
    sides = []
    for kernel, mss in (("k1", 1460), ("k2", 1456)):
        frame = Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(dport=1234, flags="S", options=[("MSS", mss)])
        wrpcap(str(tmp_path / "capture"), [frame], linktype=1)
        output = {"capture.sender.eth0.pcap": (tmp_path / "capture").read_bytes()}
        sides.append(judge(CLAIM, {"only": [output]}, kernel))
    return Changes(compare([sides[0]], [sides[1]]))


def test_all_claims_at_a_glance(changes: Changes) -> None:
    shown = changes._repr_html_()
    for text in (
        "1 claims, 1 regressed",
        "k1",
        "k2",
        "✓ reproduced",
        "✗ not reproduced",
        "-0.27 %",
        'href="#toy/claim"',
    ):
        assert text in shown
    assert repr(changes) == "toy/claim: regressed"


def test_a_claim_in_full(changes: Changes) -> None:
    shown = changes.sections().text
    for text in ("1,460 B", "1,456 B", "-0.27 %", "packet 1 of", "mss 1460", "mss 1456", 'id="toy/claim"'):
        assert text in shown
    assert changes["toy/claim"].change == "regressed"


def test_what_the_model_makes_of_it(changes: Changes) -> None:
    assert '<td data-label="Predicted change">0 %</td>' in changes.sections().text  # it knows no such kernel


def test_a_claim_that_was_not_run(changes: Changes) -> None:
    assert "<code>toy/other</code> was not run on both kernels" in changes.section("toy/other").text
    with pytest.raises(InputError, match="was not run on both"):
        changes["toy/other"]


def test_nothing_in_common() -> None:
    assert "No claim" in Changes(())._repr_html_()
