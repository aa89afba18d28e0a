"""The commands that README.md and the guides tell a reader to type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    sorted(
        path
        for pattern in ("*.md", "docs/**/*.md", "notebooks/**/README.md", "packs/**/*.md")
        for path in ROOT.glob(pattern)
        if path.name != "CHANGELOG.md"
    )
)
_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^\$ (?P<command>.*)\n(?P<said>(?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Text between two fences."""

    page: Path
    language: str
    text: str
    file: str = ""  # into which a tutorial writes it

    def steps(self) -> Iterator[tuple[str, str]]:
        """(command, what is printed) of each command; `sh` does not say what is printed."""
        if self.language == "console":
            yield from ((match["command"], match["said"]) for match in _TYPED.finditer(self.text))
        elif self.language == "sh":
            for line in self.text.splitlines():
                for command in line.partition(" #")[0].split("&&"):
                    if command.strip():
                        yield command.strip(), ""


def blocks() -> Iterator[Block]:
    for page in PAGES:
        for match in _FENCE.finditer(page.read_text()):
            yield Block(page, match["language"], match["text"])


def commands() -> dict[str, list[str]]:
    """Command -> the pages that have it."""
    found: dict[str, list[str]] = {}
    for block in blocks():
        for command, _ in block.steps():
            found.setdefault(command, []).append(str(block.page.relative_to(ROOT)))
    return found


def spans() -> dict[str, list[str]]:
    """`lab ...` and `make ...` within sentences and tables -> the pages that have it."""
    found: dict[str, list[str]] = {}
    for page in PAGES:
        for text in re.findall(r"`((?:lab|make) [^`\n]+)`", _FENCE.sub("", page.read_text())):
            found.setdefault(text, []).append(str(page.relative_to(ROOT)))
    return found


def tutorial(page: str, part: str) -> Iterator[Block]:
    """The blocks of a page, or of one of its parts, each with the file that it goes into."""
    text = (ROOT / page).read_text()
    section = text.partition(f"## {part}")[2].partition("\n## ")[0] if part else text
    for match in _FENCE.finditer(section):
        named = re.search(r"[Ii]nto\s`([^`]+)`:\s*$", section[: match.start()])
        yield Block(ROOT / page, match["language"], match["text"], named[1] if named else "")
