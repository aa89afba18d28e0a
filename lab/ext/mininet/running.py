"""Run a Mininet script in a guest with Open vSwitch, pass its output on while it runs, and keep the record."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.app.running import Interrupted
from lab.base.building import shown
from lab.errors import InputError, MachineError
from lab.ext import alone
from lab.ext.mininet import wires
from lab.ext.mininet.limits import instead_of
from lab.ext.mininet.packing import PackedScript
from lab.guest import outputs
from lab.guest.interactive import IPERF
from lab.guest.trial import Trial
from lab.machine.kernel import Budget, Guest, Kernel, KernelMissing, UmlKernel
from lab.machine.kernel.uml import builder
from lab.machine.kernel.uml.cache import series
from lab.machine.userland.ready import ready
from lab.record.record import Record
from lab.record.store import Store
from lab.report.wording import plural
from lab.runner.guest import run as run_in_guest
from lab.runner.plan import Settings
from lab.spec.variant import ResolvedVariant
from lab.units import Size

HERE = Path(__file__).parent
SWITCH = ResolvedVariant(config=(HERE / "openvswitch.config",))
PLACE, ARCHIVE, COMMAND = "/tmp/own", "script.tar", "command.json"  # in the guest
INSIDE = ("inside.py", "crowd.py", "recorder.py", "reporter.py", "every_python.py")
SAID = f"{outputs.PROGRAM}.out"
STATUS = f"{outputs.PROGRAM}/status.json"
FILES = f"{outputs.PROGRAM}/files/"  # the files that the script wrote
CLAIMS = "mininet/"  # the start of the names of scripts' trials
PACKETS = 1 << 18  # of all captures
CAUGHT = "Caught exception. Cleaning up..."  # then `mn` ends with 0
SHOWN = 3  # of the files that a script uses
LOOK_SECONDS = 0.05  # between two reads of the script's output


@dataclass(frozen=True)
class MininetRun:
    """Holds a script's run: its record, its exit status, and the files that it wrote."""

    script: str
    record: Record
    status: int | None  # None: it did not end in time
    out: Path  # the folder of the files
    files: tuple[str, ...]
    used: tuple[str, ...]  # the files beside the script
    is_new: bool  # whether it ran now; else the store had the record

    @property
    def exit_code(self) -> int:
        """Return 0 if the script succeeded, else 1."""
        return 0 if self.status == 0 and not self.caught else 1

    @property
    def caught(self) -> bool:
        """Whether this is a run of `mn` that caught an exception, such as one of a test in a file of --custom."""
        return self.script == "mn" and CAUGHT in self.record.text(SAID)

    @property
    def sentence(self) -> str:
        """Return the outcome of the run, in one line."""
        ended = "did not end in time" if self.status is None else f"exit status {self.status}"
        ended += " after an exception" if self.caught else ""
        seconds = self.record.host.get("guest_seconds")
        beside = f" with {', '.join(self.used[:SHOWN])}{' ...' if len(self.used) > SHOWN else ''}" if self.used else ""
        parts = [f"{self.script}{beside}: {ended}"] + (
            [f"{seconds:.1f} s of its own time"] if self.is_new and seconds else []
        )
        parts += [f"{plural(len(self.files), 'file')} in {self.out}/"] if self.files else []
        return ", ".join(parts) + f"; {'record' if self.is_new else 'already in the store:'} {self.record.address[:12]}"

    @property
    def instead(self) -> str:
        """Return what a script cannot have here, with what to do instead, or "" if neither is known."""
        return instead_of(self.record.text(SAID), self.exit_code)

    @property
    def not_exact(self) -> list[str]:
        """Return a line for each thing that the lab's wires could not make exact; empty on Mininet's wires."""
        return wires.not_exact(self.record)

    def plain(self) -> dict[str, Any]:
        """Return the run as plain data for JSON."""
        return {
            "script": self.script,
            "trial": self.record.address,
            "status": self.status,
            "new": self.is_new,
            "seconds": self.record.host.get("guest_seconds"),
            "output": self.record.text(SAID),
            "out": str(self.out),
            "files": list(self.files),
            "used": list(self.used),
            "exact": wires.is_exact(self.record),
            "not_exact": self.not_exact,
        }


def with_switch(plain: Kernel) -> UmlKernel:
    """Return the kernel if it has Open vSwitch, else its variant with Open vSwitch, which is built if it is missing.

    Raises InputError for a kernel that is not built here, and the errors of `builder.build`.
    """
    if not isinstance(plain, UmlKernel):
        raise InputError(f"{plain.name} is not built here, and Mininet scripts need such a kernel")
    if "CONFIG_OPENVSWITCH=y" in plain.configuration.splitlines():
        return plain
    try:
        return plain.variant(SWITCH)
    except KernelMissing:
        with shown() as progress:
            return builder.variant(series(plain.name), SWITCH, progress)


