"""Build pieces of a page: the output of a notebook cell. Only this module escapes text."""

# Not Jinja: most functions return a part of a line, and its autoescape writes other entities (&#39; for &#x27;), which
# would change stored notebook outputs. tests/report/test_escaping.py holds that a text never becomes a tag.

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape, unescape
from pathlib import Path

from lab.errors import InputError
from lab.report import wording
from lab.report.labels import LABELS
from lab.report.wording import DASH, answer, claimed_briefly, foreseen_answer, interval, trials, typeset
from lab.spec.prediction import Prediction
from lab.verdict import Kind, Result

SECTION = "section"  # in an output's metadata: the parts of a claim's section, as `section` takes them
NOT_BORNE_OUT = "not borne out"  # in place of a grade
REPEATS = "repeats"  # in an output's metadata: a page shows the same in its sections

_COMMITS = "https://git.kernel.org/torvalds/c/"
# Finds, in escaped text, `code` and the space between a figure and its unit, or between a bound's sign and its figure.
_MARKS = re.compile(
    r"`(?P<code>[^`]+)`|(?<=\d) (?=(?:%|[mnµ]?s|min|h|[kMG]?B|[KM]iB|[kMG]?bit/s)(?!\w))"
    r"|(?:(?<=[≤≥])|(?<=&[gl]t;)) (?=\d)"
)
_ROW = ' role="row"'
# A tolerance's text -> the words of a page, beside a figure that already has the sign.
_ALLOWED = {"exactly": "exact", "at least that": "a bound", "at most that": "a bound"}
_BOUNDS = {"≥": "at least", "≤": "at most", ">": "more than", "<": "less than"}  # before a claimed figure
# A sign beside the colour, for readers who do not see the colour.
_SIGNS: dict[Kind, str] = {
    "reproduced": "✓",
    "partly": "◐",
    "not reproduced": "✗",
    "not testable as stated": "?",
    "inconclusive": "≈",
    "measured": "•",
    "invalid": "⊘",
    "skipped": DASH,
}


class Html:
    """Holds HTML that a notebook shows as is."""

    def __init__(self, *parts: str) -> None:
        self.text = "\n".join(parts)

    def save(self, path: Path | str) -> None:
        """Always raise InputError: only a `Picture` can be saved."""
        raise InputError(f"there is no picture to save as {path}: {self!r}")

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return unescape(re.sub(r"<[^>]*>|\s+", " ", self.text)).strip()[:80]


class Summary(Html):
    """Holds a table that sums up what a page shows in its sections, so that only a notebook shows it."""

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, bool]]:
        return {"text/html": self.text, "text/plain": repr(self)}, {REPEATS: True}


def badge(kind: Kind) -> str:
    """Return a verdict as a colour, a sign and a word."""
    words = f"{_SIGNS[kind]}\N{NO-BREAK SPACE}{kind}"  # so that the sign is never alone in a line
    return f'<span class="verdict {kind.replace(" ", "-")}"{_tooltip(kind)}>{words}</span>'


def _tooltip(label: str) -> str:
    """Return the attribute that explains a label, or "" for a word that is no label."""
    return f' title="{escape(LABELS[label.lower()])}"' if label.lower() in LABELS else ""


def legend() -> str:
    """Return the list of all labels, folded."""
    signs: dict[str, str] = {
        kind: f"{sign}\N{NO-BREAK SPACE}{kind}" for kind, sign in _SIGNS.items() if kind != "measured"
    }
    said = "".join(f"<dt>{signs.get(label, label)}</dt><dd>{escape(meaning)}</dd>" for label, meaning in LABELS.items())
    return folded("What the labels mean", f"<dl>{said}</dl>")


def sign(kind: Kind) -> str:
    """Return a verdict as a sign only. The word is in the tooltip and available to screen readers."""
    name = kind.replace(" ", "-")
    return f'<span class="sign {name}" role="img" aria-label="{kind}" title="{kind}">{_SIGNS[kind]}</span>'


def heading(anchor: str, text: str, short: str = "") -> str:
    """Return the heading of a section, with a link to itself. `short` is its name in lists of contents."""
    name = escape(short or re.sub(r"<[^>]*>", "", text))
    here = f'<a class="here" href="#{escape(anchor)}" aria-label="Link to {name}">¶</a>'
    return f'<h2 id="{escape(anchor)}" data-short="{name}">{text}\N{NO-BREAK SPACE}{here}</h2>'


