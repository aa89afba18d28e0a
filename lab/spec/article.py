"""Read the article that a folder of experiments tests: its article.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.spec import document
from lab.spec.document import Document
from lab.spec.errors import Problem, SpecError, suggestion
from lab.spec.loaded import Article, Commit

_NEEDED = ("title", "author", "date", "url")
_OURS = ("headline", "answer")  # what the lab found; both are optional
_OF_COMMIT = ("commit", "since", "title", "claims", "known")
_FORMS = (
    ("commit", r"[0-9a-f]{12}", "the first 12 digits of a hash, in quotes"),
    ("since", r"\d+\.\d+", "a version of the kernel in quotes, like '6.6'"),
)


def load(folder: Path) -> Article:
    """Return the article of `folder`, with only its name if there is no article.yaml.

    Raises SpecError for mistakes in the file.
    """
    path = folder / "article.yaml"
    if not path.exists():
        return Article(folder.name, title=folder.name, author="", date="", url="")
    read = document.read(path)
    wanted = (*_NEEDED, *_OURS, "story", "commits")
    problems = [read.problem((), f"missing: {key}") for key in _NEEDED if read.data.get(key) is None]
    problems += [
        read.problem((key,), f"{key}: unknown key{suggestion(key, wanted)}") for key in read.data if key not in wanted
    ]
    known = [file.stem for file in folder.glob("*.py")]
    problems += [*_mistakes_in_story(read, known), *_mistakes_in_commits(read, known)]
    if problems:
        raise SpecError(problems)
    texts = {key: " ".join(str(read.data.get(key, "")).split()) for key in (*_NEEDED, *_OURS)}
    return Article(folder.name, **texts, story=dict(read.data.get("story", {})), commits=tuple(_commits(read)))


def _commits(read: Document) -> Iterator[Commit]:
    for each in read.data.get("commits", ()):
        texts = {key: " ".join(str(each[key]).split()) for key in _OF_COMMIT if key != "claims"}
        yield Commit(**texts, claims=tuple(each["claims"]))


def _mistakes_in_commits(read: Document, claims: Sequence[str]) -> Iterator[Problem]:
    """Yield the mistakes in the commits: not a list, wrong keys, not a hash, not a version, or unknown claims."""
    commits = read.data.get("commits", [])
    if not isinstance(commits, list) or not all(isinstance(each, dict) for each in commits):
        yield read.problem(("commits",), "commits: should be a list of mappings")
        return
    for place, each in enumerate(commits):
        where = ("commits", place)
        yield from (read.problem(where, f"commits: missing: {key}") for key in _OF_COMMIT if key not in each)
        for key in each:
            if key not in _OF_COMMIT:
                yield read.problem((*where, key), f"commits: {key}: unknown key{suggestion(key, _OF_COMMIT)}")
        for key, form, said in _FORMS:
            if key in each and not (isinstance(each[key], str) and re.fullmatch(form, each[key])):
                yield read.problem((*where, key), f"commits: {key} should be {said}")
        named = each.get("claims", [])
        for claim in named if isinstance(named, list) else [named]:
            if claim not in claims:
                yield read.problem((*where, "claims"), f"commits: unknown claim '{claim}'{suggestion(claim, claims)}")


def _mistakes_in_story(read: Document, known: Sequence[str]) -> Iterator[Problem]:
    """Yield the mistakes in the claim order: not a mapping, unknown claims, or names that are not text."""
    story = read.data.get("story", {})
    if not isinstance(story, dict):
        yield read.problem(("story",), "story: should be a mapping of claims to short names")
        return
    for claim, name in story.items():
        if claim not in known:
            yield read.problem(("story", claim), f"story: unknown claim '{claim}'{suggestion(claim, known)}")
        if not isinstance(name, str) or not name:
            yield read.problem(("story", claim), f"story: {claim} should have a short name")
