"""Reduce Python source to what it means: sources that do the same give the same bytes, whatever layout and comments.

The address of a trial, or of a prediction, covers the code that decides it. A comment, a docstring, a line break or
what a page calls an arm decides nothing, and must not send anybody's trials back to the machine; any other change may.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from lab import cache

__all__ = ["fingerprint", "meaning"]

# These fields say nothing that the rest of the tree does not: load or store, the u of u"text".
_IMPLIED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def meaning(source: bytes) -> bytes:
    """Return the syntax tree of `source`, without strings that are statements by themselves, as docstrings are, and
    without the titles of arms.

    It is written out here, and not by `ast.dump`, whose form differs between versions of Python. Raises SyntaxError
    when `source` is not Python.
    """
    parts: list[str] = []
    _write(ast.parse(source), parts)
    return "".join(parts).encode()


def fingerprint(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256, in hex, of what these files mean, name by name.

    It is kept in the user's cache, since parsing takes a tenth of a short trial. Raises SyntaxError.
    """
    exact = [(name, hashlib.sha256(source).hexdigest()) for name, source in files.items()]
    rule = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    kept = cache.folder("meanings") / hashlib.sha256(repr((rule, exact)).encode()).hexdigest()
    with suppress(OSError):
        return kept.read_text()
    total = hashlib.sha256()
    for name, source in files.items():
        total.update(name.encode() + b"\0" + meaning(source) + b"\0")
    with suppress(OSError):  # a cache that cannot be written is none
        kept.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=kept.parent, delete=False) as fresh:
            fresh.write(total.hexdigest())
        Path(fresh.name).replace(kept)
    return total.hexdigest()


def _write(part: object, parts: list[str]) -> None:
    if isinstance(part, ast.AST):
        parts.append(f"{type(part).__name__}(")
        for name in part._fields:
            value = getattr(part, name, None)
            if name == "keywords" and isinstance(part, ast.Call | ast.ClassDef):
                value = [each for each in part.keywords if not _is_title(part, each)]
            if value is not None and value != [] and name not in _IMPLIED:
                parts.append(f"{name}=")
                _write(value, parts)
        parts.append(")")
    elif isinstance(part, list):
        parts.append("[")
        for each in part:
            if not _does_nothing(each):
                _write(each, parts)
        parts.append("]")
    else:
        parts.append(f"{part!r},")


def _is_title(part: ast.AST, argument: ast.keyword) -> bool:
    """Return whether the argument is an arm's title: what a page calls the arm decides no packet."""
    is_arm = isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "Arm"
    return is_arm and argument.arg == "title" and isinstance(argument.value, ast.Constant)


def _does_nothing(part: object) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)
