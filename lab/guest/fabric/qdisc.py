"""Set the qdiscs of a wire in the kernel, and read their settings and counters.

netem gets `rate R` with a packet overhead of 24 bytes: preamble 8, FCS 4 and inter-frame gap 12. The kernel's own frame
length includes only the 14-byte Ethernet header. With delay D, a frame leaves at max(departure of the previous frame,
arrival + D) + frame time. So delay and rate act separately: the delay is a pipe, and the rate is a serialiser behind
the pipe. `limit` counts the frames in both stages.

netem draws losses, jitter, reorderings and duplicates from its own generator, which each direction of each link seeds
(`prng_seed`). So a frame's fate depends only on the trial's seed and on the number of earlier frames on this wire.
Other kernel versions draw the same numbers, and additional links do not change the draws. Kernels before 6.6 ignore the
seed and draw from the kernel's own generator.

A path's netem detaches the frame from its socket (skb_orphan), as a switch does. A network card exerts back-pressure
instead: `Shaper.NIC` is a tbf in the sender's own namespace, so the socket owns the frame until it leaves.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

from lab.guest.fabric import counters, distribution, jitter, queue
from lab.guest.fabric.netlink import attribute, attributes
from lab.guest.fabric.shaper import ETHERNET_HEADER, FRAME_OVERHEAD, wire_rate
from lab.guest.network import BurstLoss, Direction, Shaper, Slot
from lab.units import Duration, Rate, Size

TCA_KIND, TCA_OPTIONS, TCA_STATS2 = 1, 2, 7
_STATS_BASIC, _STATS_QUEUE, _STATS_APP = 1, 3, 4
_PROBABILITY = 0xFFFFFFFF
_U32 = 1 << 32
_NO_TIME = Rate(8 * 10**18)  # at which any frame takes 0 ns, so that frames only stay in order

# enum in uapi linux/pkt_sched.h: TCA_NETEM_*
_CORR, _DELAY_DIST, _REORDER, _CORRUPT, _LOSS, _RATE, _RATE64 = 1, 2, 3, 4, 5, 6, 8
_LATENCY64, _JITTER64, _SLOT, _PRNG_SEED = 10, 11, 12, 14
_LOSS_GE = 2  # NETEM_LOSS_GE: the Gilbert-Elliott model
_NETEM_GE = struct.Struct("=4I")  # p, r, h (passed share in the bad state), k1 (lost share in the good state)
_NETEM_SLOT = struct.Struct("=qqiiqq")  # min_delay, max_delay, max_packets, max_bytes, two for a distribution
_NETEM_QOPT = struct.Struct("=6I")  # latency, limit, loss, gap, duplicate, jitter
_NETEM_RATE = struct.Struct("=IiIi")  # rate, packet_overhead, cell_size, cell_overhead
# TCA_TBF_*
_TBF_PARMS, _TBF_RATE64, _TBF_BURST = 1, 4, 6
_TBF_QOPT = struct.Struct("=BBHhHIBBHhHIIII")  # two tc_ratespec, then limit, buffer, mtu
_TBF_BURST_FRAMES = 2  # one on its way, and one so that a timer that is late by the clock's grain loses no tokens


def prng_seed(seed: str, link: str, way: str) -> int:
    """Return the 64-bit seed of the netem in one direction ("forward" or "back") of a link.

    The seed is the first eight bytes of the SHA-256 of "seed/link/way", in little-endian order: a stable hash of the
    names.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}/{link}/{way}".encode()).digest()[:8], "little")


def netem_wanted(direction: Direction) -> dict[str, Any]:
    """Return the settings that netem must report for this direction, in the form of `describe`.

    The seed comes from `described_seed`.
    """
    rate = netem_rate(direction)
    burst, slot = direction.burst_loss, direction.slot
    unusual = {
        "jitter_correlation": direction.jitter_correlation and _chance(direction.jitter_correlation) / _PROBABILITY,
        "loss_correlation": direction.loss_correlation and _chance(direction.loss_correlation) / _PROBABILITY,
        "reorder_gap": direction.reorder_gap,
        "burst_loss": burst and _burst_form(_burst(burst)),
        "corrupt": direction.corrupt and _chance(direction.corrupt) / _PROBABILITY,
        "slot": slot and _slot_form(*_slot(slot)[:4]),
    }
    return {
        **{name: wanted for name, wanted in unusual.items() if wanted},
        "rate": str(rate) if rate else None,
        "overhead": str(FRAME_OVERHEAD) if rate else None,
        "delay": str(direction.delay),
        "jitter": str(_jitter(direction)),
        "loss": _chance(direction.loss) / _PROBABILITY,
        "reorder": _chance(direction.reorder) / _PROBABILITY,
        "duplicate": _chance(direction.duplicate) / _PROBABILITY,
        "limit": direction.limit,
    }


