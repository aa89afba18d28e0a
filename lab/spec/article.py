"""Read the article that a folder of experiments tests: its article.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lab.spec import document
from lab.spec.document import Document
from lab.spec.errors import Problem, SpecError, suggestion
from lab.spec.loaded import Article

_NEEDED = ("title", "author", "date", "url")
_OURS = ("headline", "answer")  # what we found: it need not be there


def load(folder: Path) -> Article:
    """Read the article of `folder`; one without article.yaml has only its name. Raises SpecError for mistakes in it."""
    path = folder / "article.yaml"
    if not path.exists():
        return Article(folder.name, title=folder.name, author="", date="", url="")
    read = document.read(path)
    wanted = (*_NEEDED, *_OURS, "story")
    problems = [read.problem((), f"missing: {key}") for key in _NEEDED if read.data.get(key) is None]
    problems += [
        read.problem((key,), f"{key}: unknown key{suggestion(key, wanted)}") for key in read.data if key not in wanted
    ]
    problems += _mistakes_in_story(read, folder)
    if problems:
        raise SpecError(problems)
    texts = {key: " ".join(str(read.data.get(key, "")).split()) for key in (*_NEEDED, *_OURS)}
    return Article(folder.name, **texts, story=dict(read.data.get("story", {})))


def _mistakes_in_story(read: Document, folder: Path) -> Iterator[Problem]:
    """Yield what is wrong with the order of the claims: no mapping, unknown claims, names that are no text."""
    story = read.data.get("story", {})
    if not isinstance(story, dict):
        yield read.problem(("story",), "story: should be a mapping of claims to short names")
        return
    known = [file.stem for file in folder.glob("*.py")]
    for claim, name in story.items():
        if claim not in known:
            yield read.problem(("story", claim), f"story: unknown claim '{claim}'{suggestion(claim, known)}")
        if not isinstance(name, str) or not name:
            yield read.problem(("story", claim), f"story: {claim} should have a short name")
