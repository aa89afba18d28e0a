"""Change packets on their way, by what is set up on one node before a workload, read back, and undone after it.

A middlebox is a frozen declaration whose `installed` is a context; `Middlebox` is the union of all of them, told apart
by `kind`.
"""

from lab.middlebox.drop import DropSegment
from lab.middlebox.firewall import NftMaxseg, TcpMss
from lab.middlebox.nat import Firewall, Masquerade
from lab.middlebox.program import MssProgram
from lab.middlebox.queue import MssQueue

Middlebox = DropSegment | Firewall | Masquerade | MssProgram | MssQueue | NftMaxseg | TcpMss

__all__ = ["DropSegment", "Firewall", "Masquerade", "Middlebox", "MssProgram", "MssQueue", "NftMaxseg", "TcpMss"]
