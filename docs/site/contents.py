"""Read the site's order of pages from docs/README.md: a section is a part of the contents, a link is a page."""

from __future__ import annotations

import posixpath
import re

__all__ = ["INDEX", "trees"]

INDEX = "docs/README.md"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_PAGE = re.compile(r"^- \[[^]]*\]\(([^)#]+)\.md\)", re.MULTILINE)
_TREE = "\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def trees(index: str) -> str:
    """Return the contents as Sphinx reads them, below the front page that they belong to."""
    _, *parts = _SECTION.split(index)
    sections = zip(parts[::2], parts[1::2], strict=True)
    return "".join(_TREE.format(caption=caption, pages="\n".join(pages(text))) for caption, text in sections)


def pages(section: str) -> list[str]:
    """Return the names of a section's pages: each list item begins with the link to one."""
    return [posixpath.normpath(posixpath.join(posixpath.dirname(INDEX), link)) for link in _PAGE.findall(section)]
