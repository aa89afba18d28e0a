"""Simulate one end of a Multipath TCP connection: its buffers, its scheduler, and the data that each subflow receives.

The module follows net/mptcp/protocol.c and options.c of Linux 7.2, with the same names. Positions are data bytes since
the start, and times are whole nanoseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from heapq import heappop, heappush

from lab.ext.mptcp.model.subflow import Packet, Subflow, first_window
from lab.model.cubic import TCP_INIT_CWND
from lab.model.scenario import Scenario
from lab.model.sender import NSEC_PER_USEC
from lab.model.window import TCP_DEFAULT_SCALING_RATIO, TCP_RMEM_TO_WIN_SCALE

PAGE_FRAG = 32768  # bytes of a page that sendmsg() copies to: SKB_FRAG_PAGE_ORDER
DFRAG = 40  # sizeof(struct mptcp_data_frag)
MAX_SKB_FRAGS = 17  # pieces that a packet holds: skb_try_coalesce()
RTT_SAMPLES = 5  # MPTCP_RTT_SAMPLES
BURST = (1 << 16) - 20 - 40 - 40 - 8  # MPTCP_SEND_BURST_SIZE


@dataclass(slots=True)
class DataFrag:
    """Holds data that was written but is not acknowledged yet: struct mptcp_data_frag."""

    data_seq: int
    data_len: int
    overhead: int
    already_sent: int = 0


class Connection:
    """Simulates one end, struct mptcp_sock, and its process, which writes data and reads all available data."""

    def __init__(self, scenario: Scenario) -> None:
        self.subflows: list[Subflow] = []
        self.wmem_min = scenario.sender.sysctl("tcp_wmem")
        self.sndbuf = scenario.sender.sysctl("tcp_wmem", 1)
        self.wmem_queued = self.write_seq = self.snd_nxt = self.snd_una = 0
        self.wnd_end = first_window(scenario)
        self.unacked: deque[DataFrag] = deque()  # the retransmit queue, including data that is not sent yet
        self.pending: deque[DataFrag] = deque()  # the part of it that is not sent yet
        self.page_left = 0  # free bytes of the page for writing
        self.snd_burst = 0
        self.nospace = self.awake = False  # SOCK_NOSPACE; the writer may go on
        self.sends: deque[Subflow] = deque()  # MPTCP_DELEGATE_SEND
        self.syncs = self.push_later = False  # MPTCP_DELEGATE_SNDBUF; MPTCP_PUSH_PENDING
        self.closed: int | None = None  # the end of the written data, if the end is known and not acknowledged yet
        self.rcv_data_fin: int | None = None  # the other end's
        self.now = 0
        self.ack_seq = self.copied_seq = 0
        self.ofo: list[tuple[int, int, int]] = []  # data that came out of order: data_seq, its end, truesize
        self.rmem_alloc = self.unread = 0  # truesize of the queued data; bytes in order that are not read yet
        self.rcv_wnd_sent = 0  # the end of the largest window offered
        self.ofo_last = (-1, 0)  # the end of the packet that last came out of order, and how many have joined it
        self.readable = False
        self.rcvbuf, self.rmem_max = scenario.sender.sysctl("tcp_rmem", 1), scenario.sender.sysctl("tcp_rmem", 2)
        self.space, self.copied, self.space_time = 0, 0, 0
        self.rtt_samples: deque[int] = deque(maxlen=RTT_SAMPLES)  # eight times each, us
        self.scaling_ratio = TCP_DEFAULT_SCALING_RATIO

    def join(self, subflow: Subflow, connects: bool) -> None:
        """Add a subflow, which this end either connects or accepts: mptcp_finish_join().

        The accepting end adds up the buffers before it counts a new subflow, so the sum omits that subflow for a while.
        """
        if connects and self.subflows:
            subflow.receiver.tuning.rcv_rtt_last_tsecr = 0  # set by the fourth packet of its handshake
        if connects or not self.subflows:
            self.subflows.append(subflow)
            self._sync_sndbuf()
        else:
            self._sync_sndbuf()
            self.subflows.append(subflow)
            subflow.cached_sndbuf = 0
        self.space = self.space or min(subflow.receiver.rcv_wnd, TCP_INIT_CWND * subflow.receiver.icsk_ack.advmss)

    # The writer.

    def sendmsg(self, size: int) -> Generator[None, None, None]:
        """Simulate one call. The call yields when its process sleeps until there is room: mptcp_sendmsg()."""
        left = size
        while left:
            if self.wmem_queued >= self.sndbuf:
                self.nospace = True
                self._push_pending()
                self._release()
                if self.wmem_queued >= self.sndbuf:
                    self.nospace, self.awake = True, False
                    yield
                continue
            left -= self._copy(left)
        self._push_pending()
        self._release()

    def close(self) -> None:
        """Write no more data: __mptcp_wr_shutdown(). Each ACK carries the end of the data until the end is
        acknowledged.
        """
        self.closed = self.write_seq
        self._check_send_data_fin()

    @property
    def data_fin(self) -> int | None:
        """Return the end of the data once all data is handed out to subflows: mptcp_data_fin_enabled()."""
        return None if self.pending else self.closed

    def _check_send_data_fin(self) -> None:
        """Announce the end of the data once all data is handed out to subflows: mptcp_check_send_data_fin()."""
        if self.data_fin is not None:
            for subflow in self.subflows:
                subflow.send_ack(self.now)

    def _copy(self, left: int) -> int:
        """Copy as much as fits in the page: mptcp_frag_can_collapse_to(), mptcp_carve_data_frag()."""
        tail = self.pending[-1] if self.pending and self.page_left else None
        overhead = 0
        if tail is None:
            if self.page_left < DFRAG + 32 or not self.unacked:  # skb_page_frag_refill()
                self.page_left = PAGE_FRAG
            overhead = DFRAG + self.page_left % 8
            tail = DataFrag(self.write_seq, 0, overhead)
            self.page_left -= overhead
            self.unacked.append(tail)
            self.pending.append(tail)
        size = min(self.page_left, left)
        self.page_left -= size
        tail.data_len += size
        self.write_seq += size
        self.wmem_queued += size + overhead
        return size

    def _release(self) -> None:
        """Do the work that was deferred while a process held the socket: mptcp_release_cb()."""
        while self.sends or self.push_later:
            self.sends.clear()
            self.push_later = False
            self._push_pending()
        if self.syncs:
            self._sync_sndbuf()

    # The scheduler.

    def _get_send(self) -> Subflow | None:
        """Return the subflow that will send its queued data soonest: mptcp_subflow_get_send()."""
        best, least = None, 1 << 64
        for subflow in self.subflows:
            subflow.avg_pacing_rate = subflow.avg_pacing_rate or subflow.pacing_rate()
            linger = (subflow.wmem_queued() << 32) // subflow.avg_pacing_rate
            if linger < least:
                best, least = subflow, linger
        if best is None or not best.memory_free():
            return None
        burst, wmem = min(BURST, self.wnd_end - self.snd_nxt), best.wmem_queued()
        if burst > 0:
            pace = best.avg_pacing_rate * wmem + best.pacing_rate() * burst
            best.avg_pacing_rate = pace // (burst + wmem)
            self.snd_burst = burst
        return best

    def _subflow_push(self, subflow: Subflow) -> int:
        """Hand data to a subflow until its burst or its buffer is full: __subflow_push_pending()."""
        copied = 0
        while self.pending:
            frag = self.pending[0]
            while frag.already_sent < frag.data_len:
                at = frag.data_seq + frag.already_sent
                sent = subflow.sendmsg_frag(at, frag.data_len - frag.already_sent, self.wnd_end - at)
                if not sent:
                    return copied
                frag.already_sent += sent
                self.snd_burst -= sent
                self.snd_nxt = max(self.snd_nxt, at + sent)
                copied += sent
            self.pending.popleft()
            if self.snd_burst <= 0 or not subflow.memory_free():
                break
        return copied

    def _push_pending(self) -> None:
        """Hand out the written data, in a process: __mptcp_push_pending()."""
        last: Subflow | None = None
        while self.pending:
            chosen = self._get_send()
            if chosen is None:
                break
            if last and last is not chosen:
                last.push(self.now)
            last = chosen
            if not self._subflow_push(chosen):
                break
        if last:
            last.push(self.now)
            self._check_send_data_fin()

    def _subflow_push_pending(self, subflow: Subflow, first: bool) -> None:
        """Hand out the written data after an ACK: __mptcp_subflow_push_pending()."""
        copied = 0
        while self.pending:
            if not first:
                chosen = self._get_send()
                if chosen is None:
                    break
                if chosen is not subflow:
                    if chosen not in self.sends:
                        self.sends.append(chosen)
                    break
            first = False
            sent = self._subflow_push(subflow)
            copied += sent
            if not sent:
                break
        if copied:
            subflow.push(self.now)
            self._check_send_data_fin()

    # What it receives.

    def receive(self, now: int, subflow: Subflow, packet: Packet) -> None:
        """Process a packet of a subflow: tcp_rcv_established(), mptcp_incoming_options()."""
        self.now = now
        subflow.take_ack(now, packet.ack_seq, packet.window, packet.sack)
        subflow.measure_rtt(now, packet)
        subflow.ts_recent = max(subflow.ts_recent, packet.tsval)
        self.wnd_end = max(self.wnd_end, packet.data_ack + packet.window)
        if self.wnd_end > self.snd_nxt and self.pending:
            self._subflow_push_pending(subflow, first=False)
        if packet.data_ack > self.snd_una:
            self._clean_una(packet.data_ack)
        if packet.data_fin is not None:
            self.rcv_data_fin = packet.data_fin
        if packet.len:
            subflow.receive(now, packet)
        subflow.data_snd_check()
        if packet.len:
            subflow.ack_snd_check()
        self.delegated()
        self._check_data_fin()

    def _check_data_fin(self) -> None:
        """Acknowledge the end of the peer's data on all subflows after it has arrived: mptcp_check_data_fin()."""
        if self.rcv_data_fin == self.ack_seq:
            self.ack_seq += 1
            for subflow in self.subflows:
                subflow.send_ack(self.now)

    def delegated(self) -> None:
        """Do the work that was deferred to other subflows: mptcp_subflow_process_delegated()."""
        while self.sends:
            self._subflow_push_pending(self.sends.popleft(), first=True)
        if self.syncs:
            self._sync_sndbuf()

    def _clean_una(self, data_ack: int) -> None:
        """Free the acknowledged data: __mptcp_clean_una()."""
        self.snd_una = data_ack
        if self.closed is not None and data_ack > self.closed:
            self.closed = None
        while self.unacked and self.unacked[0].data_seq + self.unacked[0].data_len <= data_ack:
            frag = self.unacked.popleft()
            self.wmem_queued -= frag.data_len + frag.overhead
        if self.unacked and (delta := data_ack - self.unacked[0].data_seq) > 0:
            frag = self.unacked[0]
            frag.data_seq, frag.data_len = frag.data_seq + delta, frag.data_len - delta
            frag.already_sent -= delta
            self.wmem_queued -= delta

    def subflow_write_space(self, subflow: Subflow) -> None:
        """Let the buffer follow a subflow's buffer, and wake the writer: mptcp_propagate_sndbuf(),
        mptcp_write_space().
        """
        if subflow.sndbuf != subflow.cached_sndbuf:
            self.syncs = True
        self._write_space()

    def _sync_sndbuf(self) -> None:
        """Make the buffer as large as the buffers of all subflows together: __mptcp_sync_sndbuf()."""
        self.syncs, self.sndbuf = False, self.wmem_min
        for subflow in self.subflows:
            subflow.cached_sndbuf = subflow.sndbuf
            self.sndbuf += subflow.sndbuf
        self._write_space()

    def _write_space(self) -> None:
        """Wake the writer if a third of the buffer is free: sk_stream_write_space()."""
        if self.nospace and self.sndbuf - self.wmem_queued >= max(self.wmem_queued >> 1, 1):
            self.nospace, self.awake = False, True

    # The reader.

    def data_ready(self, subflow: Subflow, data_seq: int, length: int, truesize: int) -> None:
        """Queue data from a subflow, in order or not: __mptcp_move_skb(), __mptcp_ofo_queue()."""
        self._rcv_rtt_update(subflow)
        if data_seq > self.ack_seq:
            end, joined = self.ofo_last
            joins = data_seq == end and joined < MAX_SKB_FRAGS
            self.ofo_last = data_seq + length, joined + 1 if joins else 1
            truesize -= subflow.skb_overhead * joins  # mptcp_ooo_try_coalesce()
            heappush(self.ofo, (data_seq, data_seq + length, truesize))
            self.rmem_alloc += truesize
            return
        self.ack_seq = max(self.ack_seq, data_seq + length)
        self.rmem_alloc += truesize
        self.unread += truesize
        while self.ofo and self.ofo[0][0] <= self.ack_seq:
            _, end, truesize = heappop(self.ofo)
            self.unread += truesize
            self.ack_seq = max(self.ack_seq, end)
        self.readable = True

    def read(self, now: int) -> None:
        """Let the process read: mptcp_recvmsg(), mptcp_cleanup_rbuf()."""
        self.readable, copied = False, self.ack_seq - self.copied_seq
        self.copied_seq = self.ack_seq
        self.rmem_alloc, self.unread = self.rmem_alloc - self.unread, 0
        self._rcv_space_adjust(now // NSEC_PER_USEC, copied)
        for subflow in self.subflows:
            subflow.cleanup_rbuf(now, emptied=not self.rmem_alloc)

    def _rcv_rtt_update(self, subflow: Subflow) -> None:
        """Read a subflow's round-trip time and scaling ratio, once per window: mptcp_rcv_rtt_update()."""
        tuning = subflow.receiver.tuning
        if tuning.rtt_us and tuning.rtt_seq != subflow.prev_rtt_seq:
            subflow.prev_rtt_seq = tuning.rtt_seq
            self.rtt_samples.append(tuning.rtt_us)
            self.scaling_ratio = 7 * self.scaling_ratio + subflow.receiver.scaling_ratio >> 3

    def _rcv_space_adjust(self, now_us: int, copied: int) -> None:
        """Let the receive buffers grow with the data read in a round trip: mptcp_rcv_space_adjust()."""
        self.copied += copied
        if not self.rtt_samples or now_us - self.space_time < min(self.rtt_samples) >> 3:
            return
        if self.copied > self.space and self._rcvbuf_grow(self.copied):
            for subflow in self.subflows:
                subflow.rcvbuf_grow(self.copied)
        self.copied, self.space_time = 0, now_us

    def _rcvbuf_grow(self, newval: int) -> bool:
        """Make the buffer hold twice the data read, with room for slow start: mptcp_rcvbuf_grow()."""
        oldval, self.space = self.space, newval
        rcvwin = 2 * newval
        rcvwin += 2 * (rcvwin * (newval - oldval) // oldval)
        rcvbuf = min((rcvwin << TCP_RMEM_TO_WIN_SCALE) // self.scaling_ratio, self.rmem_max)
        grows = rcvbuf > self.rcvbuf
        self.rcvbuf = max(self.rcvbuf, rcvbuf)
        return grows

    def misses(self) -> bool:
        """Return whether some data has arrived out of order."""
        return bool(self.ofo)

    def set_rwin(self, rcv_wnd: int) -> int:
        """Return the window for a subflow that is about to offer a window.

        The window is not smaller than the windows of the other subflows: mptcp_set_rwin().
        """
        self.rcv_wnd_sent = max(self.rcv_wnd_sent, self.ack_seq + rcv_wnd)
        return self.rcv_wnd_sent - self.ack_seq

    def window(self) -> int:
        """Return the offered share of the free receive buffer: mptcp_space()."""
        return max(self.rcvbuf - self.rmem_alloc, 0) * self.scaling_ratio >> TCP_RMEM_TO_WIN_SCALE
