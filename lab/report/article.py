"""Show an article, or all of them, on pages: where the claims come from, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import get_args

from lab.prediction import Kind as PredictionKind
from lab.report import html, notebooks
from lab.report.claim import Claim
from lab.report.claims import Claims
from lab.spec.loaded import Article as Source
from lab.verdict import Kind, Result

__all__ = ["Article", "Overview"]

_SET = (
    ("congestion control", "net.ipv4.tcp_congestion_control"),
    ("tcp_rmem", "net.ipv4.tcp_rmem"),
    ("tcp_wmem", "net.ipv4.tcp_wmem"),
    ("timestamps", "net.ipv4.tcp_timestamps"),
    ("SACK", "net.ipv4.tcp_sack"),
    ("window scaling", "net.ipv4.tcp_window_scaling"),
)


@dataclass(frozen=True, repr=False)
class Article(Claims):
    """An article shows its judged claims."""

    @property
    def source(self) -> Source:
        """Return title, author, date and address."""
        return self.claims[0].judged.declared.article

    def _repr_html_(self) -> str:
        """Return the title and the bibliographic line."""
        source = self.source
        parts = [source.author if known(source.author) else "author not named"]
        parts += [source.date] if source.date else []
        if source.url.startswith("http"):
            parts.append(f'<a href="{escape(source.url)}">{escape(source.url)}</a>')
            parts[:-1] = [escape(part) for part in parts[:-1]]
        else:
            parts = [escape(part) for part in parts]
        title = f'<h1>{escape(source.title)}</h1>\n<p class="source">The article: {", ".join(parts)}.</p>'
        return f"{title}\n{self._test_bed()}"

    def _test_bed(self) -> str:
        """Return what the trials have in common; a claim says what is different in its own."""
        cases = [case for claim in self for case in claim.judged.cases]
        trials = [record.trial for claim in self for record in claim.records]
        kernels = dict.fromkeys(f"Linux {trial.kernel['version']}, HZ {trial.kernel['hz']}" for trial in trials)
        clocks = " and ".join(clock for clock in ("virtual", "real") if clock in {trial.clock for trial in trials})
        said = [
            f"{name} {_usual(case.network.node(case.path[0]).sysctls.get(key) for case in cases)}" for name, key in _SET
        ]
        rows = [
            ["Kernel", escape("; ".join(kernels)) or html.DASH],
            [
                "Time",
                f"{clocks}; in virtual time hosts cost nothing, and only wires and timers take time"
                if clocks
                else html.DASH,
            ],
            ["TCP", escape(", ".join(said))],
        ]
        return html.folded(
            "Test bed, where a claim says nothing else", html.table(["", "What trials have"], rows, "bed")
        )


@dataclass(frozen=True, repr=False)
class Overview:
    """The overview shows all articles: the totals, then a table of claims per article."""

    articles: tuple[Article, ...]

    def __iter__(self) -> Iterator[Article]:
        return iter(self.articles)

    def __repr__(self) -> str:
        return "\n".join(f"{article.source.name}: {_count(article, plain=True)}" for article in self)

    def _repr_html_(self) -> str:
        claims = Claims(tuple(claim for article in self for claim in article))
        if not claims:
            return "<p>No claims.</p>"
        how_many = f"{len(claims)} claims of {len(self.articles)} articles: {_count(claims)}."
        return "\n".join(
            [
                f'<p class="sum">{how_many}</p>',
                f"<p>{_predictions(claims)}</p>",
                _contents(self.articles, claims),
                *(_block(article) for article in self),
            ]
        )


def _usual(values: Iterable[str | None]) -> str:
    """Return the value that most cases have."""
    counted = Counter(value for value in values if value is not None)
    return counted.most_common(1)[0][0] if counted else "as the kernel has it"


def known(text: str) -> bool:
    """Return whether a bibliographic field says something."""
    return text.strip().lower() not in ("", "unknown", "unnamed")


def _count(claims: Iterable[Claim], plain: bool = False) -> str:
    kinds = [claim.verdict.kind for claim in claims]
    having = [kind for kind in get_args(Kind) if kind in kinds]
    return ", ".join(f"{kinds.count(kind)} {kind if plain else html.badge(kind)}" for kind in having)


def _predictions(claims: Claims) -> str:
    """Say how many predictions there are, and how far the worst of them is off."""
    tested = [(claim, result) for claim in claims for result in _tested(claim)]
    if not tested:
        return "No prediction was tested."
    off = sum(result.model_is_off for _, result in tested)
    allowed = f"{off} of them further off than their experiment allows" if off else "all as accurate as declared"
    worst, result = max(tested, key=lambda each: abs(each[1].model_error or 0))
    largest = f'{html.model_error(result)} (<a href="{_address(worst)}">{escape(worst.id)}</a>)'
    kinds = [result.prediction.kind for _, result in tested if result.prediction]
    having = ", ".join(f"{kind} {kinds.count(kind)}" for kind in get_args(PredictionKind) if kind in kinds)
    return f"{len(tested)} predictions tested ({having}), {allowed}. The largest error is {largest}."


def _contents(articles: Iterable[Article], claims: Claims) -> str:
    """Return a table with one line per article: how many of its claims came out how, and its largest model error."""
    kinds = [kind for kind in get_args(Kind) if claims.filter(verdict=kind)]
    rows = [
        [
            f'<a href="#{escape(article.source.name)}">{escape(article.source.title)}</a>',
            str(len(article)),
            *(str(len(article.filter(verdict=kind)) or "") for kind in kinds),
            _worst(result for claim in article for result in _tested(claim)),
        ]
        for article in articles
    ]
    return html.table(["Article", "Claims", *(kind.capitalize() for kind in kinds), "Model error"], rows, "contents")


def _block(article: Article) -> str:
    title = escape(article.source.title)
    page = _page(article.source.name)
    link = f'<a href="{page}">{title}</a>' if page else title
    head = f'<h2 id="{escape(article.source.name)}">{link}</h2>'
    return head + "\n" + html.table(["Claim", "Verdict", "Model error", "Why"], map(_row, article), "index")


def _row(claim: Claim) -> list[str]:
    text = html.prose(claim.judged.declared.claim)
    address = _address(claim)
    return [
        (f'<a href="{address}">{text}</a>' if address else text)
        + f'<div class="verify">verify: {html.code(f"lab run {claim.id}")}</div>',
        html.badge(claim.verdict.kind),
        _worst(_tested(claim)),
        claim.why,
    ]


def _worst(results: Iterable[Result]) -> str:
    """Return the largest error of a prediction; one that is further off than it may be comes before all others."""
    worst = max(results, key=lambda result: (result.model_is_off, abs(result.model_error or 0)), default=None)
    return html.model_error(worst) if worst else html.DASH


def _tested(claim: Claim) -> list[Result]:
    """Return the results that hold a prediction to account: on every arm, in virtual time."""
    return [result for result in claim.results if result.accuracy and result.predicted and result.measured]


def _address(claim: Claim) -> str:
    page = _page(claim.article)
    return f"{page}#{escape(claim.name)}" if page else ""


def _page(article: str) -> str:
    return f"{escape(article)}.html" if article in notebooks.found() else ""
