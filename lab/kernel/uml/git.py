"""Run git so that neither the user's settings nor ours reach the other side."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.errors import LabError

__all__ = ["GitFailed", "git"]

# Full compression costs a minute of a kernel's first snapshot; what goes into our repository is read once or twice.
_SETTINGS = {"core.compression": "1", "core.autocrlf": "false", "gc.auto": "0", "advice.detachedHead": "false"}


class GitFailed(LabError):
    """A git command failed; the message is git's own last words."""


def git(*arguments: str, where: Path, environment: Mapping[str, str] | None = None, stdin: str = "") -> str:
    """Run `git ARGUMENTS` in the folder `where` and return its output, stripped of white space. Raises GitFailed."""
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
