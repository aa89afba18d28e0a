"""Read a table of delays in tc's format, such as netem's `.dist` files."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

from lab.base import foreign
from lab.guest.fabric.distribution import COUNT
from lab.guest.network import DISTRIBUTIONS, Distribution
from lab.spec.beside import inside
from lab.spec.errors import no_file, suggestion

_MOST = 1 << 20  # bytes of a file
_LEAST, _LARGEST = -(2**15), 2**15 - 1


def read(name: str, folder: Path) -> Distribution:
    """Return the table in the file `name`, next to the topology in `folder`.

    Raises ValueError with the file and the line.
    """
    file = inside(folder, name)
    if not file.is_file():
        known = suggestion(name, DISTRIBUTIONS)
        raise ValueError(f"'{name}' is not a distribution{known}" if known else f"the table {no_file(folder / name)}")
    try:
        lines = foreign.read(file, _MOST).decode().splitlines()
    except (OSError, UnicodeDecodeError, foreign.Unfit) as error:
        raise ValueError(f"the table {name} cannot be read: {_reason(error)}") from error
    numbers = list(chain.from_iterable(_numbers(name, at, line) for at, line in enumerate(lines, 1)))
    if not 1 <= len(numbers) <= COUNT:
        raise ValueError(f"{name}: a table has 1 to {COUNT} numbers, not {len(numbers)}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", Path(name).name):
        raise ValueError(f"'{name}' is no name of a table; use letters, digits, '.', '_' and '-'")
    return Distribution(Path(name).name, " ".join(map(str, numbers)))


def _numbers(name: str, at: int, line: str) -> list[int]:
    if line.lstrip().startswith("#"):
        return []
    found = []
    for word in line.split():
        digits = word.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 7 and _LEAST <= int(word) <= _LARGEST):
            raise ValueError(f"{name}:{at}: '{word[:40]}' is not a whole number from {_LEAST} to {_LARGEST}")
        found.append(int(word))
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return str(error.strerror) if isinstance(error, OSError) else str(error)
