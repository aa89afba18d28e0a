"""Read and set the segmentation and receive offloads of an interface, with ethtool's features (uapi linux/ethtool.h).

Features have the names that `ethtool -k` shows. Kernel versions number the features differently, and newer kernels have
more features, so the module matches names. With `tso` and `gso` off, no super-packet leaves an interface whole, whether
TCP, UDP, SCTP, a tunnel or a packet socket built it.
"""

from __future__ import annotations

import array
import re
import struct
from functools import cache

import msgspec

from lab.guest.fabric.netlink import Netlink
from lab.guest.network import Offloads

SIOCETHTOOL = 0x8946
_GET_STRINGS, _GET_FEATURES, _SET_FEATURES = 0x1B, 0x3A, 0x3B
_FEATURE_NAMES, _NAME_BYTES, _MOST = 4, 32, 256  # ETH_SS_FEATURES, ETH_GSTRING_LEN, and more features than there are

# The features of each switch of `Offloads`; the first match decides. None: always off, no topology chooses it.
_SWITCHES = (
    ("tso", re.compile(r"tx-tcp.*-segmentation")),
    ("gso", re.compile(r"tx-.*-segmentation|tx-gso-.*")),
    ("gro", re.compile(r"rx-gro")),
    (None, re.compile(r"rx-gro-.*|rx-udp-gro-.*|rx-lro")),
)


class _Features(msgspec.Struct, frozen=True):
    """Holds bit sets of an interface's features, and the names of the offloads among them, by bit."""

    names: tuple[tuple[int, str, str | None], ...]  # bit, name, switch
    words: int  # of 32 bits each, as the kernel wants them
    available: int
    active: int


def read(netlink: Netlink, interface: str) -> list[str]:
    """Return the enabled offloads of `interface`, in the namespace of `netlink`.

    Raises OSError if no such interface exists.
    """
    found = _features(netlink, interface)
    return sorted(name for bit, name, _ in found.names if found.active & bit)


def wanted(netlink: Netlink, interface: str, offloads: Offloads) -> list[str]:
    """Return the expected result of `read`: the offloads that `offloads` enables and the interface supports."""
    found = _features(netlink, interface)
    return sorted(name for bit, name, switch in found.names if found.available & bit and _is_on(switch, offloads))


def write(netlink: Netlink, interface: str, offloads: Offloads) -> None:
    """Set all offloads of `interface`. Raises OSError if the interface no longer exists."""
    found = _features(netlink, interface)
    valid = sum(bit for bit, _, _ in found.names if found.available & bit)
    on = sum(bit for bit, _, switch in found.names if valid & bit and _is_on(switch, offloads))
    request = array.array("I", [_SET_FEATURES, found.words])
    for word in range(found.words):
        request.extend(bits >> 32 * word & 0xFFFFFFFF for bits in (valid, on))
    _ethtool(netlink, interface, request)


def _is_on(switch: str | None, offloads: Offloads) -> bool:
    return switch is not None and bool(getattr(offloads, switch))


def _features(netlink: Netlink, interface: str) -> _Features:
    strings = array.array("I", [_GET_STRINGS, _FEATURE_NAMES, 0, *bytes(_MOST * _NAME_BYTES // 4)])
    _ethtool(netlink, interface, strings)
    found = array.array("I", [_GET_FEATURES, _MOST // 32, *bytes(_MOST // 32 * 4)])
    _ethtool(netlink, interface, found)
    words = found[1]  # each has four bit sets: available, requested, active, never changed
    available, active = (sum(found[2 + 4 * word + part] << 32 * word for word in range(words)) for part in (0, 2))
    return _Features(_offloads(strings[3:].tobytes()), words, available, active)


@cache
def _offloads(strings: bytes) -> tuple[tuple[int, str, str | None], ...]:
    """Return the bit, the name and the switch of every offload in the kernel's table of feature names."""
    names = [name.split(b"\0")[0].decode() for (name,) in struct.iter_unpack(f"{_NAME_BYTES}s", strings)]
    return tuple(
        (1 << number, name, switch)
        for number, name in enumerate(names)
        for switch in [switch for switch, pattern in _SWITCHES if pattern.fullmatch(name)][:1]
    )


def _ethtool(netlink: Netlink, interface: str, data: array.array[int]) -> None:
    """Make an ethtool call. The kernel's answer replaces `data`."""
    netlink.ioctl(SIOCETHTOOL, struct.pack("16sP", interface.encode(), data.buffer_info()[0]))
