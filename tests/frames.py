"""The Ethernet header of crafted frames."""

from __future__ import annotations

from scapy.layers.l2 import Ether

__all__ = ["ETHERNET"]

# Without addresses, scapy would ask the machine's own network for them (ARP, neighbour solicitation), and wait.
ETHERNET = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
