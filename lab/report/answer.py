"""Show, for a trial's page, what the trial contributes to its claim: claimed, predicted, measured, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from lab.record.record import Record
from lab.report import evidence, html, wording
from lab.report.claim import Claim, quantity
from lab.report.colophon import cited_trial
from lab.report.quantity import named
from lab.report.settings import TCP_SETTINGS
from lab.report.tested import TestedCase
from lab.spec.case import CaseKey
from lab.verdict import measured

ANSWERS = "answers"  # in an output's metadata: address of a trial -> HTML
FIGURES = "figures"  # in an output's metadata: the rows of `lab.verdict.measured` for the claims


def figures(claims: Iterable[Claim]) -> list[list[Any]]:
    """Return the figures of the claims' trials as plain data, for a later notebook that shows the same claims."""
    return [row for claim in claims for row in measured.rows(claim.judged.declared, claim.judged.figures)]


def answers(claims: Iterable[Claim]) -> dict[str, str]:
    """Return the first part of each trial's page as HTML, by the trial's address."""
    shown = list(claims)
    return {record.address: _answer(claim, record, shown) for claim in shown for record in claim.records}


def _answer(claim: Claim, record: Record, claims: Sequence[Claim]) -> str:
    mine = [each for each in claim.tested if record.address in each.result.trials]
    several = any(len(each.result.sample.figures) > 1 for each in mine)
    judged = any(each.result.verdict or each.result.explains for each in mine)  # the figures of a study are not
    head = ["Figure", "Claimed", "Predicted", "Measured here", *(["All trials"] if several else [])]
    rows = [_row(claim, each, record, several) for each in mine]
    if judged:
        head.append("Verdict on the arm")
        rows = [[*row, html.verdict(each.result)] for row, each in zip(rows, mine, strict=True)]
    target = f"../../{escape(claim.article)}.html#{escape(claim.name)}"
    sentence = f'<a href="{target}">{html.prose(claim.judged.declared.claim)}</a>'
    lead = list(_witness(mine, record))
    kind = "" if lead else ' class="answer"'
    said = [*lead, f"<p{kind}>{'The claim: ' if lead else ''}{html.badge(claim.verdict.kind)} {sentence}</p>"]
    said += [evidence.elsewhere(claim, record, claims, "../"), *_reasons(claim)]
    said += [html.table(head, rows, "contribution"), html.marks(each.result for each in mine)] if rows else []
    return "".join([*said, *_alone(mine, record), _in_force(claim, record), _cite(claim, mine, record)])


def _alone(mine: Iterable[TestedCase], record: Record) -> Iterator[str]:
    """Yield which one of several trials the page shows, and the figure of all of them."""
    found = [each for each in mine if record.trial.key == each.result.key and len(each.result.sample.figures) > 1]
    figures = "; ".join(f"{_name(each)}: {html.prose(wording.summed(each.result))}" for each in found)
    if found:
        seed = f"seed {record.trial.seed}" + (f", repeat {record.trial.repeat}" if record.trial.repeat else "")
        yield (
            f'<p class="about alone">The chart and the packets here are of one trial, {seed}. All trials of its '
            f"arm: {figures}.</p>"
        )


def _witness(mine: Iterable[TestedCase], record: Record) -> Iterator[str]:
    """Yield what a trial showed that only tests an explanation, and so does not count for the claim's verdict."""
    shown = list(mine)
    if not shown or not all(each.case.explains for each in shown):
        return
    found = [
        f"{html.witness(each.result)} {_name(each)}: <strong>{escape(own)}</strong> measured, "
        f"{html.claimed(each.result)} claimed."
        if (own := _own(each, record))
        else html.witness(each.result)
        for each in shown
    ]
    causes = "; ".join(dict.fromkeys(each.case.explains.says for each in shown if each.case.explains))
    yield (
        f'<p class="answer">{" ".join(found)} This trial does not count for the verdict. It tests an explanation: '
        f"{html.prose(causes)}.</p>"
    )


def _cite(claim: Claim, mine: Iterable[TestedCase], record: Record) -> str:
    """Return the entry of a trial for a list of references, with its figures and what they mean for the claim."""
    figures = "; ".join(f"{_named(each)}: {own} measured" for each in mine if (own := _own(each, record)))
    sentence = claim.judged.declared.claim.replace("`", "").rstrip(".")
    if claim.verdict.kind == "measured":
        said = [f"A trial of the study: {sentence}", figures]
    elif any(each.result.counts for each in mine):
        said = [f"A trial of the claim: {sentence}", figures, f"Verdict of the claim: {claim.verdict.kind}"]
    else:
        said = [f"A trial of the claim: {sentence}", figures, "It does not count for the claim's verdict"]
    return cited_trial(record, ". ".join(filter(None, said)).replace("?. ", "? "))


