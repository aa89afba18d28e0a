"""The claims that the project ships, each read once by the tests that only look at it."""

from __future__ import annotations

from functools import cache

from lab.spec import find
from lab.spec.loaded import LoadedExperiment

__all__ = ["claims"]


@cache
def claims() -> dict[str, LoadedExperiment]:
    """Return every shipped claim by its id, those of packs among them."""
    return {claim.id: claim for claim in find.find(find.experiments())}
