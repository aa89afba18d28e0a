"""Combine the sending and the receiving half of a socket.

Received packets may permit sending, and sent packets carry ACKs. Source: net/ipv4/tcp_input.c (tcp_rcv_established())
and tcp_output.c (__tcp_transmit_skb()) of Linux 7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lab.model.packet import Ack, Segment
from lab.model.receiver import Receiver
from lab.model.scenario import Scenario
from lab.model.sender import TCP_NAGLE_CORK, TCP_NAGLE_OFF, Sender, Skb


class Packet(NamedTuple):
    """Describes a packet of a connection with data in both directions."""

    seq: int  # where its payload begins
    segment: Segment | None
    ack: Ack

    @property
    def len(self) -> int:
        """Return the payload's length in bytes."""
        return self.segment.len if self.segment else 0


class Endpoint:
    """Simulates a socket whose process writes, and reads all available data. Its packets go to `transmit(packet)`."""

    def __init__(self, scenario: Scenario, transmit: Callable[[Packet], None], nodelay: bool = False) -> None:
        """Create the socket at the sender's end of the path. `nodelay` is TCP_NODELAY."""
        self.transmit = transmit
        self.sender = Sender(scenario, self._transmit_skb)
        self.receiver = Receiver(scenario.reversed(), self._transmit_ack)
        self.sender.nonagle = TCP_NAGLE_OFF if nodelay else 0

    def write(self, size: int, now: Callable[[], int]) -> Iterator[None]:
        """Simulate one write.

        The write yields to sleep until the buffer has room, and reads the time whenever it continues.
        """
        self.sender.clock_cache = now()
        for _ in self.sender.sendmsg(size):
            yield
            self.sender.clock_cache = now()

    def cork(self) -> None:
        """Hold back partial segments: TCP_CORK."""
        self.sender.nonagle |= TCP_NAGLE_CORK

    def uncork(self, now: int) -> None:
        """Send the data that the cork held back, and remove the cork."""
        self.sender.clock_cache = now
        self.sender.uncork()

    def receive(self, now: int, packet: Packet) -> None:
        """Process a packet, and send the replies that it causes: tcp_rcv_established()."""
        if packet.segment:
            self.receiver.queue(now, packet.segment)
        self.sender.ack(now, packet.ack)
        if packet.segment and self.receiver.icsk_ack.scheduled:
            self.receiver.ack_snd_check()

    def _transmit_skb(self, now: int, seq: int, skb: Skb) -> None:
        """Send an skb, cut into segments that also carry ACKs: __tcp_transmit_skb()."""
        ack = self.receiver.acknowledge(now, skb.end_seq - seq)
        self.receiver.icsk_ack.event_data_sent(now)
        while seq < skb.end_seq:
            length = min(self.sender.mss_cache, skb.end_seq - seq)
            psh = skb.psh and seq + length == skb.end_seq
            self.transmit(Packet(seq, Segment(length, 1, psh, self.sender.ts_recent), ack))
            seq += length

    def _transmit_ack(self, _now: int, ack: Ack) -> None:
        self.transmit(Packet(self.sender.snd_nxt, None, ack))
