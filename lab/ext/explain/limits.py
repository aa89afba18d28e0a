"""Name the limits of a transfer, and state every threshold with its reason, in one place.

No threshold was fitted to the truth set that judges the labels (`make explain-truth`): each follows from a constant of
the kernel, from an RFC, or from the resolution of clocks.
"""

from __future__ import annotations

from enum import Enum


class Limit(str, Enum):
    """Names what kept a sender from sending more at a time."""

    HANDSHAKE = "handshake"
    IDLE = "application idle"
    TURNS = "request and response"
    NAGLE = "Nagle"
    WINDOW = "receive window"
    ZERO_WINDOW = "zero window"
    SEND_BUFFER = "send buffer"
    SLOW_START = "slow start"
    CWND = "congestion window"
    RATE = "bottleneck rate"
    PACING = "pacing"
    TIMEOUT = "time-out"
    REORDERING = "reordering"
    BLACK_HOLE = "MTU black hole"
    UNKNOWN = "cannot tell"


MEANING = {
    Limit.HANDSHAKE: "the turns of TCP and TLS before data can be sent",
    Limit.IDLE: "the sending program had nothing to send",
    Limit.TURNS: "the sending program waited for a message from the other end",
    Limit.NAGLE: "a small segment waited for the ACK of the one before (TCP_NODELAY is not set)",
    Limit.WINDOW: "the receiver's advertised window was full",
    Limit.ZERO_WINDOW: "the receiving program did not read, and the window was closed",
    Limit.SEND_BUFFER: "the sender's socket buffer was full of data in flight",
    Limit.SLOW_START: "the congestion window was still doubling from round trip to round trip",
    Limit.CWND: "the congestion window was full, and no queue stood at the bottleneck",
    Limit.RATE: "the path's rate was used in full, and a queue stood at the bottleneck",
    Limit.PACING: "the sender spread its segments over time",
    Limit.TIMEOUT: "the sender waited for its retransmission timer",
    Limit.REORDERING: "segments arrived out of order, and the sender took them for lost",
    Limit.BLACK_HOLE: "full-sized segments never arrived, and smaller ones did",
    Limit.UNKNOWN: "the capture does not show it",
}

# Clocks and captures
SAME_MOMENT_NS = 500_000  # an ACK and the segment it releases: a host takes less than this, a busy one included
SAME_MOMENT_LEAST_NS = 50_000  # the least that counts, however fast a host usually is
TICK_NS = 1_000_000  # Linux's timestamp clock (TCP_TS_HZ 1000): times from it are known to one tick
CLEARLY = 50  # times longer: so one part of a round trip differs from the other on any host, however short both are
LOCAL = 0.1  # of the round trip: a capture this near one end counts as taken there

# Connections and segments
EXPLAINED = 100  # connections that are explained, those with the most payload, unless one is chosen
LARGEST, USUAL, LEAST = 1460, 1448, 536  # bytes: Ethernet's MSS, with timestamps; the default of RFC 9293 3.7.1
NEAR = 0.75  # of the MSS that the handshake allows: a path's MTU makes segments smaller, but not by more
CUT = 4 / 3  # of the window, from one segment that is cut to its edge to the next: TSO waits for up to a third of it
GROUP = 4  # gaps between segments or ACKs that give a rate: two delayed ACKs, or two pairs of segments

AROUND = 90  # bytes that a link carries with each segment: headers of TCP, IP and Ethernet, with timestamps
MANY = 10  # segments that did not wait, and left at any time of a tick: they show to a tenth when ticks begin
TOGETHER = 0.1  # of the usual time for as many bytes: closer segments passed as one super-packet
HELD = 2  # times as many bytes as ACKs usually acknowledge: such an ACK was held back

CHANCE = 0.001  # that ACKs are near the ends of several gaps by chance: then they ended them

# Timers
DELAYED_ACK_NS = 30_000_000  # Linux delays ACKs for at least 40 ms (TCP_DELACK_MIN), less a jiffy at HZ=100
TIMEOUT_NS = 180_000_000  # Linux waits for at least 200 ms (TCP_RTO_MIN), RFC 6298 for 1 s; less two jiffies

# Buffers
WOKEN = 0.3  # of the flight, acknowledged without a new segment: Linux wakes the writer when a third of the send buffer
# is free (sk_stream_is_writeable); a full window waits for less, as TSO defers for less than a third of it
NEARLY_WOKEN = 0.25  # of the flight, if it was smaller than the buffer, or the last ACK does not count
DEFERRED = 65_536  # bytes that TSO waits for, and sends at a time, at most (GSO_LEGACY_MAX_SIZE)
DEFERRED_NS = (
    2_500_000  # TSO waits for what pacing sends in a millisecond: at twice the rate in slow start, two of them
)
DEFER_NS = 1_000_000  # TSO waits for room no longer than this after its last segment, and until the next ACK
USUALLY = 0.95  # of the data is acknowledged by ACKs that are not larger
STARTUP, PROBED = 2, 1.3  # times what ACKs release: slow start sends twice as much; later, BBR sends 1.25 times
ALIKE = 0.1  # of the flight: the writer is woken at the same flight each time, but an ACK can cover many segments

PACED = 2  # segments: pacing sends this many at a time where a millisecond carries fewer (tcp_min_tso_segs)
PACED_NS = 1_200_000  # else what its rate carries in a millisecond (sk_pacing_shift 10)
TSO_RTT_NS = 512_000  # of the least round trip: each halves what it sends beyond that (tcp_tso_rtt_log 9)

# Rounds
SHORTEST_ROUND_NS = 10_000_000  # a label covers at least this much time, ten ticks of the timestamp clock
MOST_ROUNDS = 20_000  # labels a connection: memory and pages stay bounded
GROWING = 1.25  # more in flight than a round trip ago: slow start doubles, less delayed ACKs (RFC 5681: times 1.5)
GROWTH = 4  # round trips in which a congestion window that is in use grows by two segments at least
STANDING = 0.25  # of the least round trip, at least 2 ms: a queue. Jitter of a wired path without a queue is smaller
STANDING_LEAST_NS = 2_000_000
FULL = 0.9  # of the bottleneck's rate: it is used in full
SPREAD = 0.25  # of the time between segments that no ACK released: a window does not do this
CLOCKED = 0.8  # of it between segments that ACKs released, the rest being bursts: by chance, half can be near an ACK
SMOOTH = 40  # segments, for the rate: a delayed ACK covers two, so that one more or less is a twentieth
REPEATS = 3  # of an ACK: the sender takes a segment for lost (RFC 5681 3.2); fewer are reordering
NAMED = 0.01  # of the transfer's time: a limit with a smaller share may be a mistake in single gaps
MOSTLY = 0.5  # of a round's time: a majority
STUCK = 3  # time-outs of the same full-sized segment: RFC 4821 7.7 takes this as a sign of a black hole
