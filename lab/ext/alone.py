"""Create and run trials on one host without wires, for workloads that set up their own network or need none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lab.app.running import Interrupted
from lab.errors import LabError
from lab.guest.network import Kind, Network, Node
from lab.guest.task import Traffic
from lab.guest.trial import Trial
from lab.guest.workload.program import Program
from lab.machine.userland.cache import Userland
from lab.record.record import Record
from lab.runner import tools
from lab.runner.memory import given_memory
from lab.runner.plan import Settings
from lab.runner.progress import shown
from lab.runner.schedule import Runner
from lab.units import Duration, Size, to_plain

HOST = "host"
OWN_MACHINE = Path(__file__).with_name("own_machine.py")
MARGIN_SECONDS = 30.0  # of the trial's clock, in which the remaining processes are ended
NETWORK = Network("alone", (Node(HOST, Kind.HOST, {}, ()),), ())
_NONE: Mapping[str, str] = MappingProxyType({})


def trial(
    claim: str,
    arm: str,
    source: bytes,
    workload: Traffic,
    settings: Settings,
    userland: Userland,
    versions: Mapping[str, str] = _NONE,
    memory: Size | None = None,
) -> Trial:
    """Return the trial of `workload`, as described in `source`. `versions` lists programs that are not in the
    userland. The guest has the given memory, or the default.
    """
    return Trial(
        claim=claim,
        arm=arm,
        point="",
        source_sha256=hashlib.sha256(source).hexdigest(),
        network=to_plain(NETWORK),
        workload=to_plain(workload),
        probes=[],
        middleboxes=[],
        kernel={**settings.kernel.describe(), **(given_memory(memory) if memory else {})},
        on=settings.kernel.on,
        clock=settings.clock,
        seed=settings.seed,
        repeat=0,
        tools={**tools.sealed((), userland), **versions},
        fabric=settings.fabric,
        userland=userland.id,
    )


def program(place: str, command: Sequence[str], files: Mapping[str, bytes], seconds: float) -> Program:
    """Return a workload that runs a command with these `files`, for so many seconds of the trial's clock at most.

    The command gets its own machine (see `own_machine`), for which `place` is a folder. Python runs the command.
    """
    contents = {OWN_MACHINE.name: OWN_MACHINE.read_bytes(), **files}
    return Program(
        argv=("python3", f"{{files}}/{OWN_MACHINE.name}", place, "python3", *command),
        client=HOST,
        server=HOST,
        files=tuple(contents),
        limit=Duration(round((seconds + MARGIN_SECONDS) * 1e9)),
    ).with_files(contents.__getitem__)


def outcomes(runner: Runner, trials: Sequence[Trial], what: str) -> Mapping[str, Record | LabError]:
    """Return the record or the error of each trial, by address. Run the trials that are missing in the store.

    Raises MachineError and Interrupted. The message of Interrupted names the trials as `what`.
    """
    try:
        with shown(len(trials)) as display:
            return runner.run(trials, display)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: finished {what} are kept; run the command again to continue") from None
