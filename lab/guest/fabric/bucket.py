"""Set a token bucket in front of a wire: tbf, or htb with one class, with tc's parameters.

By default, a bucket has the direction's rate, and counts whole frames (an overhead of 24 bytes) as the lab does. The
wire behind the bucket then has no rate, so that a burst leaves at once. If a bucket has its own rate, it counts bytes
as tc does: the Ethernet header, but no preamble, FCS or gap. The wire behind it keeps the direction's rate.

Sources: net/sched/sch_tbf.c, net/sched/sch_htb.c, psched_ratecfg_precompute() and psched_l2t_ns(); iproute2,
tc/q_tbf.c and tc/q_htb.c, for the defaults.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from lab.guest.fabric.netlink import attribute, attributes
from lab.guest.fabric.shaper import ETHERNET, FRAME_OVERHEAD, HTB_CEIL64, HTB_OPT, HTB_PARMS, HTB_RATE64, TBF_QOPT
from lab.guest.network import Direction, Queue
from lab.units import Duration, Rate, Size

TCA_KIND, TCA_OPTIONS = 1, 2
_TBF_PARMS, _TBF_RATE64, _TBF_BURST, _TBF_PBURST = 1, 4, 6, 7
_TICK = 6  # PSCHED_SHIFT: a tick is 64 ns
_U32 = 1 << 32
_USUAL_BURST = 1600  # bytes: tc adds the bytes that leave in a tick of the kernel's timers, a nanosecond
_USUAL_LIMIT = 1000  # frames: the length of a device's queue, and so of the FIFO in an HTB class
_QUANTUM = 65535  # bytes; with a single class it has no effect


class Bucket(msgspec.Struct, frozen=True):
    """Holds a bucket's settings, without defaults. Rates are in bytes per second, sizes in bytes."""

    rate: int
    burst: int
    ceil: int  # htb's second bucket; 0 for tbf
    cburst: int
    peakrate: int  # tbf's second bucket, with `mtu` as its burst; 0 without one
    mtu: int
    overhead: int
    mpu: int
    limit: int  # bytes in a tbf, frames in an htb

    @classmethod
    def of(cls, direction: Direction) -> Bucket:
        """Return the settings of the direction's bucket."""
        assert direction.queue is not None
        given = dict(direction.queue.parameters)

        def rate(name: str) -> int:
            return Rate.of(str(given[name])).bps // 8 if name in given else 0

        def size(name: str, default: int = 0) -> int:
            return Size.of(str(given[name])).bytes if name in given else default

        speed = rate("rate") or (direction.rate.bps // 8 if direction.rate else 0)
        is_tbf = direction.queue.kind == "tbf"
        ceil = 0 if is_tbf else rate("ceil") or speed
        burst = size("burst")
        peak = rate("peakrate")
        limit = size("limit") if is_tbf else int(given.get("limit", _USUAL_LIMIT))
        if "latency" in given:  # q_tbf.c: a frame waits no longer than this
            latency = Duration.of(str(given["latency"])).ns
            limits = [speed * latency // 10**9 + burst]
            limits += [peak * latency // 10**9 + size("mtu")] if peak else []
            limit = min(limits)
        return cls(
            rate=speed,
            burst=burst,
            ceil=ceil,
            cburst=size("cburst", _USUAL_BURST + ceil // 10**9),
            peakrate=peak,
            mtu=size("mtu"),
            overhead=size("overhead", 0 if "rate" in given else FRAME_OVERHEAD.bytes),
            mpu=size("mpu"),
            limit=limit,
        )

    def spec(self, rate: int) -> tuple[int, ...]:
        """Return the fields of a tc_ratespec."""
        return (0, ETHERNET, self.overhead, -1, self.mpu, min(rate, _U32 - 1)) if rate else (0,) * 6

    def filling(self, rate: int, size: int) -> int:
        """Return the time in ns that `size` bytes take at `rate`, as the kernel computes it: psched_l2t_ns()."""
        factor, shift = 10**9, 0
        while not ((multiplier := factor // rate) & 1 << 31 or factor & 1 << 63):
            factor, shift = factor << 1, shift + 1
        return max(size + self.overhead, self.mpu) * multiplier >> shift


def tbf(direction: Direction) -> list[bytes]:
    """Return the netlink attributes of the direction's tbf."""
    made = Bucket.of(direction)
    peak = made.peakrate
    parameters = TBF_QOPT.pack(*made.spec(made.rate), *made.spec(peak), made.limit, 0, 0)
    nested = [attribute(_TBF_PARMS, parameters), attribute(_TBF_BURST, made.burst)]
    if made.rate >= _U32:
        nested.append(attribute(_TBF_RATE64, struct.pack("=Q", made.rate)))
    if peak:
        nested.append(attribute(_TBF_PBURST, made.mtu))
    return [attribute(TCA_KIND, "tbf"), attribute(TCA_OPTIONS, nested)]


def htb_class(direction: Direction) -> list[bytes]:
    """Return the netlink attributes of the only class of the direction's htb."""
    made = Bucket.of(direction)
    ticks = [_ticks(size, rate) for size, rate in ((made.burst, made.rate), (made.cburst, made.ceil))]
    fields = HTB_OPT.pack(*made.spec(made.rate), *made.spec(made.ceil), *ticks, _QUANTUM, 0, 0)
    nested = [attribute(HTB_PARMS, fields)]
    nested += [
        attribute(kind, struct.pack("=Q", rate))
        for kind, rate in ((HTB_RATE64, made.rate), (HTB_CEIL64, made.ceil))
        if rate >= _U32
    ]
    return [attribute(TCA_KIND, "htb"), attribute(TCA_OPTIONS, nested)]


def htb_fifo(direction: Direction) -> Queue:
    """Return the FIFO in the class of the direction's htb."""
    return Queue("pfifo", (("limit", Bucket.of(direction).limit),))


def wanted(direction: Direction) -> dict[str, Any]:
    """Return the options that the kernel must report for the direction's bucket.

    The kernel holds a burst as the time in which the bucket fills, in steps of 64 ns.
    """
    assert direction.queue is not None
    made = Bucket.of(direction)
    common = {"rate": str(Rate(8 * made.rate)), "overhead": str(Size(made.overhead)), "mpu": str(Size(made.mpu))}
    if direction.queue.kind == "htb":
        return {
            **common,
            "ceil": str(Rate(8 * made.ceil)),
            "burst_time": _time(_ticks(made.burst, made.rate)),
            "cburst_time": _time(_ticks(made.cburst, made.ceil)),
        }
    peak = made.peakrate
    return {
        **common,
        "limit": str(Size(made.limit)),
        "burst_time": _time(made.filling(made.rate, made.burst) >> _TICK),
        "peakrate": str(Rate(8 * peak)) if peak else None,
        "peak_burst_time": _time(made.filling(peak, made.mtu) >> _TICK) if peak else None,
    }


def tbf_described(qdisc: dict[int, bytes]) -> dict[str, Any]:
    """Return the options that a tbf reports, in the form of `wanted`; empty for the attributes of a different qdisc."""
    if qdisc[TCA_KIND] != b"tbf\0":
        return {}
    found = attributes(qdisc[TCA_OPTIONS])
    fields = TBF_QOPT.unpack_from(found[_TBF_PARMS])
    rate = struct.unpack("=Q", found[_TBF_RATE64])[0] if _TBF_RATE64 in found else fields[5]
    peak = fields[11]
    return {
        "rate": str(Rate(8 * rate)),
        "overhead": str(Size(fields[2])),
        "mpu": str(Size(fields[4])),
        "limit": str(Size(fields[12])),
        "burst_time": _time(fields[13]),
        "peakrate": str(Rate(8 * peak)) if peak else None,
        "peak_burst_time": _time(fields[14]) if peak else None,
    }


def htb_described(options: bytes) -> dict[str, Any]:
    """Return the options that a class of htb reports, in the form of `wanted`."""
    found = attributes(options)
    fields = HTB_OPT.unpack_from(found[HTB_PARMS])
    rate, ceil = (
        struct.unpack("=Q", found[kind])[0] if kind in found else plain
        for kind, plain in ((HTB_RATE64, fields[5]), (HTB_CEIL64, fields[11]))
    )
    return {
        "rate": str(Rate(8 * rate)),
        "overhead": str(Size(fields[2])),
        "mpu": str(Size(fields[4])),
        "ceil": str(Rate(8 * ceil)),
        "burst_time": _time(fields[12]),
        "cburst_time": _time(fields[13]),
    }


def _ticks(size: int, rate: int) -> int:
    """Return the time that `size` bytes take, in ticks, as tc computes it for htb."""
    return min(size * 10**9 // rate >> _TICK, _U32 - 1)


def _time(ticks: int) -> str:
    return str(Duration(ticks << _TICK))
