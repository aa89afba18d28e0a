"""Read a YAML file as plain data, with the line of every key and element."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.spec.errors import Problem, SpecError, display, file_bytes, unreadable

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import MappingNode

Place = tuple[str | int, ...]  # the keys and indices that lead to a part of a document
_Mistake = tuple[int, str]  # its line, and what is wrong
MERGE_KEY = "tag:yaml.org,2002:merge"
REPEATED = 10_000


@dataclass(frozen=True)
class Document:
    """Holds the mapping from a file and the line number of each key and element."""

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[Place, int]  # from 1

    def line(self, place: Place) -> int:
        """Return the line number of `place`, or of the nearest part that contains it."""
        while place not in self.lines and place:
            place = place[:-1]
        return self.lines.get(place, 1)

    def problem(self, place: Place, message: str) -> Problem:
        """Return a mistake at `place`, with its line."""
        return Problem(display(self.path), self.line(place), message)


def read(path: Path) -> Document:
    """Return the document in `path`.

    Raises SpecError if the file is unreadable, is not a YAML mapping, or repeats a key.
    """
    try:
        text = io.TextIOWrapper(io.BytesIO(file_bytes(path)), encoding="utf-8").read()
    except (OSError, UnicodeDecodeError) as error:
        reason = unreadable(path, error) if isinstance(error, OSError) else "cannot be read: it is not UTF-8 text"
        raise SpecError([Problem(display(path), 1, reason)]) from error
    return parse(text, path)


def parse(text: str, path: Path) -> Document:
    """Return the document in `text`. Errors name `path`, which need not exist.

    Raises SpecError if the text is not a YAML mapping, or repeats a key.
    """
    data, lines, mistakes = _parsed(text)
    if mistakes:
        raise SpecError([Problem(display(path), line, message) for line, message in mistakes])
    return Document(path, data, lines)


@lru_cache(maxsize=128)  # all claims of an article name the same few files
def _parsed(text: str) -> tuple[Any, Mapping[Place, int], list[_Mistake]]:
    """Return the data in `text`, its lines, and its mistakes."""
    from ruamel.yaml import YAML  # slow, and most runs read no YAML: see lab.spec.kept
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="safe", pure=True)
    walk = _Walk(yaml)
    try:
        root = yaml.compose(io.StringIO(text))
        data = walk.plain(root, ()) if root else {}
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        message = ", ".join(filter(None, (error.context, error.problem)))
        hint = "; indent with spaces, not tabs" if r"'\t'" in message else ""
        return {}, {}, [(line, f"not YAML: {message}{hint}")]
    except (YAMLError, ValueError, RecursionError) as error:
        return {}, {}, [(1, f"not YAML: {error}")]
    if not isinstance(data, dict):
        walk.mistakes.append((1, "should be a mapping of keys to values"))
    return data, walk.lines, walk.mistakes


class _Walk:
    """Turns composed nodes into plain data. Unlike a YAML constructor, it records lines and all repeated keys."""

    def __init__(self, yaml: YAML) -> None:
        self.yaml = yaml
        self.lines: dict[Place, int] = {}
        self.mistakes: list[_Mistake] = []
        self.seen: set[int] = set()  # the ids of nodes, which live as long as the document
        self.repeated = 0  # values that an alias repeats

    def plain(self, node: Any, place: Place) -> Any:
        self.repeated += id(node) in self.seen
        self.seen.add(id(node))
        if self.repeated > REPEATED:  # nine nested lists of nine aliases make a billion values
            raise ValueError(f"its aliases stand for more than {REPEATED:,} values")
        self.lines.setdefault(place, node.start_mark.line + 1)
        if node.id == "mapping":
            return self._mapping(node, place)
        if node.id == "sequence":
            return [self.plain(element, (*place, index)) for index, element in enumerate(node.value)]
        return self.yaml.constructor.construct_object(node)

    def _mapping(self, node: MappingNode, place: Place) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value in node.value:
            line = key_node.start_mark.line + 1
            key = str(key_node.value)
            if not isinstance(key_node.value, str) or key_node.tag == MERGE_KEY:
                self.mistakes.append((line, "a key should be a plain word"))
            elif key in data:
                first = self.lines[(*place, key)]
                self.mistakes.append((line, f"'{key}' is given twice, first on line {first}; remove one"))
            else:
                self.lines[(*place, key)] = line
                data[key] = self.plain(value, (*place, key))
        return data
