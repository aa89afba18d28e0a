"""What a trial does on its network: the articles' own tools, and transfers of ours.

A workload is a frozen declaration with a `run`; `Workload` is the union of all of them, told apart by `kind`.
"""

from lab.workload.bulk import Bulk
from lab.workload.netcat import Netcat
from lab.workload.small_writes import SmallWrites
from lab.workload.tools import Iperf3, Ping, Qperf

Workload = Bulk | Iperf3 | Netcat | Ping | Qperf | SmallWrites

__all__ = ["Bulk", "Iperf3", "Netcat", "Ping", "Qperf", "SmallWrites", "Workload"]
