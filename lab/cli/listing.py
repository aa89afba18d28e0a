"""List what there is to run: articles, claims, topologies, kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from lab.kernel import installed_kernels
from lab.spec import find


def everything() -> dict[str, Any]:
    """Return the answer of `lab list --json`. Raises SpecError when an experiment or topology is wrong."""
    loaded = find.find(find.experiments())
    articles = {each.article.name: each.article for each in loaded}
    return {
        "articles": [
            {"article": each.name, "title": each.title, "author": each.author, "date": each.date, "url": each.url}
            for each in articles.values()
        ],
        "claims": [{"claim": each.id, "text": each.claim, "topology": each.topology.name} for each in loaded],
        "topologies": [{"topology": name, "about": find.topology(name).about} for name in find.topologies()],
        "kernels": kernels(),
    }


def render(plain: dict[str, Any]) -> RenderableType:
    """Show the same to a person."""
    parts: list[RenderableType] = []
    for title, key, name, text in (
        ("Articles", "articles", "article", "title"),
        ("Claims", "claims", "claim", "text"),
        ("Topologies", "topologies", "topology", "about"),
    ):
        table = _table(title)
        for row in plain[key]:
            table.add_row(row[name], row[text])
        parts.append(table)
    return Group(*parts, render_kernels(plain["kernels"]))


def kernels() -> list[dict[str, Any]]:
    """Return the kernels that are ready here."""
    return [{"on": kernel.on, **kernel.describe()} for kernel in installed_kernels()]


def render_kernels(plain: Sequence[dict[str, Any]]) -> RenderableType:
    """Show the kernels to a person."""
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
        table.add_row("none", "`lab kernel build` makes one")
    return table


def _table(title: str) -> Table:
    table = Table(title=title, box=None, show_header=False, pad_edge=False, title_justify="left", title_style="bold")
    table.add_column(no_wrap=True)
    table.add_column()
    return table
