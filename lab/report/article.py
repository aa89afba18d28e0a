"""Show an article on its page: the answer of each claim, and the test bed that the trials share."""

from __future__ import annotations

import base64
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Self
from urllib.parse import urlsplit

from lab.report import html, wording
from lab.report.answer import ANSWERS, FIGURES, answers, figures
from lab.report.claim import Claim
from lab.report.claims import Claims
from lab.report.colophon import citation, imprint, kernels
from lab.report.dots import PACKETS, dots
from lab.report.experiment import EXPERIMENTS, experiments
from lab.report.settings import TCP_SETTINGS
from lab.report.tally import tally, worst
from lab.spec.loaded import Article as Source

_OFFLOADS = ("gro", "gso", "tso")
_ECN = "net.ipv4.tcp_ecn"


@dataclass(frozen=True, repr=False)
class Article(Claims):
    """Shows an article's judged claims, the answer first."""

    @classmethod
    def told(cls, claims: Iterable[Claim]) -> Self:
        """Return the article with these claims, in the order of its story. Claims outside the story come last."""
        found = list(claims)
        order = [name for claim in found[:1] for name in claim.judged.declared.article.story]
        places = {name: place for place, name in enumerate(order)}
        return cls(tuple(sorted(found, key=lambda claim: places.get(claim.name, len(places)))))

    @property
    def source(self) -> Source:
        """Return the title, author, date and address, and the answer, which is empty without records."""
        source = self.claims[0].judged.declared.article
        return source if self.records else replace(source, headline="", answer="")

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the answers for the trials' and the experiments' pages, and the figures for the index, as metadata.

        Everything else has methods of its own.
        """
        in_report = all(claim.in_report for claim in self)
        if not in_report:
            return {}, {}
        return {}, {ANSWERS: answers(self), EXPERIMENTS: experiments(self), FIGURES: figures(self)}

    def _repr_html_(self) -> str:
        """Return the top of the page: the headline, the answer, the counts and the dot plot."""
        source, in_report, plot = self.source, all(claim.in_report for claim in self), dots(self).text
        return "\n".join(
            [
                f"<h1>{html.prose(source.headline or source.title)}</h1>",
                f'<p class="source">{_bibliography(source)}</p>',
                imprint(self.records, "#cite" if in_report else "", f"#{PACKETS}" if plot else ""),
                _cards(self),
                *([f'<p class="answer">{html.prose(source.answer)}</p>'] if source.answer else []),
                *([_marks(self)] if plot else []),
                plot,
                html.legend() if self.records else "",
            ]
        )

    def table(self) -> html.Html:
        """Return the figures, verdict, reason and evidence of each claim. A page has them in its sections instead."""
        return html.Summary(super().table().text)

    def test_bed(self) -> html.Html:
        """Return the settings that the trials share. Each claim shows how its own settings differ."""
        shown = html.table(["Part", "What trials have"], self._bed(), "bed")
        source, name = self.source, self.source.name
        said = citation(name, source.headline or source.title, self.records, f"{name}.html")
        in_report = all(claim.in_report for claim in self)
        cite = [html.folded("How to cite this page", f'<div id="cite">{said}</div>')] if said and in_report else []
        return html.Html(html.folded("Test bed, unless a claim states otherwise", shown), self._data(), *cite)

    def _bed(self) -> Iterator[list[str]]:
        trials = [record.trial for record in self.records]
        yield ["Kernel", escape(kernels(self.records)) or wording.DASH]
        clocks = " and ".join(clock for clock in ("virtual", "real") if clock in {trial.clock for trial in trials})
        yield ["Time", f"{clocks}; in virtual time hosts cost nothing, and only wires and timers take time"]
        yield ["TCP", escape(", ".join(f"{name} {self._sysctl(key)}" for name, key in TCP_SETTINGS))]
        ecn = Counter(
            host.get(_ECN) for record in self.records for host in record.environment.get("sysctls", {}).values()
        )
        yield ["ECN", escape(f"tcp_ecn {ecn.most_common(1)[0][0]}" if ecn else "the kernel's default")]
        ends = [
            end for claim in self for case in claim.judged.cases for link in case.network.links for end in link.ends
        ]
        cards = Counter(
            ", ".join(f"{name.upper()} {'on' if getattr(end.offloads, name) else 'off'}" for name in _OFFLOADS)
            for end in ends
        )
        yield ["Offloads", escape(cards.most_common(1)[0][0] if cards else "no card")]
        yield ["Seed", _listed(str(seed) for seed in sorted({trial.seed for trial in trials}))]
        yield ["Programs", _listed(f"userland {trial.userland}" for trial in trials)]
        days = sorted({record.started[:10] for record in self.records if record.started})
        yield ["Run", " to ".join(dict.fromkeys([days[0], days[-1]])) if days else wording.DASH]

    def _sysctl(self, key: str) -> str:
        """Return the most frequent value among the cases."""
        values = [case.network.node(case.path[0]).sysctls.get(key) for claim in self for case in claim.judged.cases]
        counted = Counter(value for value in values if value is not None)
        return str(counted.most_common(1)[0][0]) if counted else "the kernel's default"

    def _data(self) -> str:
        """Return all results as a table for download, with every figure in its base unit."""
        rows = []
        for row in ({"claim": claim.id, **result.plain()} for claim in self for result in claim.results):
            del row[
                "predicted_at"
            ]  # without times of predictions: those missing in the store are made together with the page
            rows.append({**row, "trials": " ".join(row["trials"]), "cause": (row["cause"] or {}).get("grade")})
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else ["claim"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        packed = base64.b64encode(text.getvalue().encode()).decode()
        name = escape(self.source.name)
        return (
            f'<p class="data"><a download="{name}.csv" href="data:text/csv;base64,{packed}">All results as CSV</a></p>'
        )


def _bibliography(source: Source) -> str:
    about = f"About <em>{escape(source.title)}</em>" if source.headline else "The article"
    parts = [about, escape(source.author) if _known(source.author) else "author not named"]
    parts += [escape(source.date)] if source.date else []
    if source.url.startswith("http"):
        parts.append(f'<a href="{escape(source.url)}">{escape(urlsplit(source.url).netloc)}</a>')  # all of it in print
    return ", ".join(parts)


def _known(text: str) -> bool:
    """Return whether a bibliographic field has a value."""
    return text.strip().lower() not in ("", "unknown", "unnamed")


def _cards(claims: Claims) -> str:
    """Return one card per verdict, and a card for the model's largest error."""
    found = [
        f"<strong>{count}</strong> {html.badge(kind)}{_explained(claims.filter(verdict=kind))}"
        for kind, count in tally(claims)
    ]
    error = worst(claims)
    if error and not wording.bound_holds(error):
        kind = error.prediction.kind if error.prediction else "prediction"
        found.append(f"<strong>{html.model_error(error)}</strong> largest model error ({kind})")
    return '<ul class="counts">' + "".join(f"<li>{each}</li>" for each in found) + "</ul>"


def _marks(claims: Claims) -> str:
    """Return what the marks beside the claimed figures of the plot below mean."""
    counted = (result for claim in claims for result in claim.results if result.counts)
    return html.marks(counted, (kind for kind, _ in tally(claims) if kind != "skipped"))


def _explained(claims: Claims) -> str:
    """Return the number of explained claims, by grade."""
    grades = Counter(
        claim.grade for claim in claims if claim.verdict.kind in ("partly", "not reproduced") and claim.grade
    )
    return f" ({', '.join(f'{count} {grade}' for grade, count in grades.items())})" if grades else ""


def _listed(texts: Iterable[str]) -> str:
    return escape("; ".join(dict.fromkeys(texts))) or wording.DASH
