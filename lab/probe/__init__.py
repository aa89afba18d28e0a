"""Watch a trial while its workload runs.

A probe is a frozen declaration whose `watch` is a context; `tools` are the programs that it needs. `Probe` is the union
of all of them, told apart by `kind`.
"""

from lab.probe.capture import Capture
from lab.probe.cpu import CpuTime
from lab.probe.expert import ExpertInfo
from lab.probe.netstat import Netstat
from lab.probe.queue import QueueState
from lab.probe.tcp_info import TcpInfo

Probe = Capture | CpuTime | ExpertInfo | Netstat | QueueState | TcpInfo

__all__ = ["Capture", "CpuTime", "ExpertInfo", "Netstat", "Probe", "QueueState", "TcpInfo"]
