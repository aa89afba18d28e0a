"""List articles, claims, topologies and kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.errors import InputError
from lab.machine.kernel import installed_kernels
from lab.report.wording import plural
from lab.spec import find, shipped
from lab.spec.errors import Problem, SpecError, suggestion


def everything() -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Return the output of `lab list --json` and the mistakes in experiments and topologies that cannot be listed."""
    loaded, problems = find.readable(find.experiments())
    wrong = set(problems)
    articles = {each.article.name: each.article for each in loaded}
    topologies = []
    for name in find.topologies():
        try:
            topologies.append({"topology": name, "about": find.topology(name).about})
        except SpecError as error:
            wrong.update(error.problems)
    plain = {
        "articles": [
            {"article": each.name, "title": each.title, "author": each.author, "date": each.date, "url": each.url}
            for each in articles.values()
        ],
        "claims": [{"claim": each.id, "text": each.claim, "topology": each.topology.name} for each in loaded],
        "topologies": topologies,
        "kernels": kernels(),
    }
    return plain, tuple(sorted(wrong))


def matching(plain: dict[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Return the entries whose names or texts contain all words. An article name finds the article's claims.

    Raises InputError if no entry matches.
    """
    of_pack = {article: name for name, folder in shipped.packs().items() for article in _articles(folder)}
    found = {key: [row for row in rows if _has(row, words, of_pack)] for key, rows in plain.items()}
    if not any(found.values()):
        absent = next((word for word in words if not any(_has(row, [word], of_pack) for row in _rows(plain))), words[0])
        guess = suggestion(absent.casefold(), _words(plain))
        raise InputError(f"nothing matches '{' '.join(words)}'{guess or '; `lab list` shows all articles'}")
    return found


def overview(plain: dict[str, Any]) -> RenderableType:
    """Return a list that fits on a screen: articles with the number of claims, packs, topologies and kernels."""
    packs = {name: sorted(_articles(folder)) for name, folder in shipped.packs().items()}
    packed = {article for articles in packs.values() for article in articles}
    counts = Counter(row["claim"].partition("/")[0] for row in plain["claims"])
    articles = _table("Articles")
    articles.add_column(justify="right")
    for row in plain["articles"]:
        if row["article"] not in packed:
            articles.add_row(row["article"], plural(counts[row["article"]], "claim"), row["title"])
    sources = _table("Packs")
    for name, found in packs.items():
        sources.add_row(name, ", ".join(found))
    names = {
        "Topologies": [row["topology"] for row in plain["topologies"]],
        "Kernels": list(dict.fromkeys(kernel["name"] for kernel in plain["kernels"]))
        or ["none; `lab kernel build` builds one"],
    }
    lists = [Text.assemble((f"{title}: ", "bold"), ", ".join(each)) for title, each in names.items()]
    return Group(articles, "", sources, "", *lists, "", "`lab list ARTICLE` or `lab list WORD` shows the claims.")


def render(plain: dict[str, Any]) -> RenderableType:
    """Return every entry with its text, for a terminal."""
    parts: list[RenderableType] = []
    for title, key, name, text in (
        ("Articles", "articles", "article", "title"),
        ("Claims", "claims", "claim", "text"),
        ("Topologies", "topologies", "topology", "about"),
    ):
        if plain[key]:
            table = _table(title)
            for row in plain[key]:
                table.add_row(row[name], row[text])
            parts.append(table)
    if plain["kernels"]:
        parts.append(render_kernels(plain["kernels"]))
    return Group(*parts)


def kernels() -> list[dict[str, Any]]:
    """Return the kernels that are ready on this machine."""
    return [{"on": kernel.on, **kernel.describe()} for kernel in installed_kernels()]


def render_kernels(plain: Sequence[dict[str, Any]]) -> RenderableType:
    """Return the kernels, for a terminal."""
    table = _table("Kernels")
    for kernel in plain:
        about = [kernel["version"]]
        if kernel["on"] == "vm":
            about.append("the distribution's, for --on vm")
        else:
            about.append(f"HZ {kernel['hz']}")
        about.append(f"id {kernel['id'][:12]}")
        if kernel.get("patches"):
            about.append(f"patched: {', '.join(kernel['patches'])}")
        if kernel.get("config"):
            about.append(f"configured: {', '.join(kernel['config'])}")
        if kernel.get("tree"):
            about.append(f"from the tree {kernel['tree']}")
        table.add_row(kernel["name"], ", ".join(about))
    if not plain:
        table.add_row("none", "`lab kernel build` builds one")
    return table


def _rows(plain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (row for rows in plain.values() for row in rows)


def _words(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all entries and packs, and then the words in them and in their texts."""
    names = [str(row[key]) for key in ("article", "claim", "topology", "name") for row in _rows(plain) if key in row]
    yield from dict.fromkeys([*names, *shipped.packs()])
    for text in (str(value) for row in _rows(plain) for value in row.values()):
        yield from re.findall(r"\w+", text.casefold())


def _has(row: dict[str, Any], words: Sequence[str], of_pack: Mapping[str, str]) -> bool:
    article = str(row.get("article") or row.get("claim", "")).partition("/")[0]
    text = " ".join([*map(str, row.values()), of_pack.get(article, "")]).casefold()
    return all(word.casefold() in text for word in words)


def _articles(pack: Path) -> list[str]:
    return [each.name for each in (pack / "experiments").iterdir() if each.is_dir() and not each.name.startswith("_")]


def _table(title: str) -> Table:
    table = Table(title=title, box=None, show_header=False, pad_edge=False, title_justify="left", title_style="bold")
    table.add_column(no_wrap=True)
    return table
