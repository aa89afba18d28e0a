"""Change packets on their way. Each middlebox sets up one node before a workload, reads that back, and undoes it after.

A middlebox is a frozen declaration whose `installed` is a context. `Middlebox` is the union of all of them,
distinguished by `kind`.
"""

from lab.guest.middlebox.drop import DropSegment
from lab.guest.middlebox.firewall import NftMaxseg, TcpMss
from lab.guest.middlebox.nat import Firewall, Masquerade
from lab.guest.middlebox.program import MssProgram
from lab.guest.middlebox.queue import MssQueue

Middlebox = DropSegment | Firewall | Masquerade | MssProgram | MssQueue | NftMaxseg | TcpMss

__all__ = ["DropSegment", "Firewall", "Masquerade", "Middlebox", "MssProgram", "MssQueue", "NftMaxseg", "TcpMss"]
