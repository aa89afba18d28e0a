"""A person at a terminal of their own."""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

from rich.console import Console, RenderableType

LAB = Path(sys.executable).with_name("lab")
SECONDS = 120.0


def in_a_process(*args: str) -> subprocess.CompletedProcess[str]:
    """The lab in a process of its own, without a terminal."""
    return subprocess.run([LAB, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)


def printed(shown: RenderableType) -> str:
    """What a terminal of 80 columns shows."""
    out = io.StringIO()
    Console(file=out, width=80).print(shown)
    return out.getvalue()


class Terminal:
    """A program at a terminal of its own, and the person who types there."""

    def __init__(self, temporary: Path, *args: str) -> None:
        self.master, self.slave = os.openpty()
        self.mode = termios.tcgetattr(self.slave)
        self.temporary = temporary
        self.seen = b""
        self.program = subprocess.Popen(
            [str(LAB), *args],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={**os.environ, "TMPDIR": str(temporary), "TERM": "dumb"},
            start_new_session=True,
        )

    def until(self, text: str) -> str:
        """What appears up to `text`; what comes after it is for the next time."""
        deadline = time.monotonic() + SECONDS
        while text.encode() not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 4096)
        before, _, self.seen = self.seen.partition(text.encode())
        return before.decode()

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def left(self) -> tuple[int, list[Path]]:
        """(exit status, files left) when the program has ended; the terminal is as it was."""
        status = self.program.wait(SECONDS)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and (list(self.temporary.iterdir()) or self.changed()):
            time.sleep(0.05)  # a program that was killed has a supervisor that still tidies up
        assert not self.changed()
        return status, list(self.temporary.iterdir())

    def changed(self) -> bool:
        return termios.tcgetattr(self.slave) != self.mode