def section(
    heading: str, verdict: str, why: str, evidence: str, details: str, shown: str = "", more: str = "", below: str = ""
) -> str:
    """Return a claim's section.

    If there is room, the figures `shown` stand beside the verdict and `more` words. What is `below` has the whole
    width, and the details come last.
    """
    figures = f'<div class="shown">\n{shown}\n</div>' if shown else ""
    words = f'<div class="more">\n{more}\n</div>' if more else ""
    head = "\n".join(filter(None, (verdict, why, evidence)))
    kind = "pair" if shown else "pair alone"
    return (
        f'<section class="claim">{heading}\n<div class="{kind}">\n<div class="head">\n{head}\n</div>{figures}{words}'
        f'</div>{below}\n<div class="details">\n{details}\n</div></section>'
    )


def scrolled(inner: str, name: str) -> str:
    """Return content that scrolls sideways on a narrow screen, including with the keyboard."""
    return f'<div class="scroll" role="region" aria-label="{escape(name)}" tabindex="0">{inner}</div>'


def graded(grade: str, terms: str = "") -> str:
    """Return the grade of an explanation, or NOT_BORNE_OUT, with the explanation's fits and assumptions."""
    return f'<span class="verdict explains"{_tooltip(grade)}>{escape(grade)}</span>' + (
        f" ({prose(terms)})" if terms else ""
    )


def witness(result: Result) -> str:
    """Return a witness's grade, or NOT_BORNE_OUT if its figure does not support the explanation.

    Without a figure, it has no grade.
    """
    assert result.explains
    if result.measured is None:
        return badge(result.verdict.kind if result.verdict else "skipped")
    grade = result.explains.grade
    if result.bears_out is False:
        return graded(NOT_BORNE_OUT)
    said = grade if grade == "refutes" else f"explains: {grade}"
    return f'<span class="verdict explains"{_tooltip(grade)}>{said}</span>'


def code(text: str) -> str:
    """Return text marked as code."""
    return f"<code>{escape(text)}</code>"


def prose(text: str) -> str:
    """Return escaped text with marked-up `code`, and without line breaks between figures and units."""
    return _MARKS.sub(_marked, escape(typeset(text), quote=False))


def _marked(found: re.Match[str]) -> str:
    return f"<code>{found['code']}</code>" if found["code"] else "\N{NO-BREAK SPACE}"


def cited(text: str) -> str:
    """Return text marked up like `prose`, with links to the RFCs and the kernel commits that it names."""
    linked = re.sub(r"RFC (\d+)", r'<a href="https://www.rfc-editor.org/rfc/rfc\1">RFC \1</a>', prose(text))
    return re.sub(r"commit ([0-9a-f]{12})", lambda found: f"commit {commit(found[1])}", linked)


def commit(digits: str) -> str:
    """Return a link to a kernel commit, from the first digits of its hash."""
    return f'<a href="{_COMMITS}{escape(digits)}"><code>{escape(digits)}</code></a>'


def measured(result: Result) -> str:
    """Return the measured figure and, below it, the interval with its coverage and the number of trials."""
    bounds = interval(result.measured).replace(" %)", "\N{NO-BREAK SPACE}%)")
    below = ", ".join(filter(None, [bounds, trials(result)]))
    return f"<strong>{answer(result, result.measured)}</strong>" + (f"<br><small>{below}</small>" if below else "")


def claimed(result: Result) -> str:
    """Return a claim's figure. A figure that the article only implies is marked."""
    if result.claimed is None:
        return DASH
    said = claimed_briefly(result)
    title = escape(result.claimed.source)
    kind = "implied" if result.implied else "quoted"
    return f'<span class="{kind}" title="{title}">{said}{" (implied)" if result.implied else ""}</span>'


def verdict(result: Result) -> str:
    """Return the verdict on an arm, or the grade of a witness. A study's figure has a dash."""
    if result.explains:
        return witness(result)
    return badge(result.verdict.kind) if result.verdict else DASH


def marks(results: Iterable[Result], kinds: Iterable[Kind] = ()) -> str:
    """Return what the marks in a column of claimed figures mean, to stand at the column; "" without marks.

    `kinds` are the verdicts that have a sign in the column.
    """
    shown = [result for result in results if result.claimed]
    used = {result.bound.strip() for result in shown}
    told = [f"{sign(kind)}\N{NO-BREAK SPACE}{kind}" for kind in dict.fromkeys(kinds)]
    told += [f"{escape(mark)}\N{NO-BREAK SPACE}{meaning}" for mark, meaning in _BOUNDS.items() if mark in used]
    if any(result.implied for result in shown):
        told.append('<em class="implied">(implied)</em> follows from the article\'s words')
    return f'<p class="about marks">In the column Claimed: {"; ".join(told)}.</p>' if told else ""


