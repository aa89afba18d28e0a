"""Do a cluster's work on one of its machines, where Dask calls these functions in a thread of its worker.

Arguments and results are plain data, so that a worker with another version of the lab can report its version instead of
failing.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import dask
import msgspec
from distributed import Worker, get_worker

from lab.base import archive
from lab.base.meaning import fingerprint
from lab.errors import LabError, MachineError
from lab.ext.cluster import parts
from lab.ext.cluster.cores import own_core
from lab.ext.cluster.parts import Part
from lab.guest.trial import Trial
from lab.machine.kernel import Budget, Guest, GuestError, scratch_guest_folder
from lab.machine.kernel.uml import cache as kernels
from lab.record.date import now
from lab.record.record import Record
from lab.record.store import Store
from lab.runner import tools
from lab.runner.cleaning import sweep
from lab.runner.guest import KEPT, run
from lab.spec.shipped import PACKAGE
from lab.units import from_plain

Plain = dict[str, Any]
# code that a pilot runs, besides the guest's
LAYERS = ("base", "ext/cluster", "machine", "record", "runner", "spec")
_LOOK_SECONDS = 0.5  # between two checks whether the caller still waits for a trial


@cache
def own_code() -> str:
    """Return a hash of the code that a worker runs, without comments."""
    root = PACKAGE
    files = sorted(file for layer in LAYERS for file in (root / layer).rglob("*.py"))
    return fingerprint({str(file.relative_to(root)): file.read_bytes() for file in files})[:16]


def admit(wanted: Plain) -> Plain:
    """Describe this machine: why it cannot run these trials, or else the kernels and userlands that it needs.

    `wanted` holds the required `code` and `tools` (by version), the `parts`, and a `token`: the path of a file in the
    caller's store, and its content. A worker that sees this file writes records into that store.
    """
    for _ in sweep():
        pass  # remains of killed pilots
    parts.tidy()
    found: Plain = {"host": os.uname().nodename, "refused": "", "lacks": [], "shares": _shares(*wanted["token"])}
    try:
        if own_code() != wanted["code"]:
            raise MachineError(f"its replab has a different version (code {own_code()} instead of {wanted['code']})")
        if others := tools.differing(wanted["tools"]):
            raise MachineError(f"it has {', '.join(others)}")
        found["lacks"] = [part for part in wanted["parts"] if parts.kept(Part(*part)) is None]
    except LabError as error:
        found["refused"] = str(error)
    return found


def receive(part: tuple[str, str, str], pieces: Sequence[bytes]) -> str:
    """Store a kernel or a userland in this machine's cache. Return the reason for a failure, or ''."""
    try:
        parts.keep(Part(*part), pieces)
    except LabError as error:
        return str(error)
    return ""


def perform(task: Plain) -> Plain:
    """Run the trial of `task` on its own core, and return the archive of its record.

    An event on the task's Dask `topic` reports the trial's start. The archive is None if the record went directly into
    the caller's store. Without a record, `error` is the reason, `exit_code` is the exit code of the error, `console` is
    the guest's console, and `unfit` tells whether this machine is to blame.
    """
    worker = get_worker()
    answer: Plain = {
        "worker": worker.address,
        "archive": None,
        "error": "",
        "exit_code": 0,
        "console": b"",
        "unfit": False,
    }
    worker.log_event(task["topic"], worker.get_current_task())
    try:
        with scratch_guest_folder() as scratch, own_core() as core, _wanted_still(worker) as started:
            store = Store(Path(task["results"])) if task["results"] else Store(scratch / "results", durable=False)
            try:
                record = _performed(task, store, core, started)
            except LabError as error:
                if not task["results"]:
                    answer["console"] = b"".join(path.read_bytes() for path in (store.root / KEPT).glob("*"))
                raise error
            if not task["results"]:
                packed = io.BytesIO()
                archive.pack(record.folder, packed, quick=True)
                answer["archive"] = packed.getvalue()
            return answer
    except LabError as error:
        local = isinstance(error, GuestError) and not task["results"]  # its console is removed with the folder
        message = str(error.args[0]) if local else str(error)
        return answer | {"error": message, "exit_code": error.exit_code, "unfit": isinstance(error, MachineError)}
    except OSError as error:
        return answer | {"error": f"{error.filename}: {error.strerror}", "exit_code": 3, "unfit": True}


def _performed(task: Plain, store: Store, core: int, started: Callable[[Guest], None]) -> Record:
    trial = from_plain(msgspec.json.decode(task["trial"]), Trial)
    place = parts.kept(part := Part(*task["kernel"]))
    kernel = None if place is None else kernels.load(place)
    if kernel is None:
        raise MachineError(f"{part} is gone from here")
    # this machine's clock may be behind that of the caller, who predicted before it asked
    host = {"started": max(now(), task["asked"]), "worker": os.uname().nodename}
    return run(trial, store, kernel, core, from_plain(task["budget"], Budget), started, host)


def _shares(path: str, content: str) -> bool:
    """Return whether the caller's store is also visible here, and Dask's configuration permits its use."""
    if not dask.config.get("replab.shared", True):
        return False
    try:
        return Path(path).read_text() == content and os.access(Path(path).parent, os.W_OK)
    except OSError:
        return False


@contextmanager
def _wanted_still(worker: Worker) -> Iterator[Callable[[Guest], None]]:
    """Yield a function to call with the guest. End the guest if no caller waits for this task any longer.

    An interrupted or killed caller cancels its tasks, but Dask does not end the threads that run them.
    """
    key, over, guests = worker.get_current_task(), threading.Event(), list[Guest]()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                for guest in guests:
                    guest.end()

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield guests.append
    finally:
        over.set()
        watching.join()
