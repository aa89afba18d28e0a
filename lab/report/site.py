"""Build the output of `lab report`: every notebook, executed and rendered, with the evidence that pages link to.

The folder holds the targets of all links, so it can be published as is. This module also builds the page that compares
two kernels.
"""

from __future__ import annotations

import base64
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lab.base import child, writing
from lab.errors import InputError, MachineError
from lab.record.record import Record
from lab.record.store import Store
from lab.report import notebooks, page
from lab.report.answer import ANSWERS, FIGURES
from lab.report.colophon import colophon
from lab.report.evidence import source_file
from lab.report.experiment import EXPERIMENTS, listing
from lab.report.told import Compared
from lab.report.trials import TrialPages
from lab.spec import shipped
from lab.spec.errors import instead

_NOTHING: Mapping[str, Mapping[str, Path]] = MappingProxyType({})


@dataclass(frozen=True)
class Pages:
    """Describes the built pages: the index, and one page per article."""

    index: Path
    articles: tuple[Path, ...]


def build(
    results: Path,
    out: Path,
    say: Callable[[str], None],
    wanted: Sequence[str] = (),
    elsewhere: Mapping[str, Mapping[str, Path]] = _NOTHING,
    further: Iterable[Callable[[Store, Path], str]] = (),
) -> Pages:
    """Render the notebooks to `out` from the records in the store `results`, and return the pages.

    Each function in `further` writes pages about other records of the store to a folder, and returns the section of the
    index page that links to them, or "" if there are none.

    The function reports progress to `say`. There is a page for each article in `wanted` and `elsewhere` (default: all
    articles in the project, and others with records in the store). `elsewhere` has the experiment files of articles
    outside of the project, by article and claim. An article without a notebook gets a default notebook, which is also
    written to the report's notebooks as a starting point. Pages are moved into place after all of them are rendered,
    and other files in `out` stay. A claim without a record shows as skipped. Raises NotebookFailed. Raises InputError
    if there are no notebooks or no articles to show, for an unknown article, or if a page would replace a foreign file.
    Raises MachineError for a folder that cannot be written.
    """
    found = notebooks.found()
    without: dict[str, tuple[str | list[str], list[str]]]
    without = {name: (name, claims) for name, claims in notebooks.bare().items()}
    without |= {name: ([str(file) for file in files.values()], [*files]) for name, files in elsewhere.items()}
    if notebooks.INDEX not in found:
        raise InputError("there is no notebooks/index.ipynb here, nor in the project")
    known = {**found, **dict.fromkeys(without, shipped.project() / "notebooks")}
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with (
            Store(results).held() if results.is_dir() else nullcontext(),
            tempfile.TemporaryDirectory(prefix=".report-", dir=out.parent) as fresh,
            child.pool() as workers,
        ):
            folder, store = Path(fresh), Store(results)
            sections = "".join(each(store, folder) for each in further)
            articles = _shown(known, store, [*wanted, *elsewhere], bool(sections))
            for name in (*articles, notebooks.INDEX):
                _check_own(out / f"{name}.html")
            for name in without.keys() & {*articles}:
                found[name] = folder / "notebooks" / f"{name}.ipynb"
                notebooks.write_default(found[name], *without[name])
                say(
                    f"{name} has no notebook: its page is made of a default one, {out / 'notebooks' / found[name].name}"
                )
            sources = {found[name]: notebooks.read(found[name]) for name in (*articles, notebooks.INDEX)}
            trial_pages = TrialPages(folder, workers)
            executed = _render(sources, store, folder, sections, trial_pages, say)
            for name in {*articles, notebooks.INDEX} - without.keys():
                _copy(found[name], folder / "notebooks" / f"{name}.ipynb")
            _add_experiments(folder, elsewhere, _told(executed, EXPERIMENTS))
            if trial_pages:
                say(f"writing {len(trial_pages)} trials")
            trial_pages.finish()
            _put(folder, out)
    except OSError as error:
        raise MachineError(f"the report cannot be written to {out}: {error.strerror or error}") from error
    return Pages(out / f"{notebooks.INDEX}.html", tuple(out / f"{name}.html" for name in articles))


def _render(
    sources: Mapping[Path, Any],
    store: Store,
    folder: Path,
    sections: str,
    trial_pages: TrialPages,
    say: Callable[[str], None],
) -> list[Any]:
    """Execute the notebooks and write their pages: first the articles', then the index with these `sections`.

    Return the executed notebooks.

    The pages of an article's trials are written while other notebooks still run. The index receives the figures that
    the articles measured.
    """
    *articles, last = sources
    around = {path.stem: page.title_of(source, path.stem) for path, source in sources.items()}
    say(f"rendering {', '.join(path.name for path in sources)}")

    def ended(path: Path, notebook: Any) -> None:
        text, told = _write(notebook, path.stem, around, folder), _told([notebook], ANSWERS)
        trial_pages.add((each for each in _records([text], store) if each.address in told), told)

    names = [path.stem for path in articles]
    before = {path: sources[path] for path in articles}
    executed = notebooks.execute(before, store.root, say, articles=names, ended=ended)
    figures = [row for output in _outputs(executed) for row in output.get("metadata", {}).get(FIGURES, ())]
    executed += notebooks.execute({last: sources[last]}, store.root, say, articles=names, figures=figures)
    below = sections + colophon(_records(_texts(folder), store))
    _write(executed[-1], last.stem, around, folder, below)
    trial_pages.add(_records(_texts(folder), store), _told(executed, ANSWERS))
    return executed


