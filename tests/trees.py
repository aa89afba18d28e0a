"""What sources import and take from modules, each source parsed once for all tests that look at it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache

__all__ = ["nodes"]


@cache
def nodes(source: str) -> Sequence[ast.AST]:
    """Return the source's imports, and the attributes that it takes from `lab` and `os`, at any depth."""
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("lab", "os"))
    ]
