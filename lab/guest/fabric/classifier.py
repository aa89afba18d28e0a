"""Sort frames into the classes of a qdisc by their destination, with one program of classic BPF that is read back."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Sequence

from lab.guest.fabric import device
from lab.guest.fabric.netlink import NLM_F_CREATE, NLM_F_EXCL, Netlink, attribute, attributes

TCA_KIND, TCA_OPTIONS = 1, 2
_TCMSG = struct.Struct("=BxxxiIII")  # family, index, handle, parent, info
_EVERYTHING = 1 << 16 | socket.htons(device.ETH_P_ALL)  # priority and protocol of the only filter

# Classic BPF: load 32 or 16 bits of the frame, mask, compare, jump, and return.
_LOAD, _LOAD_HALF, _AND, _EQUAL, _JUMP, _RETURN = 0x20, 0x28, 0x54, 0x15, 0x05, 0x06
_TYPE, _TO = 12, {4: 14 + 16, 6: 14 + 24}  # where the frame has its type, and its destination
_TYPES = {4: 0x0800, 6: 0x86DD}
_INSTRUCTION = struct.Struct("=HBBI")

_Step = tuple[int, int, int, int]
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def add(netlink: Netlink, name: str, code: bytes) -> None:
    """Let a program choose the class of each frame in the qdisc `SHAPER` of `name`."""
    options = [
        attribute(device.TCA_BPF_OPS_LEN, struct.pack("=H", len(code) // _INSTRUCTION.size)),
        attribute(device.TCA_BPF_OPS, code),
    ]
    body = _TCMSG.pack(0, device.index(netlink, name), 0, device.SHAPER, _EVERYTHING)
    body += attribute(TCA_KIND, "bpf") + attribute(TCA_OPTIONS, options)
    netlink.do(f"sorting the frames of {name}", device.RTM_NEWTFILTER, body, NLM_F_CREATE | NLM_F_EXCL)


def read(netlink: Netlink, name: str) -> bytes:
    """Return the program of `add`, as the kernel reports it; empty if there is none."""
    request = _TCMSG.pack(0, device.index(netlink, name), 0, device.SHAPER, 0)
    for body in netlink.dump(f"listing the filters of {name}", device.RTM_GETTFILTER, request):
        options = attributes(attributes(body[_TCMSG.size :]).get(TCA_OPTIONS, b""))
        if device.TCA_BPF_OPS in options:
            return options[device.TCA_BPF_OPS]
    return b""


def program(classes: Sequence[tuple[str, int]]) -> bytes:
    """Return a program that returns the class of a frame's destination, or 0 if no prefix contains it.

    `classes` has pairs of a prefix and the number of its class. The first prefix that fits decides.
    """
    found = [(ipaddress.ip_network(prefix), number) for prefix, number in classes]
    instructions = [(_LOAD_HALF, 0, 0, _TYPE)]
    for version, kind in _TYPES.items():
        own = [(network, number) for network, number in found if network.version == version]
        block = [step for network, number in own for step in _compared(network, number)]
        block.append((_RETURN, 0, 0, 0))
        instructions += [(_EQUAL, 1, 0, kind), (_JUMP, 0, 0, len(block)), *block]
    return b"".join(_INSTRUCTION.pack(*each) for each in [*instructions, (_RETURN, 0, 0, 0)])


def _compared(network: _Network, number: int) -> list[_Step]:
    """Return the instructions that return `number` if the frame goes into this network; otherwise, continue."""
    words = struct.Struct(f">{network.max_prefixlen // 32}I")
    pairs = zip(words.unpack(network.network_address.packed), words.unpack(network.netmask.packed), strict=True)
    steps: list[_Step] = []
    for index, (word, mask) in enumerate(pairs):
        if mask:
            steps.append((_LOAD, 0, 0, _TO[network.version] + 4 * index))
            steps += [(_AND, 0, 0, mask)] if mask != 0xFFFFFFFF else []
            steps.append((_EQUAL, 0, 0, word))
    steps.append((_RETURN, 0, 0, number))
    return [
        (code, true, len(steps) - 1 - at if code == _EQUAL else false, value)
        for at, (code, true, false, value) in enumerate(steps)
    ]
