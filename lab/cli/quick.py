"""Read the usual command lines of `lab run` without Typer, whose import takes longer than a short trial's guest.

Typer reads all other command lines: those with a mistake, with `--help`, or with a rare form of an option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

COMMAND = "run"
_COMPLETES = "_LAB_COMPLETE"  # Typer's variable: the shell asks for completions
_WHOLE, _NUMBER = re.compile("[0-9]{1,9}"), re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@dataclass(frozen=True)
class QuickOption:
    """Describes an option: the argument that it sets, how to read its value (None: it is a flag), and the least one."""

    argument: str
    read: Callable[[str], Any] | None = str
    least: float | None = None


# The options that are not fields of RunOptions.
_OWN = {
    "--kernel": QuickOption("kernel"),
    "--seeds": QuickOption("seeds"),
    "--shard": QuickOption("shard"),
    "--plan": QuickOption("balance", Path),
    "--build": QuickOption("build", None),
    "--json": QuickOption("as_json", None),
}


def quickly(arguments: Sequence[str]) -> int | None:
    """Run the command and return its exit code, or return None if Typer must read the command line."""
    if not arguments or arguments[0] != COMMAND or _COMPLETES in os.environ:
        return None
    found = parsed(arguments[1:])
    if found is None:
        return None
    from lab.app.options import RunOptions
    from lab.cli import running_claims

    claims, given = found
    shared = {each.name for each in fields(RunOptions)}
    options = RunOptions(**{name: value for name, value in given.items() if name in shared})
    own = {name: value for name, value in given.items() if name not in shared}
    return running_claims.run(claims, options=options, **own)


def parsed(words: Sequence[str]) -> tuple[list[str], dict[str, Any]] | None:
    """Return the claims and the given options of a command line; None if it is not of a usual form."""
    known, claims, given = _options(), list[str](), dict[str, Any]()
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") and word:
            claims.append(word)
            continue
        option = known.get(word)
        if option is None or option.argument in given:
            return None
        if option.read is None:
            given[option.argument] = True
            continue
        text = next(rest, "")
        value = None if not text or text.startswith("-") else option.read(text)
        if value is None or (option.least is not None and value < option.least):
            return None
        given[option.argument] = value
    return claims, given


def _options() -> Mapping[str, QuickOption]:
    from lab.app.options import RunOptions

    found = dict(_OWN)
    hints = get_type_hints(RunOptions, include_extras=True)
    for each in fields(RunOptions):
        plain, about = get_args(hints[each.name])
        shape = about.shape or plain
        flag = about.flag or f"--{each.name}"
        if shape is bool:
            found[flag] = QuickOption(each.name, None)
        elif read := _READERS.get(_essence(shape)):
            found.setdefault(flag, QuickOption(each.name, read, about.least))
    return found


def _essence(shape: Any) -> Any:
    """Return the type without None."""
    return next((each for each in get_args(shape) if each is not type(None)), shape)


def _whole(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


_READERS: Mapping[Any, Callable[[str], Any]] = {str: str, Path: Path, int: _whole, float: _number}
