"""Find the versions of all programs that affect a trial's packets, except the kernel.

The versions are part of the trial's address.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from lab.base.meaning import fingerprint
from lab.errors import MachineError
from lab.guest.mininet import make_importable
from lab.machine.userland.cache import Userland
from lab.runner.code import sources
from lab.spec.shipped import PACKAGE

_VERSION_FLAG = {"fping": "-v", "nc.openbsd": "-h", "netperf": "-V", "ping": "-V"}
PROGRAMS = {"mininet": "mn"}  # tools whose program has a different name
_MODULES = {"flent"}  # tools in the lab's own Python, run with `python -m`, so the PATH does not matter
_MININET = "from lab.guest.mininet import make_importable as so; so(); from mininet.net import VERSION; print(VERSION)"
_SECONDS = 10
_HASHED = "sha256:"  # the start of a version, for a program that an experiment chose
_BUILT = {"cc", "packetdrill"}  # their version is the id of a product of the lab


class Tooled(Protocol):
    """Describes how a workload, a probe or a middlebox declares its tools."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The programs that the task runs."""


class ToolMissing(MachineError):
    """Raised if a tool that an experiment needs is not installed."""


def versions(tools: Iterable[str]) -> dict[str, str]:
    """Return the versions, by name, of `tools`, Python, and the lab's own code in a guest. Raises ToolMissing."""
    missing = sorted(tool for tool in set(tools) if not _installed(tool))
    if missing:
        names = " and ".join(f"'{tool}'" for tool in missing)
        cures = {"`make setup`" if tool in _MODULES else "`make setup-host`" for tool in missing}
        raise ToolMissing(f"{names} missing on this machine: {' and '.join(sorted(cures))} installs it")
    return {
        "lab": own_code(),
        "python": platform.python_version(),
        **{tool: _version(tool) for tool in sorted(set(tools))},
    }


def sealed(tools: Iterable[str], userland: Userland) -> dict[str, str]:
    """Return the version, by name, of the lab's own code in a guest. The userland's id covers all other tools.

    Raises ToolMissing if the userland lacks one of `tools`.
    """
    missing = sorted(tool for tool in set(tools) if not userland.has(PROGRAMS.get(tool, tool)))
    if missing:
        names = " and ".join(f"'{tool}'" for tool in missing)
        raise ToolMissing(f"the userland has no {names}: --userland host uses this machine's programs")
    return {"lab": own_code()}


def differing(wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the tools whose version on this machine differs from `wanted`, including the lab's own code.

    Programs that the experiment chose are hashed and not executed, because a trial may come from an untrusted source.
    Programs that the lab built have an id, which `repeat` checks. Raises ToolMissing.
    """
    chosen = {name for name, version in wanted.items() if version.startswith(_HASHED)}
    here = versions(wanted.keys() - {"lab", "python", *_BUILT} - chosen) | {name: _hash_of(name) for name in chosen}
    return tuple(
        f"{name} {here[name]} instead of {version}"
        for name, version in wanted.items()
        if name in here and here[name] != version
    )


def hashed(program: Path) -> str:
    """Return the version of a program that an experiment chose: its hash. Raises OSError."""
    return f"{_HASHED}{hashlib.sha256(program.read_bytes()).hexdigest()}"


def _hash_of(name: str) -> str:
    file = find_program(name)
    if file is None:
        raise ToolMissing(f"there is no program '{name}' here")
    return hashed(Path(file))


@cache
def own_code(root: Path = PACKAGE) -> str:
    """Return a hash of the lab's code in `root` that a guest runs. The hash ignores comments."""
    return fingerprint({str(file.relative_to(root)): file.read_bytes() for file in sources(root)})[:16]


def _installed(tool: str) -> bool:
    if tool == "mininet":
        make_importable()
        return bool(find_spec(tool) and find_program("mnexec"))
    return bool(find_spec(tool) if tool in _MODULES else find_program(tool))


def find_program(tool: str) -> str | None:
    """Return the path of a tool, or None.

    An ordinary user's PATH lacks the folders of ethtool, iptables and nft, but a guest's PATH has them.
    """
    return shutil.which(tool, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


@cache
def _version(tool: str) -> str:
    """Return the first number with a dot in the tool's version text. Raises MachineError if there is no such number."""
    try:
        said = subprocess.run(
            _asked(tool),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"'{tool}' does not run: {error}") from None
    found = re.search(r"\d+(?:\.\d+)+\S*|\b\d{8}\b", said.stdout + said.stderr)
    if found is None:
        raise MachineError(f"'{tool}' does not print its version")
    return found.group().rstrip(",;)")


def _asked(tool: str) -> list[str]:
    """Return the command that makes the tool print its version."""
    if tool == "mininet":  # `mn` runs with the first Python in the PATH
        return [sys.executable, "-c", _MININET]
    run = [sys.executable, "-m", tool] if tool in _MODULES else [find_program(tool) or tool]
    return [*run, _VERSION_FLAG.get(tool, "--version")]


def of_fabric(fabric: str) -> set[str]:
    """Return the tools that this fabric needs."""
    return {"mininet"} if fabric == "mininet" else set()


def needed(tasks: Iterable[Tooled]) -> set[str]:
    """Return the tools that these workloads, probes and middleboxes declare."""
    return {tool for task in tasks for tool in task.tools}
