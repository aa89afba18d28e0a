"""Show all articles and the packs' sources on the index: the answer of each source, then all claims in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import get_args

from lab.report import evidence, html, notebooks, wording
from lab.report.article import Article
from lab.report.claim import Claim
from lab.report.claims import Claims
from lab.report.colophon import imprint
from lab.report.miniature import key, miniature
from lab.report.tally import tally, tested, worst, worst_law
from lab.report.tested import TestedCase
from lab.spec.prediction import Kind as PredictionKind
from lab.verdict import Kind, Result

_HEAD = ("Claim", "Article", "Verdict", "Why", "Model error", "Packets")


@dataclass(frozen=True, repr=False)
class Overview:
    """Shows all articles: the totals, the answer of each with a small picture, then all claims in one table.

    `others` are the sources in packs. These sources come after the articles, with separate totals.
    """

    articles: tuple[Article, ...]
    others: tuple[Article, ...] = ()

    def __iter__(self) -> Iterator[Article]:
        return iter((*self.articles, *self.others))

    def __repr__(self) -> str:
        return "\n".join(
            f"{article.source.name}: {', '.join(f'{count} {kind}' for kind, count in tally(article))}"
            for article in self
        )

    def _repr_html_(self) -> str:
        if not any(self):
            return "<p>No claims.</p>"
        others = [html.heading("other-sources", "Other sources"), *_found(self.others, "other source")]
        return "\n".join(
            [
                imprint((record for article in self for record in article.records), "#cite", "#claims"),
                *(_found(self.articles, "article") if self.articles else []),
                *(others if self.others else []),
                html.heading("claims", "All claims", "Claims"),
                html.legend(),
                '<div class="filter" data-filter="verdict article"></div>',
                _table(self),
                html.folded("Commands that run these claims", _again(self)),
            ]
        )


def _found(articles: Sequence[Article], kind: str) -> list[str]:
    """Return the totals of articles, the finding of each, and the accuracy of the predictions."""
    claims = Claims(tuple(claim for article in articles for claim in article))
    counts = f"{wording.plural(len(claims), 'claim')} of {wording.plural(len(articles), kind)}"
    return [
        f'<p class="sum">{counts}: {_counted(claims)}</p>',
        key(articles),
        f'<div class="findings">{"".join(map(_finding, articles))}</div>',
        f"<p>{_predictions(claims)}</p>",
    ]


def _counted(claims: Iterable[Claim]) -> str:
    """Return the number of claims with each verdict."""
    return " ".join(f'<span class="count">{count} {html.badge(kind)}</span>' for kind, count in tally(claims))


def _finding(article: Article) -> str:
    """Return an article's answer, and the counts of its claims' verdicts."""
    source = article.source
    answer = f"<p>{html.prose(source.answer)}</p>" if source.answer else ""
    title = f'<p class="source">{escape(source.title)}</p>' if source.headline else ""
    picture = f'<p class="picture">{miniature(article)}</p>'
    head = html.heading(source.name, _link(article), source.title)
    return f"<section>{head}{title}{picture}<p>{_counted(article)}</p>{answer}</section>"


def _predictions(claims: Claims) -> str:
    """Return the number of predictions, and the largest error, in a sentence."""
    found = list(tested(claims))
    result = worst(claims)
    if result is None:
        return "No prediction was tested."
    off, open_ = (sum(each.standing == kind for _, each in found) for kind in ("off", "undecided"))
    said = [f"{off} of them further off than their experiment allows"] if off else []
    said += [f"{open_} undecided because of chance" if off else f"{open_} of them undecided"] if open_ else []
    allowed = ", ".join(said) or "all as accurate as declared"
    kinds = [each.prediction.kind for _, each in found if each.prediction]
    copies = sum(kind in ("replay", "simulation") for kind in kinds)
    having = ", ".join(f"{kind} {kinds.count(kind)}" for kind in get_args(PredictionKind) if kind in kinds)
    having += f"; {copies} of them copy the kernel's own rules" if copies else ""
    return f"{wording.plural(len(found), 'prediction')} tested ({having}), {allowed}. {' '.join(_largest(claims))}"


def _largest(claims: Claims) -> Iterator[str]:
    """Yield a sentence with the largest error, and its claim, of each sort of predictor."""
    owners = {id(each): claim for claim, each in tested(claims)}

    def of(result: Result) -> str:
        claim = owners[id(result)]
        return f' (<a href="{_address(claim)}">{escape(claim.id)}</a>)'

    sorts: dict[str, tuple[PredictionKind, ...]] = {
        "a replay of the kernel's rules": ("replay", "simulation"),
        "a law": ("law",),
    }
    for name, kinds in sorts.items():
        if (result := worst(claims, *kinds)) and not wording.bound_holds(result):
            yield f"The largest error of {name} is {html.model_error(result)}{of(result)}."
    if (result := worst_law(claims)) and result.law_error:
        said = html.percent(result.law_error).replace(" ", "\N{NO-BREAK SPACE}")
        yield f"Laws that only stand beside a replay, for comparison, are off by up to {said}{of(result)}."


def _table(articles: Iterable[Article]) -> str:
    """Return all claims as one table, which a script can filter and sort."""
    rows = (
        f'<tr role="row" data-verdict="{claim.verdict.kind}" data-article="{escape(article.source.name)}">'
        f"{html.cells(_HEAD, _row(article, claim))}</tr>"
        for article in articles
        for claim in article
    )
    return html.rowed(_HEAD, rows, "index")


def _again(articles: Iterable[Article]) -> str:
    """Return the commands that run each claim, with a new store."""
    found = (evidence.again(claim.id) for article in articles for claim in article)
    return f"<ul>{''.join(f'<li>{each}</li>' for each in found)}</ul>"


def _row(article: Article, claim: Claim) -> list[str]:
    text, address = html.prose(claim.judged.declared.claim), _address(claim)
    kinds: tuple[Kind, ...] = get_args(Kind)
    error = worst([claim])
    size = abs(error.model_error or 0) if error else -1.0
    packets = "".join(evidence.packets(claim, each, claim.short) for each in _deciding(claim)) if address else ""
    return [
        f'<a href="{address}">{text}</a>' if address else text,
        _link(article, article.source.name),
        f'<span data-order="{kinds.index(claim.verdict.kind)}">{html.badge(claim.verdict.kind)}</span>',
        _why(claim),
        f'<span data-order="{size:.6g}">{_error([claim])}</span>',
        packets or wording.DASH,
    ]


def _deciding(claim: Claim) -> list[TestedCase]:
    """Return the first case that counts for the verdict and was run, else the first that was run, or nothing."""
    run = [each for each in claim.tested if each.record]
    return ([each for each in run if each.result.counts] or run)[:1]


def _why(claim: Claim) -> str:
    """Return the reason for the verdict. The commands that run claims are folded, below the table."""
    if claim.verdict.kind == "skipped" and "not run" in claim.verdict.reason:
        return "partly run" if claim.records else "not run"
    return claim.why


def _error(claims: Iterable[Claim]) -> str:
    result = worst(claims)
    return html.model_error(result) if result else wording.DASH


def _link(article: Article, text: str = "") -> str:
    title = escape(text or article.source.headline or article.source.title)
    page = _page(article.source.name)
    return f'<a href="{page}">{title}</a>' if page else title


def _address(claim: Claim) -> str:
    page = _page(claim.article)
    return f"{page}#{escape(claim.name)}" if page else ""


def _page(article: str) -> str:
    there = notebooks.articles_there()
    return f"{escape(article)}.html" if article in (notebooks.found() if there is None else there) else ""
