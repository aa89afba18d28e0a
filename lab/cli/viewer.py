"""Show a capture in the reader's own program: Wireshark if there is a screen, else tshark in the terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from lab.errors import MachineError


def show_packets(capture: Path) -> int:
    """Show the packets of a file, and return the program's exit status after it has ended.

    Raises MachineError if there is no program for it.
    """
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    programs = ("wireshark", "tshark") if screen else ("tshark",)
    program = next((name for name in programs if shutil.which(name)), None)
    if program is None:
        raise MachineError(f"there is no {' nor '.join(programs)} to show {capture}: `apt install {programs[-1]}`")
    return subprocess.run([program, "-r", str(capture)], check=False).returncode
