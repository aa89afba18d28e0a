"""Put a report inside the site: a copy whose pages lead back to the guides. By itself a report leads nowhere else."""

from __future__ import annotations

import shutil
from pathlib import Path

_WAYS = '<nav aria-label="Pages" class="ways">'  # at the top of each page


def put(report: Path, out: Path) -> None:
    """Copy the report into the site's folder `out`, and add a link to the site's front page to each of its pages."""
    inside = out / "report"
    shutil.copytree(report, inside, dirs_exist_ok=True)
    for page in inside.rglob("*.html"):
        up = "../" * len(page.relative_to(out).parent.parts)
        link = f'<a href="{up}index.html">Documentation</a>'
        page.write_text(page.read_text(encoding="utf-8").replace(_WAYS, _WAYS + link, 1), encoding="utf-8")
