"""Make a trial's traffic, with the articles' own tools, and with transfers and exchanges of ours.

A workload is a frozen declaration with a `run`; `tools` are the programs that it needs, `greedy` says whether it sends
as fast as the network takes it. `Workload` is the union of all of them, told apart by `kind`.
`Flows` is several of the `Single` ones, side by side.
"""

from lab.workload.arrivals import Arrivals
from lab.workload.bulk import Bulk
from lab.workload.exchange import RequestResponse
from lab.workload.flent import Flent
from lab.workload.flows import Flow, Flows, Single
from lab.workload.netcat import Netcat
from lab.workload.onoff import OnOff
from lab.workload.paced import PacedReader
from lab.workload.packetdrill import Packetdrill
from lab.workload.program import Listens, Prints, Program
from lab.workload.small_writes import SmallWrites, WriteStyle
from lab.workload.tools import Iperf, Iperf3, Ping, Qperf

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
