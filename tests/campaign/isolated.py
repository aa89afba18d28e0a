"""Do something in a process of its own, with an end to its time and memory, and say how it ended."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import lab.cli
import lab.cli.app  # so that forks need not
from tests.campaign.hanging import LOOK_SECONDS, Watch

__all__ = ["SECONDS", "Attempt", "Broken", "attempt", "typed"]

SECONDS = 10  # of CPU, after which something hangs: how long they take is the machine's affair
MEMORY = 4 << 30
FILE = 256 << 20
ALLOWED = {0, 1, 2, 3}  # exit codes of the command line


class Broken(Exception):
    """What was promised does not hold."""


@dataclass(frozen=True)
class Attempt:
    """How it ended: "" when all went as it should, else what is wrong."""

    wrong: str


def attempt(work: Callable[[], None]) -> Attempt:
    """Do `work` in a fork. What it prints goes nowhere."""
    with tempfile.TemporaryFile() as said:
        pid = os.fork()
        if pid == 0:
            _child(work, said.fileno())
        watched = os.pidfd_open(pid)
        try:
            watch, hangs = Watch(pid, inf), ""
            while not hangs and not select.select([watched], [], [], LOOK_SECONDS)[0]:
                hangs = watch.look()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.close(watched)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said.seek(0)
        text = said.read().decode(errors="replace")[-3000:]
    if hangs:
        return Attempt(f"{hangs}\n{text}")
    return Attempt("" if status == 0 else f"ends with {status}\n{text}")


def typed(*argv: str | Path) -> int:
    """Type a command; return its exit code. Raises Broken unless it ends as commands do: with a code, and a message."""
    before, sys.argv = sys.argv, ["lab", *map(str, argv)]
    with tempfile.TemporaryFile("w+") as said, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            lab.cli.main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        finally:
            sys.argv = before
        said.seek(0)
        text = said.read()
    if code not in ALLOWED:
        raise Broken(f"{_line(argv)}: exit code {code}\n{text[-2000:]}")
    if "Traceback (most" in text or (code and not text.strip()):
        raise Broken(f"{_line(argv)}: exit code {code}, and says\n{text[-2000:]}")
    return code


def _line(argv: Sequence[str | Path]) -> str:
    return " ".join(["lab", *map(str, argv)])


def _child(work: Callable[[], None], said: int) -> None:
    status = 1
    try:
        os.setpgid(0, 0)
        os.dup2(said, 2)
        faulthandler.register(signal.SIGXCPU, file=said)  # where it is; then the second limit ends it
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        for limit, value in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE), (resource.RLIMIT_CORE, 0)):
            resource.setrlimit(limit, (value, value))
        work()
        status = 0
    except Broken as broken:
        os.write(said, str(broken).encode())
    except BaseException:  # noqa: BLE001  # whatever it is, it is what we look for
        os.write(said, traceback.format_exc().encode())
    finally:
        os._exit(status)