def _reasons(claim: Claim) -> Iterator[str]:
    """Yield what decides the verdict. For an invalid claim, also yield which figures still count."""
    if claim.verdict.kind != "invalid":
        yield f"<p>{claim.reason}.</p>"
        return
    yield f"<p>There is no answer. A trial of this claim is invalid: {html.prose(claim.verdict.reason)}.</p>"
    holding = [
        f"{each.label}: {wording.answer(each.result, each.result.measured)} measured"
        for each in claim.tested
        if each.result.measured and not (each.result.verdict and each.result.verdict.kind == "invalid")
    ]
    what = "These figures still hold: " + "; ".join(holding) if holding else "No figure of this claim counts"
    kept = "The packets and outputs below are what the trial recorded, whether it counts or not."
    yield f"<p>{html.prose(what)}. {kept}</p>"


def _row(claim: Claim, each: TestedCase, record: Record, several: bool) -> list[str]:
    result = each.result
    return [
        f"{_name(each)}{_other(claim, each, record)}",
        html.claimed(result),
        html.predicted_briefly(result),
        f"<strong>{escape(own)}</strong>" if (own := _own(each, record)) else wording.DASH,
        *([html.measured(result)] if several else []),
    ]


def _own(each: TestedCase, record: Record) -> str:
    """Return the figure of this trial alone as text, or "" if the case's figure is of other trials."""
    own = each.result.sample.figure_of(record) if record.trial.key == each.result.key else None
    if own and each.result.is_event:
        return "yes" if own.number else "no"
    return wording.factor(each.result, wording.figure(own)) if own else ""


def _named(each: TestedCase) -> str:
    """Return the name of a figure and of its arm as text."""
    return f"{each.case.figure or named(each.case.metric)}, {each.label}"


def _name(each: TestedCase) -> str:
    """Return the name of a figure. A ratio's has the name of its arm, which tells what it is over."""
    name = html.prose(each.case.figure) if each.case.figure else quantity(each.case.metric)
    return f"{name}, {html.prose(each.case.title)}" if each.case.relative_to else name


def _other(claim: Claim, each: TestedCase, record: Record) -> str:
    """Return a line with the link to the other trial of a ratio, or ""."""
    if not each.case.relative_to:
        return ""
    base_arm = each.case.relative_to
    bases = (other.record for other in claim.tested if other.case.key == CaseKey(base_arm, each.case.point))
    over, under = each.record, next(bases, None)
    if over and under and record.address in (over.address, under.address):
        other, said = (over, f"of {each.case.arm}") if record.address == under.address else (under, f"÷ {base_arm}")
        return f'<div class="beside"><a href="../{other.address}/index.html">{escape(said)}</a></div>'
    return ""


def _in_force(claim: Claim, record: Record) -> str:
    """Return the folded table of the TCP settings that the trial had, each with the place that sets it."""
    found: Mapping[str, Mapping[str, Any]] = record.environment.get("sysctls", {})
    nodes = {node["name"]: node["sysctls"] for node in record.network["nodes"]}
    hosts = {name: {**{key: str(value) for key, value in nodes[name].items()}, **found.get(name, {})} for name in nodes}
    origins = _origins(claim, record)
    rows = [
        [
            html.code(key),
            *(escape(str(hosts[name].get(key, wording.DASH))) for name in hosts),
            _origin(key, origins, nodes),
        ]
        for key in dict.fromkeys([*origins, *(key for _, key in TCP_SETTINGS)])
        if any(key in host for host in hosts.values())
    ]
    if not rows:
        return ""
    values = {key: dict.fromkeys(str(host[key]) for host in hosts.values() if key in host) for key in origins}
    own = "; ".join(f"{key} = {' or '.join(values[key])}, set by {place}" for key, place in origins.items())
    table = html.scrolled(html.table(["Setting", *hosts, "Set by"], rows, "in-force"), "Settings in force")
    return html.folded(f"Settings in force: {own or 'those of the test bed'}", table)


def _origin(key: str, origins: Mapping[str, str], nodes: Mapping[str, Mapping[str, Any]]) -> str:
    if key in origins:
        return origins[key]
    return "the test bed" if any(key in sysctls for sysctls in nodes.values()) else "the kernel's default"


def _origins(claim: Claim, record: Record) -> dict[str, str]:
    """Return the settings that the experiment, the arm or the point changes, each with the last of them."""
    experiment = claim.judged.declared.experiment
    places: list[tuple[str, Any]] = [("the experiment", experiment)]
    places += [("the arm", arm) for arm in experiment.arms if arm.name == record.trial.arm]
    points = experiment.sweep.points if experiment.sweep else ()
    places += [("the point", point) for point in points if point.label == record.trial.point]
    return {name: place for place, each in places for name in (*each.sysctls, *each.sysctls_of_hosts())}
