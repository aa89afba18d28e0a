"""Turn what use cases found into what a notebook shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from lab.errors import InputError, LabError

if TYPE_CHECKING:
    from lab.comparison.compare import ClaimChange
    from lab.comparison.page import Changes
    from lab.report.claims import Claims
    from lab.report.html import Html
    from lab.usecases.running import Judgement
    from lab.verdict.judged import JudgedClaim

__all__ = ["as_changes", "as_claims"]

_NONE: Mapping[str, Html] = MappingProxyType({})


def as_claims(
    judged: Iterable[JudgedClaim], errors: tuple[LabError, ...] = (), strips: Mapping[str, Html] = _NONE
) -> Claims:
    """Return judged claims as notebooks show them, with the errors that trials ended with.

    `strips` has id -> what became of the claim on each kernel, where that is known.
    """
    from lab.report.claim import Claim
    from lab.report.claims import Claims
    from lab.report.notebooks import in_report

    return Claims(tuple(Claim(claim, in_report(), strips.get(claim.declared.id)) for claim in judged), errors)


def as_changes(found: tuple[ClaimChange, ...], *done: Judgement) -> Changes:
    """Return what was found; raise what the first trial that failed ended with when no claim has records of both."""
    from lab.comparison.page import Changes

    if any(each.was_compared for each in found):
        return Changes(found)
    errors = [error for judgement in done for error in judgement.errors]
    raise errors[0] if errors else InputError("no claim ran on both kernels: there is nothing to compare")
