"""Show all articles and the packs' sources on the index: the answer of each source, then every claim in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import get_args

from lab.report import evidence, html, notebooks, wording
from lab.report.article import Article
from lab.report.claim import Claim
from lab.report.claims import Claims
from lab.report.tally import tally, tested, worst
from lab.spec.prediction import Kind

_HEAD = ("Claim", "Verdict", "Why", "Model error")


@dataclass(frozen=True, repr=False)
class Overview:
    """Shows all articles: the answer of each, the totals, then the claims of each article.

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
                *(_found(self.articles, "article") if self.articles else []),
                *map(_block, self.articles),
                *(others if self.others else []),
                *map(_block, self.others),
            ]
        )


def _found(articles: Sequence[Article], kind: str) -> list[str]:
    """Return the totals of articles, the finding of each, and the accuracy of the predictions."""
    claims = Claims(tuple(claim for article in articles for claim in article))
    counts = f"{wording.plural(len(claims), 'claim')} of {wording.plural(len(articles), kind)}"
    return [
        f'<p class="sum">{counts}: {_counted(claims)}</p>',
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
    return f"<section><h2>{_link(article)}</h2>{title}<p>{_counted(article)}</p>{answer}</section>"


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
    of = next(claim for claim, each in found if each is result)
    kinds = [each.prediction.kind for _, each in found if each.prediction]
    copies = sum(kind in ("replay", "simulation") for kind in kinds)
    having = ", ".join(f"{kind} {kinds.count(kind)}" for kind in get_args(Kind) if kind in kinds)
    having += f"; {copies} of them copy the kernel's own rules" if copies else ""
    largest = f'{html.model_error(result)} (<a href="{_address(of)}">{escape(of.id)}</a>)'
    return f"{len(found)} predictions tested ({having}), {allowed}. The largest error is {largest}."


def _block(article: Article) -> str:
    head = html.heading(article.source.name, _link(article, article.source.title), article.source.title)
    return head + "\n" + html.table(_HEAD, map(_row, article), "index")


def _row(claim: Claim) -> list[str]:
    text, address = html.prose(claim.judged.declared.claim), _address(claim)
    title = f'<a href="{address}">{text}</a>' if address else text
    return [
        f'{title}<div class="about">{evidence.again(claim.id)}</div>',
        html.badge(claim.verdict.kind),
        claim.why,
        _error([claim]),
    ]


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
