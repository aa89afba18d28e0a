"""Hold the lab's extensions.

Each extension is a folder here, with its own core, functions (`api`), commands and display. To remove an extension,
delete its folder, its test folder, and its line in this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EXTENSIONS = (
    "atlas",
    "bisect",
    "bundle",
    "cc",
    "ci",
    "cluster",
    "comparison",
    "cost",
    "course",
    "doctor",
    "explain",
    "export",
    "hands_on",
    "importing",
    "mininet",
    "mixed",
    "mptcp",
    "new",
    "pagecheck",
    "show",
    "suites.packetdrill",
    "suites.selftest",
    "upkeep",
    "verify",
    "watch",
)


@dataclass(frozen=True)
class Extension:
    """Describes the commands, functions and hooks of an extension. Each extension package defines one as EXTENSION.

    The package's module `commands` has a Typer app `app` with these `commands`. With `group`, the commands form a group
    of that name. The package's module `api` has these `functions`, which `import lab` also offers. `hooks` maps the
    name of each hook to its function, "module:function". The core calls hooks for options of its own commands. The help
    lists the commands in the section `section`, each with its `examples`.
    """

    commands: tuple[str, ...] = ()
    group: str = ""
    section: str = ""
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by command, with its group: "cluster plan"
    functions: tuple[str, ...] = ()
    hooks: Mapping[str, str] = field(default_factory=dict)
