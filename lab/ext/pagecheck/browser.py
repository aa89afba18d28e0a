"""Drive a real browser, headless Chromium, through a pipe.

The protocol is DevTools over JSON. No port is open, and no process outlives the `with` block.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from lab.errors import MachineError

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--mute-audio"),
)
_PATIENCE = 120.0  # seconds for one answer
_COMMANDS, _ANSWERS = 3, 4  # the descriptors that Chromium reads from and writes to


class Browser:
    """Shows one page at a time, and evaluates JavaScript on it."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number = 0
        self._read = b""
        self._session = ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._ask("Page.enable")

    def show(self, page: Path) -> None:
        """Load a file, and return once the page is laid out."""
        self._ask("Page.navigate", url=page.resolve().as_uri())
        while self.evaluate("document.readyState") != "complete" or self.evaluate("location.href") == "about:blank":
            time.sleep(0.02)

    def resize(self, width: int) -> None:
        """Set the width of the page's screen in pixels."""
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )

    def prefer(self, scheme: Literal["light", "dark"]) -> None:
        """Set the page's preference for light or dark colours."""
        self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page, or a promise's result, as plain data.

        Raises MachineError if the expression throws.
        """
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            said = found["exceptionDetails"].get("exception", {}).get("description", "it throws")
            raise MachineError(f"the browser cannot run the check of a page: {said}")
        return found["result"].get("value")

    def _ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        _write(self._commands, json.dumps(asked).encode() + b"\0")
        end = time.monotonic() + _PATIENCE
        while True:
            answer = self._next(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise MachineError(f"the browser refuses {method}: {answer['error'].get('message')}")
                return answer["result"]

    def _next(self, end: float) -> dict[str, Any]:
        """Return the next message. Raises MachineError if the browser has ended or is silent for too long."""
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise MachineError(f"the browser has not answered for {_PATIENCE:g} s")
            part = os.read(self._answers, 1 << 16)
            if not part:
                raise MachineError("the browser ended during a check")
            self._read += part
        message, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser, and end it afterwards. Raises MachineError if there is no browser, or it does not start."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise MachineError("Chromium is missing, which checks the pages; run `apt install chromium`")
    reads, commands = _pipe()
    answers, writes = _pipe()

    def place() -> None:  # runs in the child, and puts the pipes where Chromium expects them
        os.dup2(reads, _COMMANDS)
        os.dup2(writes, _ANSWERS)

    with tempfile.TemporaryDirectory(prefix="lab-") as private:
        options = [*_OPTIONS, f"--user-data-dir={private}"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium refuses to sandbox root
        started = subprocess.Popen(
            [program, *options, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place,
            pass_fds=(_COMMANDS, _ANSWERS),
            start_new_session=True,
        )
        for end in (reads, writes):
            os.close(end)
        try:
            yield Browser(commands, answers)
        finally:
            for end in (commands, answers):
                os.close(end)  # which makes it end
            _end(started)


def _end(started: subprocess.Popen[bytes]) -> None:
    try:
        started.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, 9)
        started.wait()


def _pipe() -> tuple[int, int]:
    """Return a pipe with high descriptors, which do not collide with the descriptors for the browser."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
