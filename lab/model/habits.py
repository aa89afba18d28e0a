"""What a program does beside sending and receiving, as far as it moves packets.

Written after iperf3 3.12: iperf_run_client(), iperf_run_server(), Nread() and Nwrite().
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["IPERF3", "Habits", "Looks"]


class Looks(NamedTuple):
    """How often a program reads the clock after it has woken, and again before it sleeps.

    It waits in select() with a time-out, which is three of them, one when it wakes (fs/select.c), and makes its calls
    until one fails for lack of data or room.
    """

    awake: int
    asleep: int


class Habits(NamedTuple):
    """Those of a writer and a reader that agree on a connection of their own when to start: the ACK of that leaves just
    ahead of the first segment. The transfer's connection has carried a cookie then, which was acknowledged.
    """

    writer: Looks
    reader: Looks


IPERF3 = Habits(writer=Looks(awake=1, asleep=5), reader=Looks(awake=2, asleep=3))
