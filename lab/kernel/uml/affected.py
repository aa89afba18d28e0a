"""Say what in C sources means something else when a macro or a function does, by the names that they mention.

A kernel with another HZ differs from the plain one in seventy macros and functions of its headers, of thirty thousand.
An object whose sources mention none of them is the same. This errs on one side: a name that is mentioned counts,
whatever comes of it, and what is neither a macro nor a function counts as unclear.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

__all__ = ["Affected", "Unclear", "Unit", "changed", "units", "whole"]

_WORD = re.compile(r"[A-Za-z_]\w*")
_PASTED = re.compile(r"\w+(?:\s*##\s*\w+)+")
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
_MACRO = re.compile(r"([A-Za-z_]\w*)(\([^)]*\))?")
_ARGUMENT = re.compile(r"[(,]\s*([A-Za-z_]\w*)\s*(?=[,)])")
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")
_ATTRIBUTE = re.compile(
    r"\b(?:__attribute__|__typeof__|typeof|__asm__|_Alignas)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_NO_FUNCTION = re.compile(r"\s*(?:struct|union|enum|typedef|extern)\b[^(]*$")
_SAID = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


class Unclear(ValueError):
    """Something differs that is neither a macro nor a function: nobody can say what it affects."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Hold a directive or a declaration of a C file, and the conditions that it is under."""

    text: str
    words: frozenset[str]  # the identifiers in it, and in its conditions
    arguments: frozenset[str] = frozenset()  # those that stand alone between parentheses and commas
    pasted: frozenset[re.Pattern[str]] = frozenset()  # what identifiers made by its ## look like; groups are arguments
    is_cut: bool = False  # it is a whole file, in which conditionals cut through declarations

    @property
    def names(self) -> frozenset[str]:
        """The names that it gives a meaning to. Raises Unclear for all but macros and functions with their bodies."""
        if self.is_cut:
            raise Unclear(self.text)
        if directive := _DIRECTIVE.fullmatch(self.text):
            macro = _MACRO.match(directive[2])
            if directive[1] in ("define", "undef") and macro:
                return frozenset({macro[1]})
            raise Unclear(self.text)
        if re.match(r"\s*(?:_S|s)tatic_assert\b", self.text):
            return frozenset()  # it compiles to nothing
        head, body, _ = _ATTRIBUTE.sub(" ", self.text).partition("{")
        names = frozenset(_CALLED.findall(head))
        lines = self.text.rstrip().split("\n")
        ends = [number for number, line in enumerate(lines) if line.startswith("}")]
        is_function = body and names and "=" not in head and not _NO_FUNCTION.match(head)
        if not is_function or ends not in ([], [len(lines) - 1]):  # another one may have been swallowed
            raise Unclear(self.text)
        return names


def units(text: str) -> tuple[Unit, ...]:
    """Take a C file apart, preprocessed or not."""
    joined = _SAID.sub(lambda said: '""' if said[0][0] in "\"'" else " ", text.replace("\\\n", " "))
    conditions: list[frozenset[str]] = []  # what decides about each conditional that is open
    found: list[Unit] = []
    current: list[str] = []
    depth = 0
    for line in joined.split("\n"):
        if directive := _DIRECTIVE.match(line):
            word = directive[1]
            if word in ("if", "ifdef", "ifndef"):
                conditions.append(frozenset(_WORD.findall(directive[2])))
            elif word in ("elif", "elifdef", "elifndef") and conditions:
                conditions[-1] |= frozenset(_WORD.findall(directive[2]))
            elif word == "endif" and conditions:
                conditions.pop()
            elif word not in ("else", "endif"):
                found.append(_unit(line, conditions))
            if current:  # it is inside of a declaration
                current.append(line)
            continue
        if not current and not line.strip():
            continue
        current.append(line)
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
        if depth == 0 and line.rstrip().endswith((";", "}")):
            found.append(_unit("\n".join(current), conditions))
            current = []
    if depth or current or conditions:
        return (replace(_unit(joined, ()), is_cut=True),)
    return tuple(found)


def whole(of: Collection[Unit]) -> Unit:
    """Return what stands for all these units, to ask of them at once whether one mentions a name."""
    return Unit(
        "",
        frozenset().union(*(unit.words for unit in of)),
        frozenset().union(*(unit.arguments for unit in of)),
        frozenset().union(*(unit.pasted for unit in of)),
    )


def changed(before: Sequence[Unit], after: Sequence[Unit]) -> frozenset[str]:
    """Return the names whose meaning differs between two states of a text. Raises Unclear, as where its order does."""
    differing = set(before) ^ set(after)
    if [unit for unit in before if unit not in differing] != [unit for unit in after if unit not in differing]:
        raise Unclear("what is the same in both stands in another order")
    return frozenset().union(*(unit.names for unit in differing))


@dataclass(frozen=True, slots=True)
class Affected:
    """Hold names that mean something else than before."""

    names: frozenset[str]
    pasted: frozenset[re.Pattern[str]] = frozenset()
    parts: frozenset[frozenset[str]] = frozenset()  # arguments of which ## may make a name

    def spread(self, among: Iterable[Unit]) -> Affected:
        """Return these and all others that mean something else when these do, by way of others too. Raises Unclear."""
        left = list(among)
        found = self.pasting(left)
        while fresh := [unit for unit in left if found.mentioned(unit)]:
            left = [unit for unit in left if not found.mentioned(unit)]
            found = found.also(frozenset().union(*(unit.names for unit in fresh)))
        return found

    def pasting(self, among: Iterable[Unit]) -> Affected:
        """Return these, where the macros of `among` may make names by ##."""
        return self._more(pasted=frozenset().union(*(unit.pasted for unit in among)))

    def also(self, names: frozenset[str]) -> Affected:
        """Return these and more."""
        return self._more(names=names)

    def mentioned(self, unit: Unit) -> bool:
        """Tell whether one of the names is in the unit or its conditions, or may be made by ## of an argument in it."""
        if not self.names.isdisjoint(unit.words):
            return True
        return bool(unit.arguments) and any(parts <= unit.arguments for parts in self.parts)

    def _more(self, names: frozenset[str] = frozenset(), pasted: frozenset[re.Pattern[str]] = frozenset()) -> Affected:
        names, pasted = names - self.names, pasted - self.pasted
        pairs = [*product(self.pasted | pasted, names), *product(pasted, self.names)]
        made = (pattern.fullmatch(name) for pattern, name in pairs)
        parts = frozenset(frozenset(filter(None, each.groups())) for each in made if each)
        return Affected(self.names | names, self.pasted | pasted, self.parts | parts)


def _unit(text: str, conditions: Sequence[frozenset[str]]) -> Unit:
    words = frozenset(_WORD.findall(text)).union(*conditions)
    pasted = frozenset(_pasted(text)) if "##" in text else frozenset()
    return Unit(text, words, frozenset(_ARGUMENT.findall(text)), pasted)


def _pasted(text: str) -> Iterator[re.Pattern[str]]:
    """Yield a pattern for each run of ## in a macro that has both a fixed part and an argument.

    Of two arguments next to each other any name could come; a name that needs more than this is not foreseen.
    """
    directive = _DIRECTIVE.fullmatch(text)
    macro = _MACRO.match(directive[2]) if directive else None
    arguments = {*_WORD.findall((macro and macro[2]) or ""), "__VA_ARGS__"}
    for run in _PASTED.findall(text):
        parts = [part.strip() for part in run.split("##")]
        if 0 < sum(part in arguments for part in parts) < len(parts):
            yield re.compile("".join(r"(\w*)" if part in arguments else re.escape(part) for part in parts))
