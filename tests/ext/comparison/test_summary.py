"""How many claims changed in which way, and which of them part in the same field."""

from __future__ import annotations

import pytest

from lab.ext.comparison.captures import PacketChange
from lab.ext.comparison.compare import CaseChange, ClaimChange
from lab.ext.comparison.packets import PacketDifference
from lab.ext.comparison.summary import causes, counts, sentence
from lab.verdict import Result, Verdict

RESULT = Result("only", "", None, None, None, None, True, ())


def claim(name: str, *fields: str) -> ClaimChange:
    """A claim whose cases part in these fields; "": in none."""
    cases = tuple(
        CaseChange(RESULT, RESULT, not what, (), PacketChange("differ", "a.pcap", PacketDifference(1, what, "", "")))
        if what
        else CaseChange(RESULT, RESULT, True, (), PacketChange("identical"))
        for what in fields
    )
    return ClaimChange(name, ("k1", "k2"), Verdict("skipped", ""), Verdict("skipped", ""), cases)


@pytest.fixture
def changes() -> tuple[ClaimChange, ...]:
    return claim("a", "time", "window", "time"), claim("b", "window"), claim("c", ""), claim("d", "end")


def test_claims_of_one_cause_stand_together(changes: tuple[ClaimChange, ...]) -> None:
    assert list(causes(changes).items()) == [("window", ("a", "b")), ("end", ("d",)), ("time", ("a",))]


def test_how_many(changes: tuple[ClaimChange, ...]) -> None:
    assert sentence(changes) == "4 claims: 3 with different packets, 1 identical"
    assert sentence(changes[:1]) == "1 claim: 1 with different packets"
    assert {kind: count for kind, count in counts(changes).items() if count} == {"identical": 1, "packets differ": 3}
    assert len(counts(changes)) == 8
