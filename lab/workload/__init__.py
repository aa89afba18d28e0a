"""What a trial does on its network: the articles' own tools, and a bulk transfer of ours.

A workload is a frozen declaration with a `run`; `Workload` is the union of all of them, told apart by `kind`.
"""

from lab.workload.bulk import Bulk
from lab.workload.flent import Flent
from lab.workload.tools import Iperf3, Ping, Qperf

Workload = Bulk | Flent | Iperf3 | Ping | Qperf

__all__ = ["Bulk", "Flent", "Iperf3", "Ping", "Qperf", "Workload"]
