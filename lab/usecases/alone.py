"""Make trials of what runs on one host without wires: it brings its own network up, or needs none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

from lab.record.trial import Trial
from lab.runner import tools
from lab.runner.plan import Settings
from lab.spec.network import Kind, Network, Node
from lab.spec.task import Traffic
from lab.units import to_plain
from lab.userland.cache import Userland

__all__ = ["HOST", "NETWORK", "trial"]

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
