"""Turn the results of use cases into the objects that notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from lab.errors import InputError, LabError

if TYPE_CHECKING:
    from lab.app.running import Judgement
    from lab.comparison.compare import ClaimChange
    from lab.comparison.page import Changes
    from lab.report.claims import Claims
    from lab.report.html import Html
    from lab.verdict.judged import JudgedClaim

_NONE: Mapping[str, Html] = MappingProxyType({})


def as_claims(
    judged: Iterable[JudgedClaim], errors: tuple[LabError, ...] = (), strips: Mapping[str, Html] = _NONE
) -> Claims:
    """Return judged claims in the form that notebooks show, with the errors of failed trials.

    `strips` maps a claim's id to the claim's strip: the verdict on each kernel.
    """
    from lab.report.claim import Claim
    from lab.report.claims import Claims
    from lab.report.notebooks import in_report

    return Claims(tuple(Claim(claim, in_report(), strips.get(claim.declared.id)) for claim in judged), errors)


def as_changes(found: tuple[ClaimChange, ...], *done: Judgement) -> Changes:
    """Return the changes. If no claim has records on both kernels, raise the first failed trial's error."""
    from lab.comparison.page import Changes

    if any(each.was_compared for each in found):
        return Changes(found)
    errors = [error for judgement in done for error in judgement.errors]
    raise errors[0] if errors else InputError("no claim ran on both kernels: there is nothing to compare")
