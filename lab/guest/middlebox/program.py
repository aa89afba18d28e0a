"""Rewrite the MSS of SYNs with a BPF program in tc's hooks (clsact). The module needs no compiler."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lab.guest.fabric import device
from lab.guest.fabric.netlink import Netlink
from lab.guest.middlebox import bpf
from lab.guest.middlebox.bpf import PACKET, R1, R2, R3, R4, R5, STACK, Line
from lab.guest.middlebox.firewall import Hook, MssSetter
from lab.guest.testbed import Testbed, WorkloadError

# Offsets in a frame with an IPv4 header of 20 bytes. Linux puts the MSS first among a SYN's options.
ETHERTYPE, VERSION, FRAGMENT, PROTOCOL, FLAGS, CHECKSUM, OPTION, MSS = 12, 14, 20, 23, 47, 50, 54, 56
SYN, SYN_RST = 0x02, 0x06
KIND_2_LENGTH_4 = 0x0204  # RFC 9293 3.2: how the MSS option starts


class MssProgram(MssSetter, frozen=True):
    """Uses a tc-bpf program to set the MSS of SYNs over IPv4 that leave or enter `node` through `interface`."""

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the program active within this context.

        Raises BpfError or NetlinkError if the kernel refuses the program, and WorkloadError if any other program runs
        there.
        """
        with running("set_mss", set_mss(self.mss.bytes), testbed, self.node, self.interface, self.way):
            yield


@contextmanager
def running(name: str, lines: Sequence[Line], testbed: Testbed, node: str, interface: str, way: Hook) -> Iterator[None]:
    """Run a program on every packet at this hook, within this context. Raises the errors of `MssProgram.installed`."""
    with bpf.loaded(name, lines) as program:
        with testbed.spaces[node].entered():
            netlink = Netlink()
        with netlink:
            device.add_program(netlink, interface, way, program.fd)
            found = device.programs(netlink, interface, way)
            if found != [program.id]:
                raise WorkloadError(f"{interface} of {node} runs BPF programs {found}, not {program.id}")
            try:
                yield
            finally:
                device.remove_programs(netlink, interface)


def set_mss(mss: int) -> list[Line]:
    """Return a program that sets the MSS of a SYN and corrects the checksum. Other packets pass untouched."""
    return [
        bpf.move(PACKET, R1),
        *(bpf.load_half(ETHERTYPE), bpf.leave_unless(0x0800)),
        *(bpf.load_byte(VERSION), bpf.leave_unless(0x45)),
        *(bpf.load_byte(PROTOCOL), bpf.leave_unless(socket.IPPROTO_TCP)),
        *(bpf.load_half(FRAGMENT), bpf.mask(0x1FFF), bpf.leave_unless(0)),
        *(bpf.load_byte(FLAGS), bpf.mask(SYN_RST), bpf.leave_unless(SYN)),
        *(bpf.load_half(OPTION), bpf.leave_unless(KIND_2_LENGTH_4)),
        *(bpf.load_half(MSS), bpf.move(R3, bpf.R0), bpf.network_order(R3)),
        *(bpf.put(R4, mss), bpf.network_order(R4), bpf.store_half(2, R4)),
        *(bpf.move(R1, PACKET), bpf.put(R2, CHECKSUM), bpf.put(R5, 2), bpf.call(bpf.L4_CSUM_REPLACE)),
        *(bpf.move(R1, PACKET), bpf.put(R2, MSS), bpf.move(R3, STACK), bpf.add(R3, -2), bpf.put(R4, 2)),
        *(bpf.put(R5, 0), bpf.call(bpf.SKB_STORE_BYTES)),
    ]
