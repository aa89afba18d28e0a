"""Configure Sphinx for the site that `make site` builds: the guides as they are, and pages that are generated.

The source folder is the project's, so that links from one guide to another, or to a file of the project, hold as they
stand. Nothing is fetched: the theme brings its own styles, and readers' own fonts are used.
"""

from __future__ import annotations

import re
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path, PurePosixPath
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import contents  # noqa: E402 # of this folder
import gallery  # noqa: E402
import inside  # noqa: E402
import reference  # noqa: E402

project = "replab"
author = "The replab developers"
copyright = author  # noqa: A001 # Sphinx's name
release = version_of("replab")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "notebooks/**/README.md"]
_READ = ("docs", "notebooks")
exclude_patterns = [f"{path.name}/**" for path in ROOT.iterdir() if path.is_dir() and path.name not in _READ]
myst_heading_anchors = 4
smartquotes = False
default_role = "code"  # docstrings have `names` as Markdown has them
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = "replab"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_domain_indices = False


def setup(app: Sphinx) -> None:
    """Add what is generated: to sources as they are read, to the site when it is built."""
    app.add_config_value("report", str(ROOT / "report"), "env", types=[str])
    app.connect("source-read", _generate)
    app.connect("autodoc-process-signature", _without_factories)
    app.connect("build-finished", _complete)


def _generate(app: Sphinx, page: str, source: list[str]) -> None:
    """Complete a page that lists what the project has. Guides name each other by file: here that is by title."""
    where = PurePosixPath(page)
    if page == root_doc:
        source[0] += contents.trees((ROOT / contents.INDEX).read_text(encoding="utf-8"))
    elif where.parent.name == "api":
        source[0] += reference.names(where.name)
    elif page == "docs/site/networks":
        source[0] += gallery.networks()
    elif page == "docs/site/reports":
        source[0] += gallery.reports(Path(app.config.report), "../../report")
    source[0] = re.sub(r"\[[\w./-]+\.md\]\(", "[](", source[0])


def _without_factories(*described: Any) -> tuple[str | None, str | None]:
    """Show a default that a factory makes as `...`: what dataclasses show is no Python, and is laid out badly."""
    *_, signature, returned = described
    return signature and signature.replace("<factory>", "..."), returned


def _complete(app: Sphinx, failed: Exception | None) -> None:
    """Give the front page the name that servers look for, and put the report inside."""
    if failed is None:
        out, report = Path(app.outdir), Path(app.config.report)
        shutil.copyfile(out / f"{root_doc}.html", out / "index.html")
        if report.is_dir():
            inside.put(report, out)
