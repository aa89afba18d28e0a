"""Check a report: every link, and every page at several widths in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from lab.errors import InputError
from lab.ext.pagecheck.browser import Browser, browser

WIDTHS = (390, 768, 1100, 1920)  # a phone, a tablet or half a screen, a laptop, a desk
LEAST = 9  # pixels: smaller text is unreadable on a phone
MOST = 1_200_000  # bytes of a page
_VIEWS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((390, "light"), (1100, "dark"))
_RUN = """axe.run().then((found) => found.violations.map(
  ({id, help, nodes}) => ({id, help, count: nodes.length, first: nodes[0].target.join(" ")})))"""
_SCRIPT = Path(__file__).with_name("inspect.js")


@dataclass(frozen=True)
class Inspection:
    """Holds the number of checked pages and their faults."""

    pages: int
    problems: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Return 1 if a page has a fault, else 0."""
        return 1 if self.problems else 0

    def plain(self) -> dict[str, Any]:
        """Return the output of `lab report --check --json`."""
        return {"pages": self.pages, "problems": list(self.problems)}


def inspect(folder: Path, say: Callable[[str], None], axe: Path | None = None) -> Inspection:
    """Return the faults in all pages of a report.

    With `axe`, the file of axe-core's script, also check axe-core's rules. Raises MachineError if there is no browser
    or the browser fails, and InputError if `axe` is not axe-core's script.
    """
    rules = _script(axe) if axe else ""
    pages = sorted(folder.rglob("*.html"))
    problems = [*links(folder, pages), *_heavy(folder, pages)]
    say(f"checking {len(pages)} pages in a browser")
    with browser() as screen:
        for page in pages:
            name = str(page.relative_to(folder))
            problems += _seen(screen, page, name)
            if rules:
                problems += _broken(screen, name, rules)
    return Inspection(len(pages), tuple(problems))


def links(folder: Path, pages: Sequence[Path]) -> Iterator[str]:
    """Yield the links in a report that are dead or lead out of its folder."""
    known: dict[Path, _Page] = {}

    def read(path: Path) -> _Page:
        if path not in known:
            known[path] = _Page(path)
        return known[path]

    for page in pages:
        for link in read(page).links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            name, target = page.relative_to(folder), page.resolve()
            if parts.path:
                target = (page.parent / unquote(parts.path)).resolve()
            if parts.scheme or not target.is_relative_to(folder.resolve()):
                yield f"{name}: the link {link} leads out of the report"
            elif not target.is_file():
                yield f"{name}: the link {link} leads nowhere"
            elif parts.fragment and unquote(parts.fragment) not in read(target).anchors:
                yield f"{name}: the link {link} leads to no such section"


def _heavy(folder: Path, pages: Sequence[Path]) -> Iterator[str]:
    for page in pages:
        if page.stat().st_size > MOST:
            yield f"{page.relative_to(folder)}: {page.stat().st_size / 1e6:.2f} MB, more than {MOST / 1e6:g}"


def _seen(screen: Browser, page: Path, name: str) -> Iterator[str]:
    """Yield the faults of a page at each width."""
    script = _SCRIPT.read_text(encoding="utf-8").replace("LEAST", str(LEAST))
    screen.resize(WIDTHS[0])
    screen.show(page)
    for width in WIDTHS:
        screen.resize(width)
        found = screen.evaluate(script)
        if found["width"] > width:
            yield f"{name} at {width} px: {found['width']} px wide ({'; '.join(found['wide']) or 'no part is'})"
        if width == WIDTHS[0]:
            yield from (f"{name} at {width} px: text of {each}" for each in found["small"])
            yield from (f"{name}: a picture cuts its text ({each})" for each in found["cut"])
            yield from (f"{name}: a picture without words ({each})" for each in found["silent"])


def _script(axe: Path) -> str:
    try:
        script = axe.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{axe} cannot be read: {error}") from error
    if "axe" not in script:
        raise InputError(f"{axe} is not axe-core's script, axe.min.js")
    return script


def _broken(screen: Browser, name: str, rules: str) -> Iterator[str]:
    """Yield the rules that the current page violates, on a phone in light mode and on a laptop in dark mode."""
    screen.evaluate(f"{rules};0")
    for width, scheme in _VIEWS:
        screen.resize(width)
        screen.prefer(scheme)
        for each in screen.evaluate(_RUN):
            said = f"{each['help']} ({each['id']}, {each['count']} times), as {each['first']}"
            yield f"{name} at {width} px, {scheme}: {said}"
    screen.prefer("light")


class _Page(HTMLParser):
    """Reads the links of a page, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and anchors."""
        having = dict(attrs)
        if having.get("id"):
            self.anchors.add(str(having["id"]))
        if tag in ("a", "link") and having.get("href"):
            self.links.append(str(having["href"]))
        if tag in ("img", "script") and having.get("src"):
            self.links.append(str(having["src"]))
