"""Run git so that the user's settings do not affect the lab's repositories, and vice versa."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.errors import LabError

# Full compression adds a minute to a kernel's first snapshot, and our repository's objects are read once or twice.
_SETTINGS = {"core.compression": "1", "core.autocrlf": "false", "gc.auto": "0", "advice.detachedHead": "false"}


class GitFailed(LabError):
    """Raised if a git command failed. The message is the last line of git's output."""


def git(*arguments: str, where: Path, environment: Mapping[str, str] | None = None, stdin: str = "") -> str:
    """Run `git ARGUMENTS` in the folder `where`, and return its output, stripped of whitespace. Raises GitFailed."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ours |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **(environment or {})}
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=where, env=ours, input=stdin, capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()
        raise GitFailed(f"git {arguments[0]}: {said[-1]}")
    return done.stdout.strip()
