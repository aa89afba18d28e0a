"""Watch a trial while its workload runs.

A probe is a frozen declaration whose `watch` is a context. Its `tools` are the programs that it needs. `Probe` is the
union of all probes, distinguished by `kind`.
"""

from lab.guest.probe.capture import Capture
from lab.guest.probe.cpu import CpuTime
from lab.guest.probe.expert import ExpertInfo
from lab.guest.probe.netstat import Netstat
from lab.guest.probe.queue import QueueState
from lab.guest.probe.tcp_info import TcpInfo

Probe = Capture | CpuTime | ExpertInfo | Netstat | QueueState | TcpInfo

__all__ = ["Capture", "CpuTime", "ExpertInfo", "Netstat", "Probe", "QueueState", "TcpInfo"]
