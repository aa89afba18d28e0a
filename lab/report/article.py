"""An article, or all of them, as pages show them: where the claims come from, and what became of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import get_args

from lab.errors import InputError
from lab.report import html, notebooks
from lab.report.claim import Claim
from lab.report.html import Html
from lab.report.judged import Article as Source
from lab.report.judged import Judged
from lab.verdict import Kind

__all__ = ["Article", "Overview"]


@dataclass(frozen=True)
class Article:
    """The judged claims of one article; `page` is the folder of the page that shows them."""

    judged: tuple[Judged, ...]
    page: Path

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """By the claim's part of the id."""
        return {claim.name: claim for claim in (Claim(each, self.page) for each in self.judged)}

    @property
    def source(self) -> Source:
        """Title, author, date and address."""
        return self.judged[0].declared.article

    def __getitem__(self, name: str) -> Claim:
        """The claim of that name. Raises InputError."""
        if name not in self.claims:
            raise InputError(f"article '{self.source.name}' has no claim '{name}'; it has {', '.join(self.claims)}")
        return self.claims[name]

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims.values())

    def table(self) -> Html:
        """Every claim: reported, predicted, measured, the model's error and the verdict."""
        head = ["Claim", "Arm", "Reported", "Predicted", "Measured", "Model error", "Verdict"]
        rows = []
        for claim in self:
            counted = [each for each in claim.tested if each.result.counts]
            for index, each in enumerate(counted):
                result = each.result
                text = f'<a href="#{escape(claim.name)}">{html.prose(claim.judged.declared.claim)}</a>'
                rows.append(
                    [
                        text if index == 0 else "",
                        html.code(each.label) if len(counted) > 1 else "",
                        html.quoted(result.reported),
                        html.figure(result.predicted),
                        f"<strong>{html.figure(result.measured)}</strong>",
                        html.percent(result.model_error),
                        html.badge(result.verdict.kind if result.verdict else "skipped"),
                    ]
                )
        return Html(html.table(head, rows, "verdicts"))

    def _repr_html_(self) -> str:
        """Title and bibliographic line."""
        source = self.source
        parts = [source.author if known(source.author) else "author not named"]
        parts += [source.date] if source.date else []
        if source.url.startswith("http"):
            parts.append(f'<a href="{escape(source.url)}">{escape(source.url)}</a>')
            parts[:-1] = [escape(part) for part in parts[:-1]]
        else:
            parts = [escape(part) for part in parts]
        return f'<h1>{escape(source.title)}</h1>\n<p class="source">The article: {", ".join(parts)}.</p>'


@dataclass(frozen=True)
class Overview:
    """All articles."""

    articles: tuple[Article, ...]

    def _repr_html_(self) -> str:
        """How many claims came out how, then a table of all, an article a block."""
        kinds = [claim.verdict.kind for article in self.articles for claim in article]
        return "\n".join([f"<p>{_count(kinds)}</p>", *(_block(article) for article in self.articles)])


def known(text: str) -> bool:
    """Whether a bibliographic field says something."""
    return text.strip().lower() not in ("", "unknown", "unnamed")


def _count(kinds: list[Kind]) -> str:
    found = ", ".join(f"{kinds.count(kind)} {html.badge(kind)}" for kind in get_args(Kind) if kind in kinds)
    return f"{len(kinds)} claims: {found}." if kinds else "No claims."


def _block(article: Article) -> str:
    name = article.source.name
    page = f"{escape(name)}.html" if name in notebooks.found() else ""
    title = escape(article.source.title)
    head = f'<h2><a href="{page}">{title}</a></h2>' if page else f"<h2>{title}</h2>"
    rows = [_row(claim, page) for claim in article]
    return head + "\n" + html.table(["Claim", "Verdict", "Model error", "Why"], rows, "index")


def _row(claim: Claim, page: str) -> list[str]:
    text = html.prose(claim.judged.declared.claim)
    errors = [each.result.model_error for each in claim.tested if each.result.counts]
    link = f'<a href="{page}#{escape(claim.name)}">{text}</a>' if page else text
    return [
        f'{link}<div class="verify">{html.code(f"lab run {claim.id}")}</div>',
        html.badge(claim.verdict.kind),
        html.percent(_largest(errors)),
        claim.why,
    ]


def _largest(errors: Iterable[float | None]) -> float | None:
    return max((error for error in errors if error is not None), key=abs, default=None)
