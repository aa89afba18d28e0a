"""Reduce Python source to its meaning. Sources that differ only in layout and comments give the same bytes.

The address of a trial or a prediction covers the code that decides the result. A comment, a docstring, a line break or
an arm's display name cannot affect a result, and must not make trials run again. Any other change may make trials run
again.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from lab.base import cache
from lab.base.writing import write
from lab.errors import MachineError

# The rest of the tree implies these fields: load or store, the u of u"text".
_IMPLIED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_Piece = str | ast.AST | list[Any]  # text that is ready, or a part that is not written yet


@lru_cache(maxsize=256)  # the guest's code has some hundred files; an installed claim is read again and again
def meaning(source: bytes) -> bytes:
    """Return the syntax tree of `source`, without docstrings and other strings that are statements, and without arms'
    titles.

    The function does not use `ast.dump`, whose form differs between Python versions. Raises SyntaxError if `source` is
    not Python, or is nested too deeply for Python's own parser.
    """
    parts: list[str] = []
    try:
        tree = ast.parse(source)
    except RecursionError:
        raise SyntaxError("an expression has too many parts") from None
    _write(tree, parts)
    return "".join(parts).encode()


def fingerprint(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256, in hex, of the names and meanings of these files.

    The user's cache stores the result, because parsing takes a tenth of a short trial's time. Raises SyntaxError.
    """
    exact = [(name, hashlib.sha256(source).hexdigest()) for name, source in files.items()]
    rule = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    kept = cache.folder("meanings") / hashlib.sha256(repr((rule, exact)).encode()).hexdigest()
    with suppress(OSError, UnicodeDecodeError):
        if re.fullmatch("[0-9a-f]{64}", found := kept.read_text()):  # after a crash it may be empty
            return found
    total = hashlib.sha256()
    for name, source in files.items():
        total.update(name.encode() + b"\0" + meaning(source) + b"\0")
    with suppress(MachineError):  # without a writable cache, it is computed again
        write(total.hexdigest(), kept)
    return total.hexdigest()


def _write(root: ast.AST, parts: list[str]) -> None:
    """Write a tree of any depth: an expression of 1,500 terms is 1,500 levels deep."""
    begun: list[Iterator[_Piece]] = [iter([root])]
    while begun:
        piece = next(begun[-1], None)
        if piece is None:
            begun.pop()
        elif isinstance(piece, str):
            parts.append(piece)
        else:
            begun.append(_pieces(piece))


def _pieces(part: ast.AST | list[Any]) -> Iterator[_Piece]:
    """Yield the text of a part, and the parts inside it, in order."""
    if isinstance(part, list):
        yield "["
        yield from (_piece(each) for each in part if not _does_nothing(each))
        yield "]"
        return
    yield f"{type(part).__name__}("
    for name in part._fields:
        value = getattr(part, name, None)
        if name == "keywords" and isinstance(part, ast.Call | ast.ClassDef):
            value = [each for each in part.keywords if not _is_title(part, each)]
        if value is not None and value != [] and name not in _IMPLIED:
            yield f"{name}="
            yield _piece(value)
    yield ")"


def _piece(value: object) -> _Piece:
    return value if isinstance(value, ast.AST | list) else f"{value!r},"


def _is_title(part: ast.AST, argument: ast.keyword) -> bool:
    """Return whether the argument is an arm's title. A page shows the title, but the title affects no packet."""
    is_arm = isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "Arm"
    return is_arm and argument.arg == "title" and isinstance(argument.value, ast.Constant)


def _does_nothing(part: object) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)
