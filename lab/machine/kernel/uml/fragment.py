"""Read configuration fragments, merge them with the lab's configuration, and report the options that kconfig dropped.

kconfig silently drops unknown options, and options whose dependencies are not set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import InputError
from lab.spec.errors import Problem, SpecError, display, unreadable

# Options that a fragment may not set, and why.
_OURS: Mapping[str, str] = {
    "HZ": "set ticks per second with --hz, or with hz= in a variant",
    "UML_TIME_TRAVEL_SUPPORT": "the lab's virtual clock needs it",
}


@dataclass(frozen=True, slots=True)
class Option:
    """Holds one option that a fragment sets; the value "n" means that the option is not set."""

    name: str  # without CONFIG_
    value: str
    line: int  # of the file

    def __str__(self) -> str:
        return f"# CONFIG_{self.name} is not set" if self.value == "n" else f"CONFIG_{self.name}={self.value}"


@dataclass(frozen=True, slots=True)
class Fragment:
    """Holds a file of options, in the form of a .config."""

    file: Path
    content: bytes
    options: tuple[Option, ...]

    @property
    def name(self) -> str:
        """Return the file's name without its suffix."""
        return self.file.stem

    def problem(self, option: Option, message: str) -> Problem:
        """Return the problem with an option, at its line."""
        return Problem(display(self.file), option.line, message)


def read(files: Iterable[Path]) -> tuple[Fragment, ...]:
    """Return the fragments in these files.

    Raises InputError if a file cannot be read, and SpecError with every line that is not an option.
    """
    fragments, problems = [], []
    for file in map(Path, files):
        try:
            content = file.read_bytes()
            text = content.decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = unreadable(file, error) if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InputError(f"{file}: {reason}") from None
        options = []
        for number, line in enumerate(text.splitlines(), 1):
            found = _option(line, number)
            if isinstance(found, Option):
                options.append(found)
            elif found:
                problems.append(Problem(display(file), number, found))
        fragments.append(Fragment(file, content, tuple(options)))
    if problems:
        raise SpecError(problems)
    return tuple(fragments)


def laid_over(config: str, fragments: Sequence[Fragment]) -> str:
    """Return the configuration with its options replaced by the fragments' options.

    The last value of an option takes effect.
    """
    wanted = {option.name: option for fragment in fragments for option in fragment.options}
    kept = [line for line in config.splitlines() if line.removeprefix("CONFIG_").partition("=")[0] not in wanted]
    return "".join(f"{line}\n" for line in [*kept, *(str(wanted[name]) for name in sorted(wanted))])


def check(fragments: Sequence[Fragment], resolved: str, tree: Path) -> None:
    """Raise SpecError with every option whose value differs in `resolved`, kconfig's configuration for `tree`."""
    found = dict(re.findall(r"^CONFIG_(\w+)=(.*)$", resolved, re.MULTILINE))
    last = {option.name: (fragment, option) for fragment in fragments for option in fragment.options}
    lost = [(*each, found.get(name, "n")) for name, each in last.items() if found.get(name, "n") != each[1].value]
    if lost:
        known = _entries(tree, {option.name for _, option, _ in lost})
        raise SpecError(fragment.problem(option, _lost(option, value, known)) for fragment, option, value in lost)


def _option(line: str, number: int) -> Option | str:
    """Return the option in a line, or a message about the mistake in the line; "" for an empty line or a comment."""
    if match := re.fullmatch(r"\s*# CONFIG_(\w+) is not set\s*", line):
        option = Option(match.group(1), "n", number)
    elif match := re.fullmatch(r"\s*CONFIG_(\w+)=(\S.*?)\s*", line):
        option = Option(match.group(1), match.group(2), number)
    else:
        text = line.strip()
        return "" if not text or text.startswith("#") else f"'{text}' is not an option; write CONFIG_NAME=y, or =n"
    return f"CONFIG_{option.name}: {_OURS[option.name]}" if option.name in _OURS else option


def _lost(option: Option, value: str, known: Mapping[str, Sequence[str]]) -> str:
    if option.name not in known:
        return f"CONFIG_{option.name}: this kernel has no such option"
    became = "it is not set" if value == "n" else f"it is {value}"
    needs = "; ".join(known[option.name])
    return f"'{option}' is not kept, {became}" + (f": it depends on {needs}" if needs else "")


def _entries(tree: Path, names: set[str]) -> dict[str, list[str]]:
    """Return the options that the Kconfig files of `tree` have, each with its dependencies."""
    found: dict[str, list[str]] = {}
    for file in tree.rglob("Kconfig*"):
        if file.is_file():
            for name, needs in _in(file.read_text(encoding="utf-8", errors="replace"), names):
                found.setdefault(name, []).extend(needs)
    return found


def _in(text: str, names: set[str]) -> Iterator[tuple[str, list[str]]]:
    for match in re.finditer(r"^\s*(?:menu)?config (\w+)\s*$((?:\n(?:[ \t].*)?)*)", text, re.MULTILINE):
        if match.group(1) in names:
            yield match.group(1), re.findall(r"^\s+depends on (.+)$", match.group(2), re.MULTILINE)
