"""Run programs of a tree on any Linux: by the tree's own loader and libraries, whatever the host has."""

from __future__ import annotations

from pathlib import Path

__all__ = ["LAUNCHERS", "command", "launcher"]

LOADER = "usr/lib64/ld-linux-x86-64.so.2"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LAUNCHERS = "launch"  # the folder of a tree that holds the launchers of its programs


def command(tree: Path, program: str, *arguments: str) -> list[str]:
    """Return the command that runs `program` (a path in the tree) with arguments."""
    libraries = f"{tree}/{LIBRARIES}"
    return [f"{tree}/{LOADER}", "--inhibit-cache", "--library-path", libraries, f"{tree}/{program}", *arguments]


def launcher(program: str, arguments: str = "") -> str:
    """Write a script, for the folder LAUNCHERS, that runs `program` with `arguments` before the script's own.

    It works wherever the tree lies. The program sees the name that it has in the tree, and finds there what it needs.
    """
    first = f"{arguments} " if arguments else ""
    return (
        "#!/bin/sh\ntree=${0%/*}/..\n"
        f'exec "$tree/{LOADER}" --inhibit-cache --library-path "$tree/{LIBRARIES}" --argv0 "$tree/{program}" '
        f'"$tree/{program}" {first}"$@"\n'
    )
