"""Lose listed segments of a connection on a link, with a BPF program at the entrance of the link's wire.

netem's losses select no segment, and another run loses other segments.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal

from msgspec import Meta

from lab.guest import outputs
from lab.guest.fabric import device
from lab.guest.fabric.netlink import Netlink
from lab.guest.middlebox import bpf
from lab.guest.middlebox.bpf import PACKET, R0, R1, R2, R3, R6, R7, R8, R9, STACK, Counter, Line
from lab.guest.task import Checked, Task
from lab.guest.testbed import Testbed, WorkloadError

MOST = 1500  # segments: the jumps of a program have 16 bits
_FARTHEST = 4_000_000_000  # bytes: further ones have the sequence numbers of earlier ones again
_ETHERNET, _IPV4, _IPV6, _TCP = 14, 20, 40, 20  # bytes of the headers without options
_PORTS, _SEQ, _OFFSET, _FLAGS = 0, 4, 12, 13  # in a TCP header
_SYN = 0x02
_FIRST = 2  # the first counter of a segment


class LostSegment(Checked, frozen=True):
    """Names a segment: the one that carries the stream's byte `byte`, counted from 0.

    The segment is lost when it passes for this time: 1 for its first sending, 2 for its first retransmission.
    """

    byte: Annotated[int, Meta(ge=0, le=_FARTHEST)]
    sending: Annotated[int, Meta(ge=1, le=1000)] = 1


class LoseSegments(Task, frozen=True):
    """Loses the listed segments of one connection on `link`, and no others, before they reach the link's queue.

    It is the connection whose first SYN in this direction passes first. A retransmission counts as another sending,
    whatever its boundaries are. Super-packets are lost as a whole. Writes losses.LINK.WAY.json: for each listed
    segment, how often its byte passed, and whether the segment was lost. With `required`, a trial fails if a listed
    segment never passed.
    """

    link: str
    segments: tuple[LostSegment, ...]
    way: Literal["forward", "back"] = "forward"
    required: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.segments) <= MOST:
            raise ValueError(f"LoseSegments.segments: should be 1 to {MOST} segments, not {len(self.segments)}")
        if len(set(self.segments)) < len(self.segments):
            twice = next(each for each in self.segments if self.segments.count(each) > 1)
            raise ValueError(
                f"LoseSegments.segments: byte {twice.byte}, sending {twice.sending}, is there twice; leave one out"
            )

    def mss_of_syn(self, announced: int, sender: str, receiver: str, patches: Collection[str]) -> int:  # noqa: ARG002
        """Return the announced MSS, because the middlebox does not change SYNs."""
        return announced

    def dropped(self) -> None:
        """Return None, because the number of a listed segment depends on the sender's segments."""

    def loss(self) -> float:
        """Return 0, because the middlebox drops no segments regularly."""
        return 0.0

    @contextmanager
    def installed(self, testbed: Testbed) -> Iterator[None]:
        """Keep the middlebox active within this context.

        Raises BpfError or NetlinkError if the kernel refuses the program, and WorkloadError if another program runs
        there, or if a segment is `required` and never passed.
        """
        space, end = testbed.entrance(self.link, self.way)
        with bpf.counting(_FIRST + len(self.segments)) as counter:
            with bpf.loaded("lose", lose(self.segments, counter), bpf.TC_ACT_UNSPEC) as program:
                with space.entered():
                    netlink = Netlink()
                with netlink:
                    before = device.programs(netlink, end, None)
                    device.add_wire_program(netlink, end, program.fd)
                    found = device.programs(netlink, end, None)
                    if found != [*before, program.id]:
                        raise WorkloadError(f"link {self.link} runs BPF programs {found}, not {program.id}")
                    try:
                        yield
                    finally:
                        device.remove_wire_program(netlink, end)
            self._tell(testbed, [counter.read(_FIRST + number) for number in range(len(self.segments))])

    def _tell(self, testbed: Testbed, passed: Sequence[int]) -> None:
        plain = [
            {"byte": each.byte, "sending": each.sending, "passed": times, "lost": times >= each.sending}
            for each, times in zip(self.segments, passed, strict=True)
        ]
        (testbed.out / outputs.losses(self.link, self.way)).write_text(json.dumps(plain, indent=1) + "\n")
        missed = [each for each in plain if not each["lost"]]
        if missed and self.required:
            first, more = missed[0], f" ({len(missed) - 1} more)" if len(missed) > 1 else ""
            raise WorkloadError(
                f"byte {first['byte']} was to be lost on link {self.link} when it passed for time {first['sending']}; "
                f"it passed {first['passed']} times{more}"
            )


