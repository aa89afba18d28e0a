"""Read and set the segmentation and receive offloads of an interface, by the ethtool ioctl (uapi linux/ethtool.h)."""

from __future__ import annotations

import array
import struct

from lab.fabric.netlink import Netlink
from lab.spec.network import Offloads

SIOCETHTOOL = 0x8946
_GET_SET = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}


def read(netlink: Netlink, interface: str) -> Offloads:
    """Return the offloads of `interface` in the namespace of `netlink`. Raises OSError when the ioctl fails."""
    return Offloads(**{name: bool(_ethtool(netlink, interface, get)) for name, (get, _) in _GET_SET.items()})


def write(netlink: Netlink, interface: str, wanted: Offloads) -> None:
    """Set all offloads of `interface`. Raises OSError when the device cannot."""
    for name, (_, put) in _GET_SET.items():
        _ethtool(netlink, interface, put, int(getattr(wanted, name)))


def _ethtool(netlink: Netlink, interface: str, command: int, value: int = 0) -> int:
    data = array.array("I", [command, value])
    netlink.ioctl(SIOCETHTOOL, struct.pack("16sP", interface.encode(), data.buffer_info()[0]))
    return data[1]
