"""Show a capture in the user's own viewer: Wireshark if there is a screen, else tshark with a pager."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from lab.base import terminal
from lab.errors import MachineError

AS_ROOT = "Running as user"  # begins a warning of tshark's about capturing, which reads a file here
QUIT_IF_ONE_SCREEN = "FRX"  # less's options, as git sets them: the text stays on the screen afterwards


def show_packets(capture: Path) -> int:
    """Show the packets of a file, wait until the viewer ends, and return its exit status.

    If standard output is a terminal, tshark's list goes through PAGER (default: less). Raises MachineError if no viewer
    is installed.
    """
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    programs = ("wireshark", "tshark") if screen else ("tshark",)
    program = next((name for name in programs if shutil.which(name)), None)
    if program is None:
        raise MachineError(f"there is no {' nor '.join(programs)} to show {capture}; run `apt install {programs[-1]}`")
    command = [program, "-r", str(capture)]
    if program != "tshark":
        return subprocess.run(command, check=False).returncode
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        status = _paged(command, said)
        said.seek(0)
        for line in said:
            if not line.startswith(AS_ROOT):
                terminal.write(line.rstrip("\n"), sys.stderr)
    return status


def _paged(command: Sequence[str], errors: IO[str]) -> int:
    """Run a command with its output in a pager, if there is a terminal and a pager, and return its exit status."""
    pager = shlex.split(os.environ.get("PAGER", "less"))
    if not (sys.stdout.isatty() and pager and shutil.which(pager[0])):
        return subprocess.run(command, stderr=errors, check=False).returncode
    sys.stdout.flush()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as source:
        shown = subprocess.Popen(pager, stdin=source.stdout, env={"LESS": QUIT_IF_ONE_SCREEN, **os.environ})
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
        try:
            if source.stdout:
                source.stdout.close()  # so that the command ends when the user leaves the pager
            shown.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    return 0 if source.returncode == -signal.SIGPIPE else source.returncode