def lose(segments: Sequence[LostSegment], counter: Counter) -> list[Line]:
    """Return a program that drops these segments, and counts how often the byte of each one passes.

    The first counter holds the connection: its ports, and below them the sequence number of its SYN. The second stays
    zero. Without it, the verifier would follow what each comparison tells about later ones, and give up.
    """
    ports = 16  # bytes, under the stack's top
    lines = [
        bpf.move(PACKET, R1),
        *_tcp(),  # R9: where TCP's header begins; R8: the bytes from there to the packet's end
        *(bpf.load_within(1, R9, _OFFSET), bpf.mask(0xF0), Line(0x77, R0, value=2), Line(0x1F, R8, R0)),  # R8: payload
        *(bpf.load_within(4, R9, _SEQ), bpf.move(R7, R0)),
        *(bpf.load_within(4, R9, _PORTS), Line(0x7B, STACK, R0, -ports)),
        *(bpf.load_within(1, R9, _FLAGS), bpf.mask(_SYN), bpf.move(R9, R0)),
        *bpf.find(counter),
        *(Line(0x79, R1, R0), Line(0x79, R2, STACK, -ports)),  # R1: the connection, R2: the ports
        *bpf.skipping(  # the first SYN decides the connection
            Line(0x15, R9),
            [Line(0x55, R1, leaves=True), Line(0x67, R2, value=32), Line(0x4F, R2, R7), Line(0x7B, R0, R2), _leave()],
        ),
        *(bpf.move(R3, R1), Line(0x77, R3, value=32), Line(0x5D, R3, R2, leaves=True)),
        *(Line(0x1C, R7, R1), Line(0x04, R7, value=-1)),  # R7: the stream's first byte in the segment, in 32 bits
        *(Line(0x0F, R8, R7), bpf.put(R9, 0)),  # R8: the byte after the last one; R9: whether the segment is lost
        *(*bpf.find(counter, 1), Line(0x79, R6, R0)),  # R6: 0, which the verifier does not know
    ]
    for number, each in enumerate(segments, start=_FIRST):
        counted = [*bpf.count(counter, number), *bpf.skipping(Line(0x55, value=each.sending - 1), [bpf.put(R9, 1)])]
        ends = bpf.skipping(Line(0xBD, R2, R1), counted)  # if R2 <= R1
        begins = bpf.skipping(Line(0x2D, R2, R1), [*_plus(R2, R8, R6), *ends])  # if R2 > R1
        lines += [*bpf.put_wide(R1, each.byte), *_plus(R2, R7, R6), *begins]
    return [*lines, Line(0x15, R9, leaves=True), *bpf.drop()]


def _plus(to: int, first: int, second: int) -> list[Line]:
    """Set register `to` to the sum of two others."""
    return [bpf.move(to, first), Line(0x0F, to, second)]


def _leave() -> Line:
    return Line(0x05, leaves=True)


def _tcp() -> list[Line]:
    """Return lines that set R9 and R8 for a whole TCP packet over IPv4 or IPv6, and leave with any other frame."""
    start = _ETHERNET
    ipv4 = [
        *(bpf.load_length(), bpf.leave_below(start + _IPV4 + _TCP)),
        *(bpf.load_byte(start), bpf.leave_unless(0x45)),
        *(bpf.load_byte(start + 9), bpf.leave_unless(socket.IPPROTO_TCP)),
        *(bpf.load_half(start + 6), bpf.mask(0x1FFF), bpf.leave_unless(0)),  # later fragments
        *(bpf.load_half(start + 2), bpf.move(R8, R0), bpf.add(R8, -_IPV4), bpf.put(R9, start + _IPV4)),
    ]
    ipv6 = [
        bpf.leave_unless(0x86DD),
        *(bpf.load_length(), bpf.leave_below(start + _IPV6 + _TCP)),
        *(bpf.load_byte(start + 6), bpf.leave_unless(socket.IPPROTO_TCP)),
        *(bpf.load_half(start + 4), bpf.move(R8, R0), bpf.put(R9, start + _IPV6)),
    ]
    there = [*ipv4, Line(0x05, offset=len(ipv6))]
    return [bpf.load_half(12), *bpf.skipping(Line(0x55, R0, value=0x0800), there), *ipv6]
