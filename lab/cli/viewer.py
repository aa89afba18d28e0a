"""Show a capture in the user's own viewer: Wireshark if there is a screen, else tshark in the terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from lab.errors import MachineError


def show_packets(capture: Path) -> int:
    """Show the packets of a file, wait until the viewer ends, and return its exit status.

    Raises MachineError if no viewer is installed.
    """
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    programs = ("wireshark", "tshark") if screen else ("tshark",)
    program = next((name for name in programs if shutil.which(name)), None)
    if program is None:
        raise MachineError(f"there is no {' nor '.join(programs)} to show {capture}: `apt install {programs[-1]}`")
    return subprocess.run([program, "-r", str(capture)], check=False).returncode