def allowed(tolerance: object) -> str:
    """Return the tolerance around the claimed figure in a few words, as HTML."""
    said = str(tolerance)
    return _ALLOWED.get(said, prose(said))


def percent(ratio: float | None) -> str:
    """Return a ratio as a percentage, in HTML (see `wording.percent`)."""
    return escape(wording.percent(ratio))


def model_error(result: Result) -> str:
    """Return the model's error, with a mark if the error exceeds the accuracy, or if the interval leaves this open."""
    said, allowed = escape(wording.off_by(result)), f"declared accuracy: {escape(str(result.accuracy))}"
    match result.standing:
        case "off":
            return f'<span class="off" title="{allowed}">{said} !</span>'
        case "undecided":
            return f'<span title="the interval straddles it; {allowed}">{said} (undecided)</span>'
    return said


def model_errors(result: Result) -> str:
    """Return the model's error and, for a simulation, the error of its law below."""
    return model_error(result) + (_beside(percent(result.law_error)) if result.law else "")


def beside_prediction(result: Result) -> str:
    """Return a line with the prediction and its error, to stand below a measured figure; "" without a prediction."""
    if result.prediction is None:
        return ""
    said = prose(result.why_not_predicted) or f"{foreseen_answer(result)}, {model_error(result)}"
    return _beside(f"predicted: {said}")


def predicted(result: Result) -> str:
    """Return the predicted figure and, below it, a simulation's law. A reason replaces a missing figure."""
    why, no_law = (prose(each) for each in (result.why_not_predicted, result.why_no_law))
    law = _law(result) or _beside(no_law and f"no law: {no_law}", "why")
    return foreseen_answer(result) + _beside(why, "why") + _late(result) + law


def predicted_briefly(result: Result) -> str:
    """Return the predicted figure and the law's figure, with the reasons for missing figures as tooltips."""
    said = foreseen_answer(result)
    if result.why_not_predicted:
        said = f'<span title="{escape(result.why_not_predicted)}">{said}</span>'
    return said + _late(result) + _law(result)


def _late(result: Result) -> str:
    return _beside(f"after the fact, on {result.predicted_at[:10]}" if result.after_the_fact else "", "late")


def _law(result: Result) -> str:
    return _beside(f"law: {answer(result, result.law)}") if result.law else ""


def basis(prediction: Prediction, skill: float | None = None) -> str:
    """Return a prediction's name, kind, basis, and skill over a naive prediction."""
    said = f"{code(prediction.name)}, {prediction.kind}: {cited(prediction.basis)}"
    said += "" if skill is None else f"; skill {skill:.2f}".replace("-", "−") + " over one figure for all arms"
    no_law = prediction.kind == "simulation" and prediction.law is None
    return f"{said}; no law: {prose(prediction.because)}" if no_law else said


def _beside(said: str, kind: str = "") -> str:
    return f'<div class="{f"beside {kind}".strip()}">{said}</div>' if said else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table with cells that are already HTML. The first cell of a row is its head.

    On a narrow screen, each row is a block, with `head` as the labels of its cells. With the ARIA roles, screen readers
    still treat the blocks as a table.
    """
    return rowed(head, (f"<tr{_ROW}>{cells(head, row)}</tr>" for row in rows), kind)


def cells(head: Sequence[str], row: Sequence[str]) -> str:
    """Return the cells of one row: the row's head, then a cell for each name in `head`."""
    first, *others = zip(head, row, strict=True)
    body = "".join(f'<td role="cell" data-label="{escape(name)}">{cell}</td>' for name, cell in others)
    return f'<th role="rowheader" scope="row" data-label="{escape(first[0])}">{first[1]}</th>{body}'


def rowed(head: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """Return a table with rows that are already HTML."""
    top = "".join(f'<th role="columnheader" scope="col"{_tooltip(name)}>{escape(name)}</th>' for name in head)
    body = "\n".join(rows)
    return (
        f'<table role="table" class="{f"cards {kind}".strip()}"><thead role="rowgroup"><tr{_ROW}>{top}</tr></thead>\n'
        f'<tbody role="rowgroup">\n{body}\n</tbody></table>'
    )


def folded(summary: str, inner: str) -> str:
    """Return `inner`, hidden until a click unfolds it, or until a link to a part of it is followed."""
    return f"<details><summary>{escape(summary)}</summary>\n{inner}\n</details>"