def netem_rate(direction: Direction) -> Rate | None:
    """Return the rate at which this direction's netem sends, or None if another qdisc limits the rate."""
    if direction.in_order:
        return _NO_TIME
    if direction.shaper is Shaper.NIC:
        return None
    if direction.queue and direction.queue.is_bucket:
        return direction.rate if direction.queue.own_rate else None
    return wire_rate(direction) if direction.queue else direction.rate


def netem(direction: Direction, seed: int) -> list[bytes]:
    """Return the netlink attributes of this direction's netem, whose random draws start from `seed`."""
    gap = max(direction.reorder_gap, 1) if direction.reorder else 0
    options = _NETEM_QOPT.pack(0, direction.limit, _chance(direction.loss), gap, _chance(direction.duplicate), 0)
    nested = [
        attribute(_LATENCY64, struct.pack("=q", direction.delay.ns)),
        attribute(_JITTER64, struct.pack("=q", _jitter(direction).ns)),
        attribute(_PRNG_SEED, struct.pack("=Q", seed)),
    ]
    if direction.reorder:
        nested.append(attribute(_REORDER, struct.pack("=II", _chance(direction.reorder), 0)))
    if not direction.jitter_correlation and (table := _table(direction)):
        nested.append(attribute(_DELAY_DIST, table))
    if direction.jitter_correlation or direction.loss_correlation:
        correlations = (_chance(direction.jitter_correlation), _chance(direction.loss_correlation), 0)
        nested.append(attribute(_CORR, struct.pack("=3I", *correlations)))
    if burst := direction.burst_loss:
        nested.append(attribute(_LOSS, [attribute(_LOSS_GE, _burst(burst))]))
    if direction.corrupt:
        nested.append(attribute(_CORRUPT, struct.pack("=II", _chance(direction.corrupt), 0)))
    if direction.slot:
        nested.append(attribute(_SLOT, _NETEM_SLOT.pack(*_slot(direction.slot))))
    if limited := netem_rate(direction):
        rate = limited.bps // 8
        nested.append(attribute(_RATE, _NETEM_RATE.pack(min(rate, _U32 - 1), FRAME_OVERHEAD.bytes, 0, 0)))
        if rate >= _U32:
            nested.append(attribute(_RATE64, struct.pack("=Q", rate)))
    return [attribute(TCA_KIND, "netem"), attribute(TCA_OPTIONS, options + b"".join(nested))]


def _jitter(direction: Direction) -> Duration:
    """Return the jitter that netem gets, which depends on the scale of its table."""
    if direction.distribution is None:
        return direction.jitter
    return distribution.stretched(direction.distribution, direction.jitter)


def _table(direction: Direction) -> bytes | None:
    if direction.distribution is None:
        return jitter.table(direction.jitter)
    return distribution.table(direction.distribution)


def described_seed(seed: int) -> str:
    """Return a seed in the form of `describe`: as text, because JSON readers may round large numbers.

    Kernels that ignore the seed report no seed.
    """
    return f"{seed:#018x}"


def tbf_wanted(rate: Rate, mtu: Size, limit: int) -> dict[str, Any]:
    """Return the settings that a network card's tbf must report, in the form of `describe`."""
    frame = mtu.bytes + ETHERNET_HEADER.bytes
    return {"rate": str(rate), "overhead": str(FRAME_OVERHEAD), "limit": str(Size(limit * frame))}


