"""Rewrite the MSS of SYNs in user space: nftables queues them (NFQUEUE), and scapy parses and rebuilds them.

The NFQUEUE bindings in Debian and on PyPI need a library or a compiler. The four netlink messages below need neither.
Constants and layouts come from linux/netfilter/nfnetlink_queue.h.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from lab.guest.fabric.netlink import Netlink, attribute, attributes
from lab.guest.middlebox.firewall import MssSetter, for_syns
from lab.guest.testbed import Child, Testbed, WorkloadError

QUEUE = 0
NETLINK_NETFILTER = 12
PACKET, VERDICT, CONFIG = (3 << 8 | message for message in (0, 1, 2))  # of NFNL_SUBSYS_QUEUE
CFG_CMD, CFG_PARAMS = 1, 2
CMD_BIND, COPY_PACKET = 1, 2
PACKET_HDR, VERDICT_HDR, PAYLOAD = 1, 2, 10
NF_ACCEPT = 1
WHOLE = 0xFFFF  # bytes of a packet that are copied: the largest IP packet
READY_SECONDS = 20.0
POLL_SECONDS = 0.005

_HEADER = struct.pack(">BBH", socket.AF_UNSPEC, 0, QUEUE)  # nfgenmsg
_FAMILY = 4  # its length in bytes


class MssQueue(MssSetter, frozen=True):
    """Uses scapy to set the MSS of SYNs over IPv4 that leave or enter `node` through `interface`.

    Writes nft.NODE.json: the chain that queues the SYNs, as the kernel reports it.
    """

    tools: ClassVar[tuple[str, ...]] = ("nft",)

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the queue active within this context. Raises WorkloadError if the queue's reader ends early."""
        child = testbed.spawn(self.node, self._serve)
        _wait_for_reader(child)
        with for_syns(testbed, self.node, self.way, self.interface, f"queue num {QUEUE}", {"queue": {"num": QUEUE}}):
            yield
        if child.poll() is not None:
            raise WorkloadError(f"whoever reads the queue of {self.node} ended before the trial: see the console log")
        child.end()

    def _serve(self) -> None:
        import scapy.layers.inet  # noqa: F401  # takes half a second, and no packet should wait for it

        with Netlink(NETLINK_NETFILTER) as netlink:
            for what, kind, value in (
                ("opening the queue", CFG_CMD, struct.pack(">BxH", CMD_BIND, socket.AF_INET)),
                ("asking for packets", CFG_PARAMS, struct.pack(">IB", WHOLE, COPY_PACKET)),
            ):
                netlink.do(what, CONFIG, _HEADER + attribute(kind, value))
            for body in netlink.unasked():
                given = attributes(body[_FAMILY:])
                (number,) = struct.unpack_from(">I", given[PACKET_HDR])
                rebuilt = with_mss(given[PAYLOAD], self.mss.bytes)
                verdict = attribute(VERDICT_HDR, struct.pack(">II", NF_ACCEPT, number)) + attribute(PAYLOAD, rebuilt)
                netlink.tell(VERDICT, _HEADER + verdict)


def with_mss(packet: bytes, mss: int) -> bytes:
    """Return an IPv4 packet with this MSS, if its TCP header has the MSS option, and with a correct checksum."""
    from scapy.layers.inet import IP, TCP  # takes half a second, only in the trials that need it

    dissected = IP(packet)
    tcp = dissected[TCP]
    tcp.options = [(name, mss if name == "MSS" else value) for name, value in tcp.options]
    del tcp.chksum
    return bytes(dissected)


def _wait_for_reader(child: Child) -> None:
    """Wait until the kernel reports that the child reads the queue. Raises WorkloadError if the child does not read."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        with suppress(OSError):
            lines = Path(f"/proc/{child.pid}/net/netfilter/nfnetlink_queue").read_text().splitlines()
            if any(int(line.split()[0]) == QUEUE and int(line.split()[3]) == COPY_PACKET for line in lines):
                return
        time.sleep(POLL_SECONDS)
    raise WorkloadError("nothing reads the queue: see the console log")
