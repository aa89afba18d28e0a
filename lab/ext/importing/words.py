"""Expand the words of a shell script whose values follow from the script itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.errors import InputError

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_WORDS = 10_000
LONGEST = 1 << 16  # characters of a variable
_BRACES = re.compile(r"\{(-?\d{1,18}|[A-Za-z])\.\.(-?\d{1,18}|[A-Za-z])\}", re.ASCII)


class Unknown(Exception):
    """Raised for a value that only a run of the script would show."""


@dataclass
class Expander:
    """Expands words with the values of variables."""

    variables: dict[str, str] = field(default_factory=dict)
    made: int = 0  # words so far

    def assign(self, name: str, value: str) -> None:
        """Set a variable. Raises InputError for a long value, because a script could double it repeatedly."""
        if len(value) > LONGEST:
            raise InputError(f"the variable {name} has more than {LONGEST:,} characters")
        self.variables[name] = value

    def counting(self, numbers: range) -> list[str]:
        """Return the numbers as words. Raises InputError if there are too many."""
        self.made += len(numbers)
        if self.made > MOST_WORDS * 10 or len(numbers) > MOST_WORDS:
            raise InputError(f"the script counts over more than {MOST_WORDS:,} numbers")
        return [str(number) for number in numbers]

    def word(self, text: str) -> str:
        """Return the value of a word that may have quotes. Raises Unknown."""
        return text[1:-1] if text.startswith("'") else self.filled(text.strip('"'))

    def filled(self, text: str) -> str:
        """Return text with the values of its variables."""

        def value(match: re.Match[str]) -> str:
            return self.value(match[1] or match[2])

        filled = re.sub(r"\$(?:\{(\w+|[@*#?])\}|(\w+|[@*#?]))", value, text)
        if "$" in filled or "`" in filled:
            raise Unknown(f"'{text[:40]}'")
        return filled

    def value(self, name: str) -> str:
        """Return the value of a variable. Raises Unknown."""
        if name not in self.variables:
            if name == "#":
                return "0"
            raise Unknown(f"the value of ${name}")
        return self.variables[name]

    def joined(self, node: Node) -> str:
        """Return the text of one word, which spaces do not split."""
        match node.type:
            case "string":
                return "".join(self.joined(each) for each in _with_gaps(node))
            case "raw_string":
                return text_of(node)[1:-1]
            case "concatenation":
                return "".join(self.joined(each) for each in node.children)
            case "simple_expansion":
                return self.value(text_of(node)[1:])
            case "expansion":
                return self._expansion(text_of(node))
            case "arithmetic_expansion":
                return arithmetic(self._bare(text_of(node)[3:-2]))
            case "command_substitution":
                return " ".join(self._substituted(node))
            case "ansi_c_string" | "process_substitution" | "translated_string":
                raise Unknown(f"'{text_of(node)[:40]}'")
            case _:
                return re.sub(r"\\(\n?)(.?)", r"\2", text_of(node)) if "\\" in text_of(node) else text_of(node)

    def _bare(self, text: str) -> str:
        """Return an arithmetic expression with the values of its variables, which need no $."""
        return re.sub(r"\b[A-Za-z_]\w*", lambda match: self.value(match[0]), self.filled(text))

    def _expansion(self, text: str) -> str:
        match = re.fullmatch(r"\$\{(\w+|[@*#])(?:\[[@*]\])?(?:(:?[-=?+])(.*))?\}", text, re.DOTALL)
        if match is None:
            raise Unknown(f"'{text[:40]}'")
        name, sign, other = match[1], match[2] or "", match[3] or ""
        is_set = bool(self.variables.get(name)) if sign.startswith(":") else name in self.variables
        if sign.endswith("+"):
            return self.word(other) if is_set else ""
        if is_set or sign.endswith("?") or not sign:
            return self.value(name)
        return self.word(other)

    def _substituted(self, node: Node) -> list[str]:
        text = text_of(node).strip("`$() ")
        words = self.filled(text).split()
        if words[:1] == ["echo"]:
            return words[1:]
        if words[:1] == ["seq"] and 2 <= len(words) <= 4:
            try:
                numbers = [int(each) for each in words[1:]]
            except ValueError:
                raise Unknown(f"'{text[:40]}'") from None
            first, step, last = {1: [1, 1, *numbers], 2: [numbers[0], 1, numbers[-1]], 3: numbers}[len(numbers)]
            return self.counting(range(first, last + (1 if step > 0 else -1), step or 1))
        raise Unknown(f"the output of '{text[:40]}'")

    def expanded(self, node: Node) -> list[str]:
        """Return the words that one word becomes: spaces in the values of variables split words outside quotes."""
        if node.type in ("string", "raw_string"):
            return [self.joined(node)]
        if node.type == "command_substitution":
            return self._substituted(node)
        if node.type == "concatenation" and any(child.type == "brace_expression" for child in node.children):
            return list(self._braces(_braced(node, self.joined)))
        if node.type == "brace_expression" or (node.type in ("word", "concatenation") and "{" in text_of(node)):
            return list(self._braces(text_of(node) if node.type != "concatenation" else self.joined(node)))
        text = self.joined(node)
        is_split = node.type in ("simple_expansion", "expansion") or (
            node.type == "concatenation" and any(child.type.endswith("expansion") for child in node.children)
        )
        return text.split() if is_split else [text]

    def _braces(self, text: str) -> Iterator[str]:
        self.made += 1
        if self.made > MOST_WORDS * 10:
            raise InputError(f"the script has more than {MOST_WORDS * 10:,} words")
        if match := _BRACES.search(text):
            one, other = match[1], match[2]
            if one.lstrip("-").isdigit() and other.lstrip("-").isdigit():
                start, end = int(one), int(other)
                numbers = range(start, end + 1) if start <= end else range(start, end - 1, -1)
                values = self.counting(numbers)
            elif one.isalpha() and other.isalpha():
                values = [chr(each) for each in range(ord(one), ord(other) + 1)]
            else:
                yield text
                return
            for value in values:
                yield from self._braces(text[: match.start()] + value + text[match.end() :])
        elif match := re.search(r"(?<!\$)\{([^{},\s]*(?:,[^{},\s]*)+)\}", text):
            for value in match[1].split(","):
                yield from self._braces(text[: match.start()] + value + text[match.end() :])
        else:
            yield text


def _braced(node: Node, joined: Callable[[Node], str]) -> str:
    return "".join(text_of(child) if child.type == "brace_expression" else joined(child) for child in node.children)


def _with_gaps(node: Node) -> Iterator[Node]:
    yield from (child for child in node.children if child.type != '"')


def arithmetic(text: str) -> str:
    """Return the value of an expression with + - * / % and whole numbers, with the shell's precedence. Raises
    Unknown.
    """
    tokens = re.findall(r"\d{1,18}|[-+*/%()]|\S", text)
    if not tokens or len(tokens) > 100 or not all(re.fullmatch(r"\d+|[-+*/%()]", each) for each in tokens):
        raise Unknown(f"'{text[:40]}'")
    tokens.reverse()
    value = _sum(tokens, 0)
    if tokens or abs(value) > 10**18:
        raise Unknown(f"'{text[:40]}'")
    return str(value)


def _sum(tokens: list[str], depth: int) -> int:
    value = _product(tokens, depth)
    while tokens and tokens[-1] in "+-":
        sign = tokens.pop()
        other = _product(tokens, depth)
        value = value + other if sign == "+" else value - other
    return value


def _product(tokens: list[str], depth: int) -> int:
    value = _atom(tokens, depth)
    while tokens and tokens[-1] in "*/%":
        sign = tokens.pop()
        other = _atom(tokens, depth)
        if sign != "*" and not other:
            raise Unknown("a division by zero")
        whole = abs(value) // abs(other or 1) * (1 if (value < 0) == (other < 0) else -1)
        value = value * other if sign == "*" else whole if sign == "/" else value - whole * other
    return value


def _atom(tokens: list[str], depth: int) -> int:
    if not tokens or depth > 50:
        raise Unknown("this arithmetic")
    token = tokens.pop()
    if token == "-":
        return -_atom(tokens, depth + 1)
    if token == "(":
        value = _sum(tokens, depth + 1)
        if not tokens or tokens.pop() != ")":
            raise Unknown("this arithmetic")
        return value
    if not token.isdigit():
        raise Unknown("this arithmetic")
    return int(token)


def text_of(node: Node) -> str:
    """Return the source of a part of the script."""
    return (node.text or b"").decode(errors="replace")


def line_of(node: Node) -> int:
    """Return the first line of a part of the script."""
    return node.start_point[0] + 1