def trial_of(
    packed: PackedScript,
    arguments: Sequence[str],
    seconds: float,
    settings: Settings,
    capture: bool,
    exact: bool,
    memory: Size | None = None,
) -> Trial:
    """Return the trial of a script. Its address covers the script's files, arguments, seed, userland and kernel.

    With `exact`, the links are the lab's wires, and the address covers their code.
    """
    userland = ready("mininet")
    files = shipped(packed, arguments)
    packets = PACKETS if capture else 0
    command = (f"{{files}}/{ARCHIVE}", f"{{files}}/{COMMAND}", f"{seconds:g}", str(packets))
    start: tuple[str, ...] = ("{files}/inside.py",)
    if exact:
        files |= wires.shipped()
        start = (f"{{files}}/{wires.START}", str(settings.seed))
    try:
        workload = alone.program(PLACE, start + command, files, seconds)
    except ValueError as error:
        raise InputError(f"{packed.name}: {error}") from None
    name = "".join(each if each.isalnum() else "-" for each in Path(packed.name).stem)
    arm = "exact" if exact else "script"
    return alone.trial(f"{CLAIMS}{name}", arm, packed.archive, workload, settings, userland, memory=memory)


def shipped(packed: PackedScript, arguments: Sequence[str]) -> dict[str, bytes]:
    """Return the files that a guest needs for a script."""
    return {
        **{name: (HERE / name).read_bytes() for name in INSIDE},
        "iperf": IPERF.format(iperf="/usr/bin/iperf").encode(),
        **{program.name: program.read_bytes() for program in sorted((HERE / "programs").iterdir())},
        ARCHIVE: packed.archive,
        COMMAND: json.dumps([*packed.start, *arguments]).encode(),
    }


def run(
    packed: PackedScript,
    arguments: Sequence[str],
    settings: Settings,
    store: Store,
    out: Path,
    seconds: float,
    budget: Budget,
    heard: Callable[[bytes], None],
    capture: bool,
    exact: bool,
    memory: Size | None = None,
) -> MininetRun:
    """Run a script unless the store has its record, pass its output to `heard`, and copy the files that it wrote to
    `out`.

    Raises InputError, MachineError, Interrupted, and the errors of running a trial.
    """
    trial = trial_of(packed, arguments, seconds, settings, capture, exact, memory)
    record = store.get(trial.address)
    is_new = record is None
    if record is None:
        record = _performed(trial, store, settings.kernel, budget, heard)
    else:
        record.verify()
        heard(record.path(SAID).read_bytes())
    files = tuple(name.removeprefix(FILES) for name in sorted(record.outputs) if name.startswith(FILES))
    _copy(record, files, out)
    used = tuple(name for name in packed.files if name != packed.name)
    return MininetRun(packed.name, record, record.json(STATUS)["status"], out, files, used, is_new)


def _performed(trial: Trial, store: Store, kernel: Kernel, budget: Budget, heard: Callable[[bytes], None]) -> Record:
    """Run the trial in the background, and pass on the script's output until the script ends. Ctrl-C ends the guest."""
    guests: list[Guest] = []
    core = min(os.sched_getaffinity(0))
    told = 0
    with store.held(), ThreadPoolExecutor(1) as beside:
        running = beside.submit(run_in_guest, trial, store, kernel, core, budget, guests.append, {})
        try:
            while not wait([running], LOOK_SECONDS).done:
                for guest in guests:
                    told = _pass_on(guest.folder / "out" / SAID, told, heard)
            record = running.result()
        except KeyboardInterrupt:
            raise Interrupted("interrupted: the script left no record") from None
        finally:
            for guest in guests:
                guest.end()
    _pass_on(record.path(SAID), told, heard)
    return record


def _pass_on(file: Path, told: int, heard: Callable[[bytes], None]) -> int:
    """Pass on the rest of a file, and return the number of bytes that have been passed on."""
    try:
        with file.open("rb") as source:
            source.seek(told)
            fresh = source.read()
    except FileNotFoundError:
        return told
    if fresh:
        heard(fresh)
    return told + len(fresh)


def _copy(record: Record, files: Sequence[str], out: Path) -> None:
    try:
        for name in files:
            target = out / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(record.path(FILES + name), target)
    except OSError as error:
        raise MachineError(f"cannot write the script's files to {out}: {error.strerror}") from None
