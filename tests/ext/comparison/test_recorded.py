"""Captures of the planted changes, as `lab regress` recorded them: each is named by the packet where it first shows.

tests/ext/comparison/test_planted.py makes such records anew, with kernels that it builds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.ext.comparison import commits
from lab.ext.comparison.compare import compare
from lab.ext.comparison.meaning import Meaning
from lab.ext.comparison.packets import PacketDifference, first_packet_difference
from lab.ext.comparison.page import Changes
from lab.metric.capture import Capture
from lab.spec.loaded import Commit
from lab.verdict.judged import JudgedClaim

RECORDED = Path(__file__).parents[2] / "data" / "regress"
# A sender's messages that nobody reads, 100 ms apart; and a netcat of 10 kB.
UNREAD = """
    topology="symmetric-1g", workload=RequestResponse(), probes=(Capture(node="receiver"),),
    metric=metric.ack_delay("mean", skip=16), arms=(Arm("only", Reported("40.5 ms", "it says so")),),
    tolerance=Within(0.01, because="it is a timer's"),
"""


def difference(kind: str, planted: str) -> PacketDifference | None:
    return first_packet_difference(*(Capture(RECORDED / f"{kind}.{kernel}.pcap") for kernel in ("7.2", planted)))


def test_a_delayed_ack_comes_20_ms_later() -> None:
    where = difference("unread", "delack-60ms")
    assert where
    assert (where.number, where.what) == (37, "time")
    base, new = (float(line.split()[0]) for line in (where.base, where.new))
    assert new - base == pytest.approx(0.020, abs=1e-5)
    assert where.base.split()[1:] == where.new.split()[1:]
    assert where.meaning == Meaning("Delayed ACK", "an ACK waits 60.76 ms; on the base kernel 40.76 ms")


def test_segments_are_4_bytes_shorter() -> None:
    where = difference("netcat", "mss-less-4")
    assert where
    assert (where.number, where.what) == (4, "payload")  # the handshake says nothing of it
    assert "len 448" in where.base
    assert "len 444" in where.new
    assert where.meaning == Meaning("Segment size", "a segment has 444 B of data; on the base kernel 448 B")


def test_the_fourth_segment_waits_for_an_ack() -> None:
    where = difference("netcat", "initial-window-3")
    assert where
    assert (where.number, where.what) == (7, "flow")  # after the handshake and three segments
    assert "flow 2 ACK seq 1345 ack 1 win 510 len 448" in where.base
    assert "flow 1 ACK seq 1 ack 449 win 508 len 0" in where.new
    said = "only the base kernel sends 448 B more before the other host answers"
    assert where.meaning == Meaning("Data in flight", said)
    assert [len(some) for some in (where.before, where.base_after, where.new_after)] == [2, 2, 2]


def test_the_claim_of_the_delayed_ack_regresses(judge: Callable[..., JudgedClaim], tmp_path: Path) -> None:
    sides = [
        judge(
            UNREAD,
            {"only": [{"capture.receiver.eth0.pcap": (RECORDED / f"unread.{kernel}.pcap").read_bytes()}]},
            kernel,
        )
        for kernel in ("7.2", "delack-60ms")
    ]
    (found,) = compare([sides[0]], [sides[1]])
    assert found.change == "verdict changed"
    assert found.cases[0].ratio == pytest.approx(60.5 / 40.5, rel=0.001)
    commits.save(tmp_path, Commit("0123456789ab", "", "a longer wait", ("toy/claim",), "`lab bisect` found it."), found)
    first = Changes(commits.with_found([found], tmp_path))._repr_html_()
    assert first.startswith("<h1>Delayed ACK changed</h1>")
    answer = '<p class="answer">An ACK waits 60.76 ms; on the base kernel 40.76 ms.</p>'
    commit = "Commit <code>0123456789ab</code>"
    places = [first.replace("\N{NO-BREAK SPACE}", " ").index(part) for part in (answer, commit, 'class="packets"')]
    assert places == sorted(places)


@pytest.mark.parametrize("kind", ["unread", "netcat"])
def test_a_capture_does_not_part_from_itself(kind: str) -> None:
    assert difference(kind, "7.2") is None
