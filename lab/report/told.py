"""Pass a page's properties to the process that executes its notebook, in an argument that no child process inherits."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_SECTION = "Report"  # the section of IPython's configuration that a kernel's arguments set


@dataclass(frozen=True, slots=True)
class Compared:
    """Describes the two kernels on a page that compares them."""

    base: str | None = None  # the first kernel's id; None: any
    new: str | None = None  # the second kernel's id; None: any
    against: Path | None = None  # the store of the first kernel's records; None: the second's
    interest: float | None = None  # the smallest relative change of a figure that matters; None: the default
    claims: tuple[str, ...] = ()  # in the command's words; empty: all


@dataclass(frozen=True, slots=True)
class Told:
    """Holds the page properties that a notebook in a report receives."""

    seconds: float  # the limit of a cell's CPU time
    articles: tuple[str, ...] | None = None  # the articles with pages in the report; None: all
    compared: Compared = Compared()
    measured: Path | None = None  # the file with the figures that earlier notebooks of the report measured


def arguments(told: Told, extensions: Sequence[str]) -> list[str]:
    """Return the arguments for the kernel that executes the notebook. The kernel first loads these IPython
    extensions.
    """
    loaded = [f"--InteractiveShellApp.extensions={each}" for each in extensions]
    return [*loaded, f"--{_SECTION}.told={json.dumps(asdict(told), default=_absolute)}"]


def told() -> Told | None:
    """Return the properties of the current notebook's page, or None in any other process."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or _SECTION not in shell.config:
        return None
    plain = json.loads(shell.config[_SECTION].told)
    pair = plain["compared"]
    against = pair["against"] and Path(pair["against"])
    compared = Compared(**{**pair, "against": against, "claims": tuple(pair["claims"])})
    articles = None if plain["articles"] is None else tuple(plain["articles"])
    return Told(plain["seconds"], articles, compared, plain["measured"] and Path(plain["measured"]))


def _absolute(path: Path) -> str:
    return str(path.resolve())
