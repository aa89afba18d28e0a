"""What Python source means: the same bytes for sources that do the same, however they are laid out and explained.

An address of a trial, or of a prediction, covers the code that decides it. A comment, a docstring or a line break
decides nothing, and must not send anybody's trials back to the machine; any other change of the code may.
"""

from __future__ import annotations

import ast

__all__ = ["meaning"]

# Says nothing that the rest of the tree does not: load or store, the u of u"text".
_IMPLIED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def meaning(source: bytes) -> bytes:
    """The syntax tree of `source` without texts that stand by themselves, as docstrings do.

    It is written out here, and not by `ast.dump`, whose form is another one in each version of Python. Raises
    SyntaxError.
    """
    parts: list[str] = []
    _write(ast.parse(source), parts)
    return "".join(parts).encode()


def _write(part: object, parts: list[str]) -> None:
    if isinstance(part, ast.AST):
        parts.append(f"{type(part).__name__}(")
        for name in part._fields:
            value = getattr(part, name, None)
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


def _does_nothing(part: object) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)
