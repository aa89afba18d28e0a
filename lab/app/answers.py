"""Turn the results of use cases into the objects that notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from lab.errors import LabError

if TYPE_CHECKING:
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
