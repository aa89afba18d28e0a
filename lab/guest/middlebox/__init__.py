"""Change packets on their way. Each middlebox sets up a node before a workload, reads the setup back, and undoes it
later.

A middlebox is a frozen declaration whose `installed` is a context. `Middlebox` is the union of all middleboxes,
distinguished by `kind`.
"""

from lab.guest.middlebox.drop import DropSegment
from lab.guest.middlebox.firewall import NftMaxseg, TcpMss
from lab.guest.middlebox.lose import LoseSegments, LostSegment
from lab.guest.middlebox.nat import Firewall, Masquerade
from lab.guest.middlebox.program import MssProgram
from lab.guest.middlebox.queue import MssQueue

Middlebox = DropSegment | Firewall | LoseSegments | Masquerade | MssProgram | MssQueue | NftMaxseg | TcpMss

__all__ = [
    "DropSegment",
    "Firewall",
    "LoseSegments",
    "LostSegment",
    "Masquerade",
    "Middlebox",
    "MssProgram",
    "MssQueue",
    "NftMaxseg",
    "TcpMss",
]
