"""What sources import, take from modules and say, each source parsed once for all tests that look at it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

__all__ = ["comments", "defined", "nodes", "walk"]

# A comment; or a string, where # has no meaning. In Python 3.11, the oldest, no f-string contains its own quotes.
_COMMENT = re.compile(
    r"""(?P<comment>\#.*)|'{3}(?:[^\\]|\\[\s\S])*?'{3}|"{3}(?:[^\\]|\\[\s\S])*?"{3}"""
    r"""|'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*\""""
)


def walk(top: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, parents first, as ast.walk does, but without the contexts of names."""
    ahead = [top]
    for node in ahead:  # it grows
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                ahead += [each for each in value if isinstance(each, ast.AST)]
            elif name != "ctx" and isinstance(value, ast.AST):
                ahead.append(value)


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, comment) of a valid source, as the module tokenize finds them in ten times the time."""
    line = at = 0
    for match in _COMMENT.finditer(source):
        if match["comment"]:
            line, at = line + source.count("\n", at, match.start()), match.start()
            yield line + 1, match["comment"]


@cache
def _parsed(source: str) -> tuple[Sequence[ast.AST], Sequence[tuple[type[ast.stmt], str]]]:
    """Return what `nodes` and `defined` return. The tree itself is not kept, since it is large."""
    tree = ast.parse(source)
    seen = [
        node
        for node in walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("lab", "os"))
    ]
    return seen, [*_defined(tree)]


def _defined(tree: ast.Module) -> Iterator[tuple[type[ast.stmt], str]]:
    for statement in tree.body:
        match statement:
            case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield type(statement), name
            case ast.Assign(targets=targets):
                yield from ((ast.Assign, target.id) for target in targets if isinstance(target, ast.Name))


def nodes(source: str) -> Sequence[ast.AST]:
    """Return the source's imports, and the attributes that it takes from `lab` and `os`, at any depth."""
    return _parsed(source)[0]


def defined(source: str) -> Sequence[tuple[type[ast.stmt], str]]:
    """Return (kind of statement, name) of the classes and of the names to which the module's own statements assign."""
    return _parsed(source)[1]
