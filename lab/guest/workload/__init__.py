"""Generate a trial's traffic with the articles' own tools, and with the lab's own transfers and exchanges.

A workload is a frozen declaration with a `run`. Its `tools` are the programs that the workload needs, and `greedy`
tells whether it sends as fast as the network allows. `Workload` is the union of all workloads, distinguished by `kind`.
`Flows` runs several `Single` workloads side by side.
"""

from lab.guest.workload.arrivals import Arrivals
from lab.guest.workload.bulk import Bulk
from lab.guest.workload.exchange import RequestResponse
from lab.guest.workload.flent import Flent
from lab.guest.workload.flows import Flow, Flows, Single
from lab.guest.workload.netcat import Netcat
from lab.guest.workload.onoff import OnOff
from lab.guest.workload.paced import PacedReader
from lab.guest.workload.packetdrill import Packetdrill
from lab.guest.workload.program import Listens, Prints, Program
from lab.guest.workload.small_writes import SmallWrites, WriteStyle
from lab.guest.workload.tools import Iperf, Iperf3, Ping, Qperf

Workload = Flows | Single | Packetdrill

__all__ = [
    "Arrivals",
    "Bulk",
    "Flent",
    "Flow",
    "Flows",
    "Iperf",
    "Iperf3",
    "Listens",
    "Netcat",
    "OnOff",
    "PacedReader",
    "Packetdrill",
    "Ping",
    "Prints",
    "Program",
    "Qperf",
    "RequestResponse",
    "SmallWrites",
    "Workload",
    "WriteStyle",
]
