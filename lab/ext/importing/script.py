"""Read the commands of a shell script without running it.

The reader knows variables, arithmetic, `seq`, braces, functions, loops over known words, `case` and simple tests. It
reports each network command whose words it cannot know.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.errors import InputError
from lab.ext.importing.where import Where
from lab.ext.importing.words import Expander, Unknown, arithmetic, line_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_COMMANDS, MOST_IN_COMMAND, DEEPEST = 20_000, 500, 60
_NETWORK = re.compile(r"\b(ip|tc|brctl|ovs-vsctl|sysctl|ethtool|ifconfig|route|nsenter)\s")
_UNDOING = re.compile(r"\b(del|delete|flush|show|list|ls)\b|^\s*#")  # commands that need no message
_SKIPPED = {"comment", "heredoc_body", "heredoc_end"}


class _Returned(Exception):
    """Raised when a function returns or the script exits."""


@dataclass
class ScriptReader:
    """Walks through a script, and passes each command to `take`: its words, its line, and the file for its output."""

    take: Callable[[list[str], int, str], None]
    leave: Callable[[int, str], None]  # for what cannot be read
    words: Expander
    given: frozenset[str] = frozenset()  # the variables that the user sets, which no assignment changes
    functions: dict[str, Node] = field(default_factory=dict)
    commands: int = 0
    depth: int = 0

    def read(self, source: str) -> None:
        """Read a script. Raises InputError if the script is too deep or too long."""
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        tree = Parser(Language(tree_sitter_bash.language())).parse(source.encode(errors="replace"))
        with suppress(_Returned):
            self._children(tree.root_node)

    def _children(self, node: Node) -> None:
        for child in node.children:
            if child.type == "ERROR" and _NETWORK.search(text_of(child) + " "):
                self.leave(line_of(child), "the lab cannot read this shell syntax")
            elif child.is_named and child.type not in _SKIPPED:
                self._run(child)

    def _run(self, node: Node) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError(f"line {line_of(node)}: more than {DEEPEST} commands within each other")
        try:
            self._statement(node)
        finally:
            self.depth -= 1

    def _statement(self, node: Node) -> None:
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                self._command(node, "")
            case "redirected_statement":
                self._redirected(node)
            case "variable_assignment":
                self._assign(node)
            case "list":
                self._list(node)
            case "function_definition":
                self._define(node)
            case "for_statement":
                self._for(node)
            case "case_statement":
                self._case(node)
            case "if_statement":
                self._if(node)
            case "while_statement" | "until_statement" | "c_style_for_statement" | "select_statement":
                if not (node.type == "c_style_for_statement" and self._counted(node)):
                    self._left(node, "only running the script would show the length of this loop: `changes` sets times")
            case "test_command" | "negated_command":
                return
            case _:
                self._children(node)

    def _left(self, node: Node, why: str) -> None:
        commands = re.split(r"[;\n]|&&|\|\|", text_of(node))
        if any(_NETWORK.search(each) and not _UNDOING.search(each) for each in commands):
            self.leave(line_of(node), f"{why}; its commands are left out")

    def _command(self, node: Node, output: str) -> None:
        if node.type != "command":
            for child in node.named_children:
                if child.type == "variable_assignment":
                    self._assign(child)
            return
        self.commands += 1
        if self.commands > MOST_COMMANDS:
            raise InputError(f"line {line_of(node)}: the script has more than {MOST_COMMANDS:,} commands")
        if node.child_count > MOST_IN_COMMAND:
            self.leave(line_of(node), f"a command of more than {MOST_IN_COMMAND:,} words")
            return
        try:
            words = [word for child in node.children for word in self._argument(child)]
        except Unknown as error:
            if _NETWORK.search(text_of(node) + " "):
                self.leave(
                    line_of(node), f"only running the script would show {error}: --set NAME=VALUE sets a variable"
                )
            return
        if not words:
            return
        if words[0] in self.functions:
            self._call(words)
        elif words[0] in ("exit", "return"):
            raise _Returned
        elif words[0] == "shift":
            self._shift()
        else:
            self.take(words, line_of(node), output)

    def _argument(self, node: Node) -> list[str]:
        if node.type in ("variable_assignment", "herestring_redirect", "file_redirect", "heredoc_redirect"):
            return []
        if node.type == "command_name":
            return (
                [word for child in node.children for word in self.words.expanded(child)]
                if node.children
                else [text_of(node)]
            )
        return self.words.expanded(node)

    def _redirected(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        output = ""
        for child in node.named_children:
            if child.type == "file_redirect" and child.child_by_field_name("destination") is not None:
                destination = child.child_by_field_name("destination")
                try:
                    output = " ".join(self.words.expanded(destination)) if destination is not None else ""
                except Unknown:
                    output = ""
            elif child.type == "heredoc_redirect" and re.search(r"\btc\b.*-b|\bip\b.*-b", text_of(node)):
                self.leave(line_of(node), "a batch of commands in a here-document; write them as single commands")
            elif child.type == "heredoc_redirect" and re.search(r"^topology:", text_of(node), re.MULTILINE):
                self.leave(line_of(node), "a containerlab file in a here-document; import a file NAME.clab.yml with it")
        if body is not None and body.type == "command":
            self._command(body, output)
        elif body is not None:
            self._run(body)

    def _assign(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            return
        key = text_of(name)
        if key in self.given:
            return
        try:
            if value is not None and value.type == "array":
                text = " ".join(word for each in value.named_children for word in self.words.expanded(each))
            else:
                text = "" if value is None else self.words.joined(value)
            self.words.assign(key, text)
        except Unknown:
            self.words.variables.pop(key, None)

    def _list(self, node: Node) -> None:
        """Run both sides of `&&`, but only the first side of `||`. A command counts as successful unless a test shows
        otherwise.
        """
        first, operator, second = node.children[0], node.children[1].type, node.children[-1]
        result = self._test(first)
        if result is None:
            self._run(first)
        if (operator == "&&" and result is not False) or (operator == "||" and result is False):
            self._run(second)

    def _define(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[text_of(name)] = body

    def _call(self, words: list[str]) -> None:
        kept = {name: self.words.variables.pop(name) for name in list(self.words.variables) if _positional(name)}
        self.words.variables |= {str(number): word for number, word in enumerate(words[1:], 1)}
        self.words.variables |= {"@": " ".join(words[1:]), "*": " ".join(words[1:]), "#": str(len(words) - 1)}
        try:
            self._run(self.functions[words[0]])
        except _Returned:
            pass
        finally:
            for name in [name for name in self.words.variables if _positional(name)]:
                del self.words.variables[name]
            self.words.variables |= kept

    def _shift(self) -> None:
        count = int(self.words.variables.get("#", "0"))
        rest = [self.words.variables.pop(str(number), "") for number in range(1, count + 1)][1:]
        self.words.variables |= {str(number): word for number, word in enumerate(rest, 1)}
        self.words.variables |= {"@": " ".join(rest), "*": " ".join(rest), "#": str(len(rest))}

    def _for(self, node: Node) -> None:
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        values = node.children_by_field_name("value")
        try:
            words = [word for value in values for word in self.words.expanded(value)]
        except Unknown as error:
            self._left(node, f"a loop over {error}")
            return
        for word in words:
            self.words.variables[text_of(name)] = word
            self._run(body)

    def _counted(self, node: Node) -> bool:
        """Run `for ((i = 1; i <= 3; i++))`. Return False if the loop has a different form."""
        form = r"\(\(\s*(\w+)\s*=\s*([^;]+);\s*\1\s*(<=|<)\s*([^;]+);\s*(?:\1\s*\+\+|\+\+\s*\1)\s*\)\)"
        match = re.search(form, text_of(node).split("do", 1)[0])
        body = node.child_by_field_name("body")
        if match is None or body is None:
            return False
        try:
            start, end = (int(arithmetic(self.words.filled(match[group]))) for group in (2, 4))
        except (Unknown, ValueError):
            return False
        for number in self.words.counting(range(start, end + (match[3] == "<="))):
            self.words.variables[match[1]] = number
            self._run(body)
        return True

    def _case(self, node: Node) -> None:
        value = node.child_by_field_name("value")
        try:
            word = self.words.joined(value) if value is not None else ""
        except Unknown as error:
            self._left(node, f"a case of {error}: --set NAME=VALUE sets a variable")
            return
        for item in node.named_children:
            if item.type == "case_item":
                patterns = [text_of(each).strip("\"'") for each in item.children_by_field_name("value")]
                if any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns):
                    for child in item.named_children:
                        if text_of(child).strip("\"'") not in patterns:
                            self._run(child)
                    return

    def _if(self, node: Node) -> None:
        conditions = node.children_by_field_name("condition")
        result = self._test(conditions[0]) if len(conditions) == 1 or conditions else None
        others = [child for child in node.named_children if child.type in ("elif_clause", "else_clause")]
        if result is None:
            self._left(node, "a condition that only running the script would show (--set NAME=VALUE sets a variable)")
            return
        body = [
            child
            for child in node.named_children
            if child not in conditions and child.type not in ("elif_clause", "else_clause", "comment")
        ]
        if result:
            for child in body:
                self._run(child)
            return
        for other in others:
            if other.type == "else_clause":
                self._children(other)
                return
            first, *rest = other.named_children
            found = self._test(first)
            if found is None:
                self._left(
                    other, "a condition that only running the script would show (--set NAME=VALUE sets a variable)"
                )
                return
            if found:
                for child in rest:
                    self._run(child)
                return

    def _test(self, node: Node) -> bool | None:
        """Return the result of a simple test of known words, else None."""
        if node.type != "test_command":
            return {"true": True, "false": False}.get(text_of(node)) if node.type == "command" else None
        text = text_of(node).strip("[]() ;\n")
        try:
            words = [self.words.word(each) for each in re.findall(r"\"[^\"]*\"|'[^']*'|\S+", text)]
            match words:
                case ["-n", word] | [word]:
                    return bool(word)
                case ["-z", word] | ["!", "-n", word]:
                    return not word
                case [one, "=" | "==" | "!=" as sign, other]:
                    return fnmatch.fnmatchcase(one, other) == (sign != "!=")
                case [one, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "<" | ">" | "<=" | ">=" as sign, other]:
                    return _compared(int(one), sign.strip("-"), int(other))
        except (Unknown, ValueError):
            pass
        return None


def _positional(name: str) -> bool:
    return name.isdigit() or name in "@*#"


def _compared(one: int, sign: str, other: int) -> bool:
    return {
        **dict.fromkeys(("eq",), one == other),
        **dict.fromkeys(("ne",), one != other),
        **dict.fromkeys(("lt", "<"), one < other),
        **dict.fromkeys(("le", "<="), one <= other),
        **dict.fromkeys(("gt", ">"), one > other),
        **dict.fromkeys(("ge", ">="), one >= other),
    }[sign]


def mentions(source: str, name: str) -> bool:
    """Return whether a script may use a variable, or an argument if `name` is a number."""
    pattern = r"\$\{?[\d@*#]" if name.isdigit() else rf"(?<!\w){re.escape(name)}(?!\w)"
    return re.search(pattern, source) is not None


def variables(source: str) -> list[str]:
    """Return the names of the variables that a script sets or expands."""
    return [one or other for one, other in re.findall(r"\$\{?([A-Za-z_]\w*)|\b([A-Za-z_]\w*)=", source)]


def read(
    source: str,
    where: Where,
    take: Callable[[list[str], Where, str], None],
    leave: Callable[[Where, str], None],
    given: Mapping[str, str],
) -> None:
    """Read a script whose first line is `where`, and pass each command to `take`, with its line.

    `given` holds the user's variables, by name, or by position such as 1. Raises InputError if the script is too deep
    or too long.
    """

    def at(line: int) -> Where:
        return Where(where.file, where.line + line - 1)

    positional = [value for name, value in sorted(given.items()) if name.isdigit()]
    variables = {"#": str(len(positional)), "@": " ".join(positional), "*": " ".join(positional), **given}
    reader = ScriptReader(
        lambda words, line, output: take(words, at(line), output),
        lambda line, why: leave(at(line), why),
        Expander(variables),
        frozenset(given),
    )
    try:
        reader.read(source)
    except InputError as error:
        raise InputError(f"{where.file}: {error}") from None
