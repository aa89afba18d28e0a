"""Find the versions of everything besides the kernel that touches a trial's packets; they are part of its address."""

from __future__ import annotations

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

import lab
from lab.errors import MachineError
from lab.meaning import fingerprint
from lab.runner.code import sources
from lab.spec.mininet import make_importable
from lab.userland.cache import Userland

_VERSION_FLAG = {"fping": "-v", "nc.openbsd": "-h", "netperf": "-V", "ping": "-V"}
PROGRAMS = {"mininet": "mn"}  # where the program is called otherwise
_MODULES = {"flent"}  # tools of the lab's own Python, run by `python -m`: nobody's PATH decides
_MININET = "from lab.spec.mininet import make_importable as so; so(); from mininet.net import VERSION; print(VERSION)"
_SECONDS = 10


class Tooled(Protocol):
    """A workload, a probe or a middlebox declares its tools like this."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Name the programs that it runs."""


class ToolMissing(MachineError):
    """A tool that an experiment needs is not installed."""


def versions(tools: Iterable[str]) -> dict[str, str]:
    """Return name -> version of `tools`, of Python, and of the lab's own code in a guest. Raises ToolMissing."""
    missing = sorted(tool for tool in set(tools) if not _installed(tool))
    if missing:
        names = " and ".join(f"'{tool}'" for tool in missing)
        raise ToolMissing(f"{names} missing: `make setup` installs every tool, `lab doctor` says what else is wrong")
    return {
        "lab": own_code(),
        "python": platform.python_version(),
        **{tool: _version(tool) for tool in sorted(set(tools))},
    }


def sealed(tools: Iterable[str], userland: Userland) -> dict[str, str]:
    """Return name -> version of the lab's own code in a guest: all else is the userland's, which has an id.

    Raises ToolMissing when the userland lacks one of `tools`.
    """
    missing = sorted(tool for tool in set(tools) if not userland.has(PROGRAMS.get(tool, tool)))
    if missing:
        names = " and ".join(f"'{tool}'" for tool in missing)
        raise ToolMissing(f"the userland has no {names}: --userland host takes this machine's own")
    return {"lab": own_code()}


def differing(wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Name those of the `wanted` tools whose version here is another one, the lab's own code among them.

    Raises ToolMissing.
    """
    here = versions(wanted.keys() - {"lab", "python"})
    return tuple(
        f"{name} {here[name]} instead of {version}" for name, version in wanted.items() if here[name] != version
    )


@cache
def own_code(root: Path = Path(lab.__file__).parent) -> str:
    """Hash the lab's code in `root` that a guest runs: what each file means, not how it is explained."""
    return fingerprint({str(file.relative_to(root)): file.read_bytes() for file in sources(root)})[:16]


def _installed(tool: str) -> bool:
    if tool == "mininet":
        make_importable()
        return bool(find_spec(tool) and find_program("mnexec"))
    return bool(find_spec(tool) if tool in _MODULES else find_program(tool))


def find_program(tool: str) -> str | None:
    """Return the path of a tool, or None.

    An ordinary user's PATH lacks the folders of ethtool, iptables and nft; a guest's has them.
    """
    return shutil.which(tool, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


@cache
def _version(tool: str) -> str:
    """Return the first number with a dot in what the tool says of itself. Raises MachineError when there is none."""
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
        raise MachineError(f"'{tool}' does not tell its version")
    return found.group().rstrip(",;)")


def _asked(tool: str) -> list[str]:
    """Return the command that makes the tool tell its version."""
    if tool == "mininet":  # `mn` runs on whatever Python comes first in the PATH
        return [sys.executable, "-c", _MININET]
    run = [sys.executable, "-m", tool] if tool in _MODULES else [find_program(tool) or tool]
    return [*run, _VERSION_FLAG.get(tool, "--version")]


def of_fabric(fabric: str) -> set[str]:
    """Return the tools that this fabric needs."""
    return {"mininet"} if fabric == "mininet" else set()


def needed(tasks: Iterable[Tooled]) -> set[str]:
    """Return the tools that these workloads, probes and middleboxes declare."""
    return {tool for task in tasks for tool in task.tools}
