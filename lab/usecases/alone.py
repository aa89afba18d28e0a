"""Make and run trials of what runs on one host without wires: it brings its own network up, or needs none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from lab.errors import LabError
from lab.record.record import Record
from lab.record.trial import Trial
from lab.runner import tools
from lab.runner.plan import Settings
from lab.runner.progress import shown
from lab.runner.schedule import Runner
from lab.spec.network import Kind, Network, Node
from lab.spec.task import Traffic
from lab.units import to_plain
from lab.usecases.running import Interrupted
from lab.userland.cache import Userland

__all__ = ["HOST", "NETWORK", "outcomes", "trial"]

HOST = "host"
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
) -> Trial:
    """Return the trial of `workload`, which `source` tells to do; `versions` are of programs beside the userland's."""
    return Trial(
        claim=claim,
        arm=arm,
        point="",
        source_sha256=hashlib.sha256(source).hexdigest(),
        network=to_plain(NETWORK),
        workload=to_plain(workload),
        probes=[],
        middleboxes=[],
        kernel=settings.kernel.describe(),
        on=settings.kernel.on,
        clock=settings.clock,
        seed=settings.seed,
        repeat=0,
        tools={**tools.sealed((), userland), **versions},
        fabric=settings.fabric,
        userland=userland.id,
    )


def outcomes(runner: Runner, trials: Sequence[Trial], what: str) -> Mapping[str, Record | LabError]:
    """Run those that the store lacks; return address -> record or error.

    Raises MachineError, and Interrupted, which calls them `what`.
    """
    try:
        with shown(len(trials)) as display:
            return runner.run(trials, display)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: {what} that ended are kept, run again to go on") from None