def tbf(rate: Rate, mtu: Size, limit: int) -> list[bytes]:
    """Return the netlink attributes of a network card's tbf: a queue of `limit` frames and a burst of two."""
    frame = mtu.bytes + ETHERNET_HEADER.bytes
    bytes_per_second = rate.bps // 8
    burst = _TBF_BURST_FRAMES * (frame + FRAME_OVERHEAD.bytes)
    spec = (0, 1, FRAME_OVERHEAD.bytes, -1, 0, min(bytes_per_second, _U32 - 1))  # linklayer 1: Ethernet
    ticks = min(burst * 10**9 // bytes_per_second >> 6, _U32 - 1)  # PSCHED_SHIFT
    parameters = _TBF_QOPT.pack(*spec, *(0,) * 6, limit * frame, ticks, 0)
    nested = [attribute(_TBF_PARMS, parameters), attribute(_TBF_BURST, burst)]
    if bytes_per_second >= _U32:
        nested.append(attribute(_TBF_RATE64, struct.pack("=Q", bytes_per_second)))
    return [attribute(TCA_KIND, "tbf"), attribute(TCA_OPTIONS, b"".join(nested))]


def describe(found: dict[int, bytes]) -> dict[str, Any]:
    """Return a qdisc's attributes as plain data: kind, options, and counters since its creation.

    `counted` holds a queue's own counters. `packets` and `bytes` count the packets that left the qdisc (`bytes` without
    the 24 bytes of FRAME_OVERHEAD). `drops` and `overlimits` are as `tc -s` counts them. `backlog` is the number of
    packets in the qdisc.
    """
    kind = found[TCA_KIND].rstrip(b"\0").decode()
    stats = attributes(found.get(TCA_STATS2, b""))
    sent_bytes, sent_packets = struct.unpack_from("=QI", stats.get(_STATS_BASIC, bytes(12)))
    backlog, _, drops, _, overlimits = struct.unpack_from("=5I", stats.get(_STATS_QUEUE, bytes(20)))
    options = found.get(TCA_OPTIONS, b"")
    decode = {"netem": _netem_options, "tbf": _tbf_options}.get(kind)
    return {
        "kind": kind,
        "options": decode(options) if decode else queue.options(kind, options),
        **({"counted": counted} if (counted := counters.counted(kind, stats.get(_STATS_APP, b""))) else {}),
        "packets": sent_packets,
        "bytes": sent_bytes,
        "drops": drops,
        "overlimits": overlimits,
        "backlog": backlog,
    }


def _netem_options(data: bytes) -> dict[str, Any]:
    _, limit, loss, gap, duplicate, _ = _NETEM_QOPT.unpack_from(data)
    nested = attributes(data[_NETEM_QOPT.size :])
    rate, overhead, _, _ = _NETEM_RATE.unpack_from(nested.get(_RATE, bytes(16)))
    if _RATE64 in nested:
        rate = struct.unpack("=Q", nested[_RATE64])[0]
    reorder = struct.unpack_from("=I", nested.get(_REORDER, bytes(4)))[0]
    unusual = {
        "jitter_correlation": struct.unpack_from("=I", nested.get(_CORR, bytes(4)))[0] / _PROBABILITY,
        "loss_correlation": struct.unpack_from("=II", nested.get(_CORR, bytes(8)))[1] / _PROBABILITY,
        "reorder_gap": gap if gap > 1 else 0,
        "burst_loss": _burst_form(attributes(nested.get(_LOSS, b"")).get(_LOSS_GE)),
        "corrupt": struct.unpack_from("=I", nested.get(_CORRUPT, bytes(4)))[0] / _PROBABILITY,
        "slot": _slot_form(*_NETEM_SLOT.unpack(nested[_SLOT])[:4]) if _SLOT in nested else None,
    }
    seed = {"seed": described_seed(struct.unpack("=Q", nested[_PRNG_SEED])[0])} if _PRNG_SEED in nested else {}
    return {
        **{name: value for name, value in unusual.items() if value},
        **seed,
        "rate": str(Rate(8 * rate)) if rate else None,
        "overhead": str(Size(overhead)) if rate else None,
        "delay": str(Duration(struct.unpack("=q", nested[_LATENCY64])[0])),
        "jitter": str(Duration(struct.unpack("=q", nested[_JITTER64])[0])),
        "loss": loss / _PROBABILITY,
        "reorder": reorder / _PROBABILITY,
        "duplicate": duplicate / _PROBABILITY,
        "limit": limit,
    }


def _slot(slot: Slot) -> tuple[int, ...]:
    limits = (slot.packets or 0, slot.bytes.bytes if slot.bytes else 0)  # 0: any number
    return slot.min.ns, slot.max.ns, *limits, 0, 0


def _slot_form(least: int, most: int, packets: int, size: int) -> list[str | int]:
    return [str(Duration(least)), str(Duration(most)), packets, size]


def _burst(burst: BurstLoss) -> bytes:
    return _NETEM_GE.pack(*map(_chance, (burst.p, burst.r, 1 - burst.bad, burst.good)))


def _burst_form(data: bytes | None) -> list[float] | None:
    if data is None:
        return None
    p, r, kept, lost = _NETEM_GE.unpack(data)
    return [p / _PROBABILITY, r / _PROBABILITY, (_PROBABILITY - kept) / _PROBABILITY, lost / _PROBABILITY]


def _tbf_options(data: bytes) -> dict[str, Any]:
    nested = attributes(data)
    fields = _TBF_QOPT.unpack_from(nested[_TBF_PARMS])
    rate = struct.unpack("=Q", nested[_TBF_RATE64])[0] if _TBF_RATE64 in nested else fields[5]
    return {"rate": str(Rate(8 * rate)), "overhead": str(Size(fields[2])), "limit": str(Size(fields[12]))}


def _chance(probability: float) -> int:
    return round(probability * _PROBABILITY)
