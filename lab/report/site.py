"""Build what `lab report` writes: every notebook executed and rendered, with the evidence that the pages link.

The folder can be published as it is: what a page links to is in it. The page of two kernels is built here, too.
"""

from __future__ import annotations

import base64
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import shipped
from lab.errors import InputError, MachineError
from lab.record.store import Store
from lab.report import notebooks, page, trials
from lab.report.evidence import source_file
from lab.report.notebooks import Compared

__all__ = ["Pages", "build", "build_comparison"]


@dataclass(frozen=True)
class Pages:
    """The pages are the index and one per article."""

    index: Path
    articles: tuple[Path, ...]


def build(results: Path, out: Path, say: Callable[[str], None]) -> Pages:
    """Render the notebooks to `out` from the records in the store `results`, reporting progress to `say`.

    A pack's page is made where there is a record of its claims: otherwise it has nothing to show. Pages are put in
    place when all of them are rendered; other files in `out` stay. A claim without a record is shown as skipped.
    Raises NotebookFailed, InputError without notebooks, MachineError for a place that cannot be written.
    """
    found = notebooks.found()
    if notebooks.INDEX not in found:
        raise InputError("there is no notebooks/index.ipynb here, nor in the project")
    articles = _shown(found, Store(results))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with (
            Store(results).held() if results.is_dir() else nullcontext(),
            tempfile.TemporaryDirectory(prefix=".report-", dir=out.parent) as fresh,
        ):
            names = [*articles, notebooks.INDEX]
            say(f"rendering {', '.join(found[name].name for name in names)}")
            executed = notebooks.execute([found[name] for name in names], results, out, say)
            around = {name: page.title_of(notebook, name) for name, notebook in zip(names, executed, strict=True)}
            for name, notebook in zip(names, executed, strict=True):
                _write(notebook, name, around, Path(fresh))
                _copy(found[name], Path(fresh) / "notebooks" / f"{name}.ipynb")
            _add_evidence(Path(fresh), Store(results), say)
            _put(Path(fresh), out)
    except OSError as error:
        raise MachineError(f"the report cannot be written to {out}: {error.strerror or error}") from error
    return Pages(out / f"{notebooks.INDEX}.html", tuple(out / f"{name}.html" for name in articles))


def build_comparison(results: Path, compared: Compared, out: Path, say: Callable[[str], None]) -> None:
    """Build the page of two kernels, in the file `out`. Raises as `build` does."""
    source = notebooks.kernels()
    say(f"rendering {source.name}")
    (executed,) = notebooks.execute([source], results, out.parent, say, compared)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page.render(executed, notebooks.KERNELS), encoding="utf-8")
    except OSError as error:
        raise MachineError(f"the page cannot be written to {out}: {error.strerror or error}") from error


def _shown(found: Mapping[str, Path], store: Store) -> list[str]:
    """Return the articles to make pages of: of packs only those that the store has records of, after all others."""
    own, run = {root / "notebooks" for root in shipped.roots()}, store.articles()
    wanted = (name for name in found if name != notebooks.INDEX and (found[name].parent in own or name in run))
    return sorted(wanted, key=lambda name: (found[name].parent not in own, name))


def _write(notebook: Any, name: str, around: dict[str, str], folder: Path) -> None:
    """Write a page, and its figures as PNG next to it."""
    (folder / f"{name}.html").write_text(page.render(notebook, name, around, notebooks.INDEX), encoding="utf-8")
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            figure = output.get("metadata", {}).get("figure")
            if figure:
                (figures / f"{figure}.png").write_bytes(base64.b64decode(output.data["image/png"]))


def _add_evidence(folder: Path, store: Store, say: Callable[[str], None]) -> None:
    """Write the trials and copy the experiments that the pages link to."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html"))]
    claims = _linked(texts, re.compile(re.escape(source_file("\0")).replace("\0", r"([\w.-]+/[\w.-]+)")))
    for claim in claims:
        for root in shipped.places():
            path = root / "experiments" / f"{claim}.py"
            if path.is_file():
                _copy(path, folder / source_file(claim))
                break
    addresses = _linked(texts, re.compile(r"trials/([0-9a-f]{64})/"))
    records = [record for record in map(store.get, addresses) if record]
    if records:
        say(f"writing {len(records)} trials")
        trials.write(records, folder)


def _linked(texts: Iterable[str], address: re.Pattern[str]) -> list[str]:
    """Return what the pattern finds in links, each once, in order."""
    links = (link for text in texts for link in re.findall(r'href="([^"]+)"', text))
    return list(dict.fromkeys(found[1] for link in links if (found := address.match(link))))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _put(fresh: Path, out: Path) -> None:
    """Move every file to its place in `out`, replacing each one atomically."""
    for source in sorted(path for path in fresh.rglob("*") if path.is_file()):
        target = out / source.relative_to(fresh)
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
