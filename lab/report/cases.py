"""Convert judged claims to the test cases that CI systems read."""

from __future__ import annotations

from collections.abc import Iterable

from lab.report import text
from lab.report.ci.case import Case, Outcome
from lab.report.claim import Claim


def cases(claims: Iterable[Claim]) -> tuple[Case, ...]:
    """Return a case for each claim. The case fails if the verdict is unexpected, or if a model misses its accuracy."""
    return tuple(map(_case, claims))


def _case(claim: Claim) -> Case:
    result = claim.judged.result
    remarks = list(text.remarks(claim.judged))
    reason = result.verdict.reason or "; ".join(remarks)
    message = f"{result.verdict.kind}: {reason}" if reason else result.verdict.kind
    detail = "\n".join([text.plain(text.block(result)).strip(), *remarks])
    seconds = sum(float(record.host.get("wall_seconds", 0.0)) for record in claim.records)
    return Case(claim.article, claim.name, _outcome(claim), message, detail, seconds)


def _outcome(claim: Claim) -> Outcome:
    match claim.verdict.kind:
        case "skipped":
            return "skipped"
        case "inconclusive" if claim.passed:
            return "undecided"
    return "passed" if claim.passed else "failed"
