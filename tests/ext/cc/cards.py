"""Make cards that no trial gave, of the pack that the lab ships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from lab.ext.cc import cases
from lab.ext.cc.card import Card, CaseScore, Mixture
from lab.ext.cc.cases import JudgePack

KERNEL = {"name": "7.2", "version": "7.2.13-1", "id": "k1", "hz": 1000, "patches": []}


@cache
def shipped_pack() -> JudgePack:
    """Return the pack, read once by the tests that only look at it."""
    return cases.load()


def card(
    points: Mapping[str, Sequence[float]] = {},
    mixtures: Sequence[Mixture] = (),
    usual: Sequence[float] = (50.0, 60.0),
    why: str = "",
    scatter: float = 0.0,
) -> Card:
    """Return a card of the pack's cases: with these points, or else the usual ones.

    References have 40, 50 and 60 points, and each of their seeds is up to `scatter` higher or lower.
    """
    found = []
    for declared in shipped_pack().cases:
        seeds = tuple(points.get(declared.name, usual))
        figure = declared.scale.all
        references = {"reno": 40.0, "cubic": 50.0, "bbr": 60.0}
        case = replace(declared, references=dict.fromkeys(references, (figure,)))
        paths = {"half the rate": 45.0} if case.varies and seeds else {}
        known = {name: (mean - scatter, mean + scatter) for name, mean in references.items()}
        found.append(CaseScore(case, figure, seeds, "" if seeds else why, references, known, paths=paths))
    return Card("mine", KERNEL, False, 1, tuple(found), tuple(mixtures), "7.2.13-1", shipped_pack().scales)
