"""Show what the project has to look at: the networks that it ships, and the reports that were rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from lab.report import notebooks
from lab.report.diagram import diagram
from lab.spec import article as article_files
from lab.spec import find, shipped
from lab.spec.loaded import Article
from lab.units import to_plain

__all__ = ["networks", "reports"]

_NONE = "This site was built before there was a report: `make report` renders it, then `make site` takes it in.\n"


def networks() -> str:
    """Return a section for each topology: its sentence, its picture, its file."""
    return "\n".join(_network(name, path) for name, path in find.topologies().items())


def _network(name: str, path: Path) -> str:
    topology = find.topology(name)
    picture = diagram(to_plain(topology.network), topology.network.nodes[0].name)
    file = path.relative_to(shipped.folder())
    return (
        f"\n## {name}\n\n{topology.about}\n\n"
        f'<figure class="network">\n{picture}\n</figure>\n\n'
        f"`{file}`:\n\n```yaml\n{path.read_text(encoding='utf-8')}```\n"
    )


def reports(folder: Path, address: str) -> str:
    """Return a section for each article of the report in `folder`, which the page finds at `address`."""
    if not (folder / "index.html").is_file():
        return _NONE
    pages = [f'\n<p><a href="{address}/index.html">All articles, and every claim in one line</a></p>\n']
    pages += [_article(found, claims, folder, address) for found, claims in _articles(folder)]
    return "\n".join(pages)


def _articles(folder: Path) -> Iterator[tuple[Article, Mapping[str, str]]]:
    """Yield the articles that the report has a page for, and what to call their claims, in the story's order."""
    for name in sorted(notebooks.found()):
        if name != notebooks.INDEX and (folder / f"{name}.html").is_file():
            place = next(root for root in shipped.places() if (root / "experiments" / name).is_dir())
            experiments = place / "experiments" / name
            read = article_files.load(experiments)
            yield read, read.story or {file.stem: file.stem for file in sorted(experiments.glob("[!_]*.py"))}


def _article(found: Article, claims: Mapping[str, str], folder: Path, address: str) -> str:
    page = f"{address}/{found.name}.html"
    figures = "".join(_figures(found.name, claims, folder, address))
    return (
        f"\n## {found.headline or found.title}\n\n{found.title}. {found.answer}\n\n"
        f'<p><a href="{page}">The report</a></p>\n\n'
        f'<div class="figures">\n{figures}</div>\n'
    )


def _figures(article: str, claims: Mapping[str, str], folder: Path, address: str) -> Iterator[str]:
    """Yield a picture for each figure, which leads to its claim: files are named article.claim.figure.png."""
    for claim, words in claims.items():
        start = f"{article}.{claim}."
        for path in sorted((folder / "figures").glob(f"{start}*.png")):
            shows = re.sub(r"[.-]+", " ", path.stem.removeprefix(start))
            yield (
                f'<a href="{address}/{article}.html#{claim}">'
                f'<img src="{address}/figures/{path.name}" alt="{escape(shows)}" loading="lazy">'
                f"<span>{escape(words)}: {escape(shows)}</span></a>\n"
            )
