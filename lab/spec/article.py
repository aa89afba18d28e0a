"""Read the article that a folder of experiments tests: its article.yaml."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from lab.spec import document
from lab.spec.errors import SpecError, suggestion
from lab.spec.loaded import Article


def load(folder: Path) -> Article:
    """Read the article of `folder`; one without article.yaml has only its name. Raises SpecError for mistakes in it."""
    path = folder / "article.yaml"
    if not path.exists():
        return Article(folder.name, title=folder.name, author="", date="", url="")
    read = document.read(path)
    wanted = [field.name for field in fields(Article) if field.name != "name"]
    problems = [read.problem((), f"missing: {key}") for key in wanted if read.data.get(key) is None]
    problems += [
        read.problem((key,), f"{key}: unknown key{suggestion(key, wanted)}") for key in read.data if key not in wanted
    ]
    if problems:
        raise SpecError(problems)
    return Article(folder.name, **{key: str(read.data[key]) for key in wanted})
