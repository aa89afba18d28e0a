"""Give the sizes of Ethernet frames in bytes, IEEE 802.3.

Wires have constants of their own (`lab.guest.fabric.shaper`), so that a claim would show a mistake in either.
"""

from __future__ import annotations

HEADER = 14  # of a frame, in queues and captures
OVERHEAD = 8 + 4 + 12  # on the wire, of what queues and captures count: preamble, FCS and gap
AROUND = HEADER + OVERHEAD  # an IP packet on the wire
SMALLEST = 64 + 8 + 12  # a frame on the wire, with preamble and gap
MTU = 1500  # the largest payload
