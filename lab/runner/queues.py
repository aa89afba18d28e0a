"""Report before a trial if the kernel lacks a queue in the network, with the line that requested the queue."""

from __future__ import annotations

from collections.abc import Callable

from lab.errors import MachineError
from lab.guest.network import WAYS, Network
from lab.machine.kernel import Kernel
from lab.spec.errors import Problem
from lab.spec.topology import Topology

_Blame = Callable[[str], Problem]  # turns a message into a problem of the file that changed the topology


def check(kernel: Kernel, network: Network, topology: Topology, blame: _Blame | None = None) -> None:
    """Raise MachineError, with file and line, if the kernel is known to lack a queue in the network.

    `blame` creates the error for a queue that does not come from the topology.
    """
    own = {link.name: link for link in topology.network.links}
    for link in network.links:
        for way, (_, direction, _), (_, unchanged, _) in zip(
            WAYS, link.directions(), own[link.name].directions(), strict=True
        ):
            if direction.queue is None or not kernel.lacks(direction.queue.kind):
                continue
            kind = direction.queue.kind
            message = f"kernel {kernel.name} has no queue '{kind}': it was built without NET_SCH_{kind.upper()}"
            if blame is not None and direction.queue != unchanged.queue:
                raise MachineError(str(blame(f"link {link.name}, {way}: {message}")))
            raise MachineError(str(topology.problem(link.name, way, "queue", message)))
