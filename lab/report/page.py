"""Render an executed notebook as a page: one file that needs nothing else, and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["render"]

_HERE = Path(__file__).parent


def render(notebook: Any, name: str) -> str:
    """Return the page as HTML. Code is folded; the title is the notebook's metadata `title`, else `name`."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="template", extra_template_basedirs=[str(_HERE)], exclude_anchor_links=True, embed_images=True
    )
    title = notebook.metadata.get("title", name)
    resources = {"title": title, "style": (_HERE / "template" / "page.css").read_text(encoding="utf-8")}
    body, _ = exporter.from_notebook_node(notebook, resources)
    return str(body)
