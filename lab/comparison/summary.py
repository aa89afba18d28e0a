"""Sum up what changed in all claims: how many of each kind, and in what their first packets differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from lab.comparison.compare import Change, ClaimChange

__all__ = ["causes", "counts", "sentence"]


def counts(changes: Sequence[ClaimChange]) -> dict[Change, int]:
    """Count the claims that changed in each way, zeros included: from identical to regressed, then undecided."""
    kinds = [each.change for each in changes]
    return {kind: kinds.count(kind) for kind in get_args(Change)}


def sentence(changes: Sequence[ClaimChange]) -> str:
    """Say the same in words: '3 claims: 2 identical, 1 moved'."""
    said = ", ".join(f"{count} {kind}" for kind, count in counts(changes).items() if count)
    return f"{len(changes)} claim{'' if len(changes) == 1 else 's'}: {said}"


def causes(changes: Sequence[ClaimChange]) -> dict[str, tuple[str, ...]]:
    """Return what first packets differ in (`PacketDifference.what`) -> the claims where they do; most claims first.

    A claim stands in several places when its cases differ in several ways.
    """
    found: dict[str, dict[str, None]] = {}
    for change in changes:
        for case in change.cases:
            if where := case.packets.divergence:
                found.setdefault(where.what, {})[change.claim] = None
    return {what: tuple(found[what]) for what in sorted(found, key=lambda what: (-len(found[what]), what))}
