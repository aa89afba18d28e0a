"""What changed in all claims together: how many of each kind, and in what their first packets differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from lab.comparison.compare import Change, ClaimChange

__all__ = ["causes", "counts", "sentence"]


def counts(changes: Sequence[ClaimChange]) -> dict[Change, int]:
    """How many claims changed in each way, zeros included: from none, identical, to regressed, then undecided."""
    kinds = [each.change for each in changes]
    return {kind: kinds.count(kind) for kind in get_args(Change)}


def sentence(changes: Sequence[ClaimChange]) -> str:
    """The same in words: '3 claims: 2 identical, 1 moved'."""
    said = ", ".join(f"{count} {kind}" for kind, count in counts(changes).items() if count)
    return f"{len(changes)} claim{'' if len(changes) == 1 else 's'}: {said}"


def causes(changes: Sequence[ClaimChange]) -> dict[str, tuple[str, ...]]:
    """In what first packets differ (`PacketDifference.what`) -> the claims of which one does; most claims first.

    A claim stands in several places where its cases part in several ways.
    """
    found: dict[str, dict[str, None]] = {}
    for change in changes:
        for case in change.cases:
            if where := case.packets.divergence:
                found.setdefault(where.what, {})[change.claim] = None
    return {what: tuple(found[what]) for what in sorted(found, key=lambda what: (-len(found[what]), what))}
