"""Release a queue's frames one by one.

The qdisc above the queue decides when, and the netem behind the queue adds the frames' time on the wire. The netem of a
plain wire combines queue, delay and rate, and its queue is a FIFO. If a topology sets any other queue, frames wait in
front of the netem, in a separate stage:

    arriving ─▶ qN: htb ─▶ [queue] ─▶ pN ─▶ wN: netem with delay and rate

HTB has one class, without a burst. HTB releases a frame, and waits for the time that this frame needs on the wire
before it releases the next frame. So no frame ever waits in the netem. netem adds the frame's own time on the wire,
which HTB does not include. A change of the rate does not affect a frame that is already on its way.

If the link plays a trace, a gate replaces HTB. The gate is a TBF whose bucket is refilled at each opportunity (a change
of a TBF fills its bucket). Between opportunities, the bucket holds less than a frame costs, because every frame costs
at least `_CLOSED` bytes (mpu).
"""

from __future__ import annotations

import struct
from typing import Any

from lab.guest.fabric.netlink import attribute, attributes
from lab.guest.network import Direction
from lab.units import Rate, Size

FRAME_OVERHEAD = Size(24)  # preamble 8, FCS 4, gap 12
ETHERNET_HEADER = Size(14)
GATE_MTU = Size(65521)  # of the gate's interface: the frame that wakes the gate is longer than any bucket
TCA_KIND, TCA_OPTIONS = 1, 2
_U32 = 1 << 32
ETHERNET = 1  # TC_LINKLAYER_ETHERNET
_RATESPEC = struct.Struct("=BBHhHI")  # cell_log, linklayer, overhead, cell_align, mpu, rate

HTB_PARMS, _HTB_INIT, HTB_RATE64, HTB_CEIL64 = 1, 2, 6, 7
_HTB_GLOB = struct.Struct("=5I")  # version, rate2quantum, defcls, debug, direct_pkts
# Rate and ceiling, then buffer, cbuffer, quantum, level, prio.
HTB_OPT = struct.Struct(f"{_RATESPEC.format}{_RATESPEC.format[1:]}5I")
_HTB_VERSION, _CLASS = 3, 1

_TBF_PARMS, _TBF_BURST = 1, 6
TBF_QOPT = struct.Struct(f"{_RATESPEC.format}{_RATESPEC.format[1:]}3I")  # rate, peak; limit, buffer, mtu
_GATE_BYTES_PER_SECOND = 10_000  # of a bucket that must not fill by itself; if it is lower, the kernel looks less often
_GATE_TICKS = 4 * 10**9 >> 6  # the closed gate's bucket: four seconds of that, 40 kB; the unit is 64 ns
_CLOSED = 65535


def htb() -> list[bytes]:
    """Return the netlink attributes of an HTB that puts all frames into its only class."""
    given = attribute(_HTB_INIT, _HTB_GLOB.pack(_HTB_VERSION, 10, _CLASS, 0, 0))
    return [attribute(TCA_KIND, "htb"), attribute(TCA_OPTIONS, given)]


def htb_class(rate: Rate) -> list[bytes]:
    """Return the netlink attributes of HTB's class at `rate`, without a burst."""
    bytes_per_second = rate.bps // 8
    spec = (0, ETHERNET, FRAME_OVERHEAD.bytes, -1, 0, min(bytes_per_second, _U32 - 1))
    nested = [attribute(HTB_PARMS, HTB_OPT.pack(*spec, *spec, 0, 0, _CLOSED, 0, 0))]
    if bytes_per_second >= _U32:
        nested += [attribute(kind, struct.pack("=Q", bytes_per_second)) for kind in (HTB_RATE64, HTB_CEIL64)]
    return [attribute(TCA_KIND, "htb"), attribute(TCA_OPTIONS, nested)]


def htb_wanted(rate: Rate) -> dict[str, Any]:
    """Return the options that HTB's class must report, in the form of `htb_described`."""
    return {"rate": str(rate), "ceil": str(rate), "overhead": str(FRAME_OVERHEAD), "burst": 0}


def htb_described(options: bytes) -> dict[str, Any]:
    """Return a class's options as plain data."""
    found = attributes(options)
    fields = HTB_OPT.unpack_from(found[HTB_PARMS])
    rate, ceil = (
        struct.unpack("=Q", found[kind])[0] if kind in found else plain
        for kind, plain in ((HTB_RATE64, fields[5]), (HTB_CEIL64, fields[11]))
    )
    return {
        "rate": str(Rate(8 * rate)),
        "ceil": str(Rate(8 * ceil)),
        "overhead": str(Size(fields[2])),
        "burst": fields[12],
    }


def gate(limit: int, bucket: Size | None = None) -> list[bytes]:
    """Return the netlink attributes of a gate: open for `bucket`, or closed.

    `limit` is the limit of the gate's FIFO, if the gate has one.
    """
    spec = (0, ETHERNET, 0, -1, 0 if bucket else _CLOSED, _GATE_BYTES_PER_SECOND)
    nested = [attribute(_TBF_PARMS, TBF_QOPT.pack(*spec, *(0,) * 6, limit, _GATE_TICKS, 0))]
    if bucket:
        nested.append(attribute(_TBF_BURST, bucket.bytes))
    return [attribute(TCA_KIND, "tbf"), attribute(TCA_OPTIONS, nested)]


def wire_rate(direction: Direction) -> Rate | None:
    """Return the rate of the netem behind a queue: the direction's own rate, or one byte per second more.

    HTB multiplies with a reciprocal of 32 bits (psched_ratecfg_precompute), whereas netem divides. If the reciprocal is
    not exact, HTB may be ahead by a nanosecond per frame, and frames would queue up in the netem, so the netem must be
    faster.
    """
    if direction.rate is None:
        return None
    bytes_per_second = direction.rate.bps // 8
    more = 1 + (bytes_per_second >> 31) if 10**9 % bytes_per_second else 0
    return Rate(8 * (bytes_per_second + more))
