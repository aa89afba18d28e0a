"""Put the figures that decide a verdict next to the claimed figures, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lab.report import html, wording
from lab.report.tested import TestedCase
from lab.verdict import Kind, Verdict


def beside_claimed(counted: Sequence[TestedCase], verdict: Verdict) -> str:
    """Return the figures of these cases next to the claimed figures."""
    if all(wording.is_yes_or_no(each.result) for each in counted):
        return _answers(counted)
    if len({str(each.case.tolerance) for each in counted}) > 1:
        return "; ".join(_against(each) for each in counted)
    measured = dict.fromkeys(wording.answer(each.result, each.result.measured) for each in counted)
    claimed = dict.fromkeys(wording.claimed_briefly(each.result) for each in counted)
    words = " or ".join(dict.fromkeys(each.result.claimed.word for each in counted if each.result.claimed))
    if list(measured) == list(claimed):
        if verdict.kind == "reproduced":
            return html.prose(f"{_listed(measured)} measured, as {words}")
        measured = dict.fromkeys(f"{each.result.measured.number:.9g}" for each in counted if each.result.measured)
    said = html.prose(f"{_listed(measured)} measured, {_listed(claimed)} {words}")
    return f"{said}: {_agrees(counted[0].case.tolerance, verdict.kind)}"


def _listed(texts: Iterable[str]) -> str:
    """Return the texts joined like 'a, b and c'."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def _answers(counted: Sequence[TestedCase]) -> str:
    """Return whether the event happened in each of these cases, with what the article says of it."""
    if len(counted) == 1:
        return html.prose(wording.yes_or_no(counted[0].result))
    return ", ".join(html.prose(f"{each.label} ({wording.yes_or_no(each.result)})") for each in counted)


def _against(tested: TestedCase) -> str:
    """Return one arm's measured figure, the claimed figure and the tolerance."""
    result = tested.result
    word = result.claimed.word if result.claimed else ""
    got, said = wording.factor(result, wording.figure(result.measured)), wording.claimed_briefly(result)
    figures = f"{got} measured, {said} {word}"
    agrees = _agrees(tested.case.tolerance, result.verdict.kind if result.verdict else "skipped")
    return f"{html.prose(f'{tested.label}: {figures}')} ({agrees})"


def _agrees(tolerance: Any, kind: Kind) -> str:
    """Return, in words, whether the figures agree within the tolerance."""
    how = html.allowed(tolerance)
    if kind == "inconclusive":
        return f"the interval straddles the bound ({how})"
    if tolerance.sign:
        return "it holds" if kind == "reproduced" else "it does not hold"
    return how if kind == "reproduced" else f"not {how}"