def build_comparison(results: Path, compared: Compared, out: Path, say: Callable[[str], None]) -> None:
    """Build the page that compares two kernels in the file `out`. Raises the errors of `build`."""
    source = notebooks.kernels()
    say(f"rendering {source.name}")
    (executed,) = notebooks.execute({source: notebooks.read(source)}, results, say, compared)
    writing.write(page.render(executed, notebooks.KERNELS), out)


def _check_own(file: Path) -> None:
    """Raise InputError for a file that is not a page of a report."""
    try:
        is_own = page.SOURCE in file.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return
    if not is_own:
        raise InputError(f"{file} is not a page of a report; choose a different folder, or remove the file")


def _shown(found: Mapping[str, Path], store: Store, wanted: Sequence[str], may_be_none: bool) -> list[str]:
    """Return the articles that get pages, with the packs' articles last. Raises InputError."""
    known = {name: path for name, path in found.items() if name != notebooks.INDEX}
    for name in wanted:
        if name not in known:
            raise InputError(f"no article is called '{name}' here{instead(name, sorted(known))}")
    here, run = shipped.project() / shipped.EXPERIMENTS, store.articles()
    names = wanted or [name for name in known if (here / name).is_dir() or name in run]
    if not names and not may_be_none:
        raise InputError(f"{store.root} has no records, and there is no article here; `lab run` makes records")
    own = {root / "notebooks" for root in shipped.roots()}
    return sorted({*names}, key=lambda name: (not {known[name], known[name].parent} & own, name))


def _write(notebook: Any, name: str, around: dict[str, str], folder: Path, sections: str = "") -> str:
    """Write a page, and the page's figures as PNG and their data as CSV next to the page. Return the page's text."""
    text = page.render(notebook, name, around, notebooks.INDEX, sections)
    (folder / f"{name}.html").write_text(text, encoding="utf-8")
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for output in _outputs([notebook]):
        figure = output.get("metadata", {}).get("figure")
        if figure:
            (figures / f"{figure}.png").write_bytes(base64.b64decode(output.data["image/png"]))
            if table := output.metadata.get("csv"):
                (figures / f"{figure}.csv").write_text(table, encoding="utf-8")
    return text


def _outputs(executed: Iterable[Any]) -> Iterator[Any]:
    """Yield the outputs of these notebooks' cells."""
    yield from (output for notebook in executed for cell in notebook.cells for output in cell.get("outputs", ()))


def _told(executed: Iterable[Any], key: str) -> dict[str, str]:
    """Return what the notebooks' articles tell for other pages: ANSWERS by a trial's address, or EXPERIMENTS by id."""
    found: dict[str, str] = {}
    for output in _outputs(executed):
        found |= output.get("metadata", {}).get(key, {})
    return found


def _add_experiments(folder: Path, elsewhere: Mapping[str, Mapping[str, Path]], told: Mapping[str, str]) -> None:
    """Write a page for each experiment file that the pages link to, with the file itself beside it.

    `told` is what the pages' claims tell about each experiment, by the claim's id.
    """
    files = {f"{article}/{claim}": file for article, claims in elsewhere.items() for claim, file in claims.items()}
    claims = _linked(_texts(folder), re.compile(re.escape(source_file("\0")).replace("\0", r"([\w.-]+/[\w.-]+)")))
    for claim in claims:
        places = (root / "experiments" / f"{claim}.py" for root in shipped.places())
        if path := files.get(claim) or next(filter(Path.is_file, places), None):
            target = folder / source_file(claim)
            _copy(path, target.with_suffix(".py"))
            target.write_text(listing(claim, path.read_text(encoding="utf-8"), told.get(claim, "")), encoding="utf-8")
    if claims:
        page.write_shared(folder)


def _texts(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html"))]


def _records(texts: Iterable[str], store: Store) -> list[Record]:
    """Return the records that these pages link to."""
    addresses = _linked(texts, re.compile(r"trials/([0-9a-f]{64})/"))
    return [record for record in map(store.get, addresses) if record]


def _linked(texts: Iterable[str], address: re.Pattern[str]) -> list[str]:
    """Return the distinct matches of the pattern in links, in order of appearance."""
    links = (link for text in texts for link in re.findall(r'href="([^"]+)"', text))
    return list(dict.fromkeys(found[1] for link in links if (found := address.match(link))))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _put(fresh: Path, out: Path) -> None:
    """Move every file to its place in `out`, and replace each file atomically."""
    for source in sorted(path for path in fresh.rglob("*") if path.is_file()):
        target = out / source.relative_to(fresh)
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
