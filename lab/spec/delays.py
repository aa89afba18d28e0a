"""Find the delay that a link gives to a frame, which may depend on the frame's destination."""

from __future__ import annotations

import ipaddress

from lab.guest.network import Direction
from lab.units import Duration


def delay_to(direction: Direction, address: str) -> Duration:
    """Return the delay of frames to an IP address, with or without a prefix length: the longest prefix decides."""
    target = ipaddress.ip_interface(address).ip
    for each in direction.delays:
        if target in ipaddress.ip_network(each.to):
            return each.delay
    return direction.delay
