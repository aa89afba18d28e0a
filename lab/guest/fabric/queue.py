"""Set a link's queue in the kernel, and read back its settings and counters.

Layouts and numbers come from uapi linux/pkt_sched.h. If the kernel stores a time in units of its own, `held` is the
rounded value, which the read-back must return.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lab.guest.fabric.netlink import attribute, attributes
from lab.guest.network import ACK_FILTER, DIFFSERV, ISOLATION, Queue, Setting
from lab.guest.share import Percent
from lab.units import Duration, Rate, Size

TCA_KIND, TCA_OPTIONS = 1, 2
NLA_F_NESTED = 0x8000
_PROBABILITY = 2**32 - 1


class _Unit(msgspec.Struct, frozen=True):
    """Converts a setting between the topology's form and the kernel's number."""

    number: Callable[[Any], int]
    setting: Callable[[int], Setting]
    held: Callable[[int], int] = int  # the number that the kernel stores for a number


def _plain_time(us: int) -> str:
    return str(Duration(us * 1000))


_COUNT = _Unit(int, int)
_FLAG = _Unit(int, bool)
_BYTES = _Unit(lambda text: Size.of(text).bytes, lambda number: str(Size(number)))
_RATE = _Unit(lambda text: Rate.of(text).bps // 8, lambda number: str(Rate(8 * number)))
_TIME = _Unit(lambda text: Duration.of(text).ns // 1000, _plain_time)
_SECONDS = _Unit(lambda text: Duration.of(text).ns // 10**9, lambda number: str(Duration(number * 10**9)))
_SHARE = _Unit(
    lambda text: round(Percent.of(text) * _PROBABILITY),
    lambda number: f"{number / _PROBABILITY * 100:.7g} %",
)
# CODEL_SHIFT: in units of 1024 ns.
_CODEL_TIME = _Unit(_TIME.number, _plain_time, lambda us: ((us * 1000 >> 10) << 10) // 1000)
# PSCHED_SHIFT: in units of 64 ns.
_PIE_TIME = _Unit(_TIME.number, _plain_time, lambda us: ((us * 1000 >> 6) << 6) // 1000)


def _gain_held(gain: int) -> int:
    """Return the gain after a round trip through dualpi2_scale_alpha_beta() and its inverse."""
    most = 2**32 - 1
    return ((gain * most >> 2) // 10**9 * 10**9 << 2) // most


_GAIN = _Unit(int, int, _gain_held)


def _word(words: tuple[str, ...]) -> _Unit:
    return _Unit(words.index, lambda number: words[number])


class _Field(msgspec.Struct, frozen=True):
    """Describes where a parameter is stored: its attribute or its place in a struct, and its unit."""

    number: int
    unit: _Unit = _COUNT
    format: str = "=I"


# The qdiscs whose options are attributes, one for each parameter.
_CODEL = {
    "target": _Field(1, _CODEL_TIME),
    "limit": _Field(2),
    "interval": _Field(3, _CODEL_TIME),
    "ecn": _Field(4, _FLAG),
}
_NESTED: Mapping[str, Mapping[str, _Field]] = {
    "codel": {**_CODEL, "ce_threshold": _Field(5, _CODEL_TIME)},
    "fq_codel": {
        **_CODEL,
        "flows": _Field(5),
        "quantum": _Field(6, _BYTES),
        "ce_threshold": _Field(7, _CODEL_TIME),
        "drop_batch": _Field(8),
        "memory_limit": _Field(9, _BYTES),
    },
    "cake": {
        "diffserv": _Field(3, _word(DIFFSERV)),
        "isolation": _Field(5, _word(ISOLATION)),
        "rtt": _Field(7, _TIME),
        "target": _Field(8, _TIME),
        "memlimit": _Field(10, _BYTES),
        "nat": _Field(11, _FLAG),
        "wash": _Field(13, _FLAG),
        "ingress": _Field(15, _FLAG),
        "ack_filter": _Field(16, _word(ACK_FILTER)),
        "split_gso": _Field(17, _FLAG),
    },
    "pie": {
        "target": _Field(1, _PIE_TIME),
        "limit": _Field(2),
        "tupdate": _Field(3, _TIME),
        "alpha": _Field(4),
        "beta": _Field(5),
        "ecn": _Field(6, _FLAG),
        "bytemode": _Field(7, _FLAG),
        "dq_rate_estimator": _Field(8, _FLAG),
    },
    "fq_pie": {
        "limit": _Field(1),
        "flows": _Field(2),
        "target": _Field(3, _PIE_TIME),
        "tupdate": _Field(4, _TIME),
        "alpha": _Field(5),
        "beta": _Field(6),
        "quantum": _Field(7, _BYTES),
        "memory_limit": _Field(8, _BYTES),
        "ecn_prob": _Field(9),
        "ecn": _Field(10, _FLAG),
        "bytemode": _Field(11, _FLAG),
        "dq_rate_estimator": _Field(12, _FLAG),
    },
    "fq": {
        "limit": _Field(1),
        "flow_limit": _Field(2),
        "quantum": _Field(3, _BYTES),
        "initial_quantum": _Field(4, _BYTES),
        "pacing": _Field(5, _FLAG),
        "maxrate": _Field(7, _RATE),
        "refill_delay": _Field(9, _TIME),
        "orphan_mask": _Field(10),
        "ce_threshold": _Field(12, _TIME),
        "horizon": _Field(14, _TIME),
        "horizon_drop": _Field(15, _FLAG, "=B"),
    },
    "dualpi2": {
        "limit": _Field(1),
        "memory_limit": _Field(2, _BYTES),
        "target": _Field(3, _TIME),
        "tupdate": _Field(4, _TIME),
        "alpha": _Field(5, _GAIN),
        "beta": _Field(6, _GAIN),
        "step_thresh": _Field(8, _TIME),
        "min_qlen_step": _Field(9),
        "coupling_factor": _Field(10, _COUNT, "=B"),
        "drop_on_overload": _Field(11, _FLAG, "=B"),
        "drop_enqueue": _Field(12, _FLAG, "=B"),
        "classic_protection": _Field(13, _COUNT, "=B"),
        "split_gso": _Field(15, _FLAG, "=B"),
    },
}
# The qdiscs whose options are one struct, with a member for each parameter. Zero means the kernel's default.
_SFQ = struct.Struct("=IiIII II III4BI 6I")  # tc_sfq_qopt_v1, whose RED and statistics stay zero
_MEMBERS: Mapping[str, Mapping[str, _Field]] = {
    "pfifo": {"limit": _Field(0)},
    "bfifo": {"limit": _Field(0, _BYTES)},
    "sfq": {
        "quantum": _Field(0, _BYTES),
        "perturb": _Field(1, _SECONDS),
        "limit": _Field(2),
        "divisor": _Field(3),
        "flows": _Field(4),
        "depth": _Field(5),
        "headdrop": _Field(6, _FLAG),
    },
}
_STRUCTS = {"pfifo": struct.Struct("=I"), "bfifo": struct.Struct("=I"), "sfq": _SFQ}

# RED has a struct of sizes and logarithms, a table for its idle time, and attributes.
_RED_QOPT = struct.Struct("=IIIBBBB")  # limit, min, max, Wlog, Plog, Scell_log, flags
_RED_PARMS, _RED_STAB, _RED_MAX_P, _RED_FLAGS = 1, 2, 3, 4
_RED_BITS = {"ecn": 1, "harddrop": 2, "adaptive": 4, "nodrop": 8}
# The weight is tc's, and Floyd and Jacobson's w = 0.002.
_RED_USUAL: Mapping[str, Setting] = {"probability": "2 %", "ewma": 9, "avpkt": "1000 B"}


def told(queue: Queue, rate: Rate | None) -> list[bytes]:
    """Return the netlink attributes of `queue` in front of a link of `rate`.

    RED computes its idle time at this rate.
    """
    given = dict(queue.parameters)
    if queue.kind == "red":
        options: bytes | list[bytes] = _red(given, rate)
    elif queue.kind in _STRUCTS:
        layout = _STRUCTS[queue.kind]
        values = [0] * len(layout.unpack(bytes(layout.size)))
        for name, setting in given.items():
            field = _MEMBERS[queue.kind][name]
            values[field.number] = field.unit.number(setting)
        options = layout.pack(*values)
    else:
        fields = _NESTED[queue.kind]
        options = [
            attribute(fields[name].number, struct.pack(fields[name].format, fields[name].unit.number(setting)))
            for name, setting in given.items()
        ]
    flag = 0 if isinstance(options, bytes) else NLA_F_NESTED  # fq_pie and dualpi2 require it
    return [attribute(TCA_KIND, queue.kind), attribute(TCA_OPTIONS | flag, options)]


def wanted(queue: Queue) -> dict[str, Setting]:
    """Return the options that the kernel must report for `queue`, with each parameter as the kernel stores it."""
    if queue.kind == "red":
        return {name: _red_form(name, setting) for name, setting in queue.parameters if name != "avpkt"}
    fields = _NESTED[queue.kind] if queue.kind in _NESTED else _MEMBERS[queue.kind]
    return {
        name: fields[name].unit.setting(fields[name].unit.held(fields[name].unit.number(setting)))
        for name, setting in queue.parameters
    }


def options(kind: str, data: bytes) -> dict[str, Setting]:
    """Return all settings that a qdisc of this kind reports, with the names that a topology uses."""
    if not data:
        return {}
    if kind == "red":
        return _red_options(attributes(data))
    if kind in _STRUCTS:
        values = _STRUCTS[kind].unpack(data[: _STRUCTS[kind].size].ljust(_STRUCTS[kind].size, b"\0"))
        return {name: field.unit.setting(values[field.number]) for name, field in _MEMBERS[kind].items()}
    found = attributes(data)
    return {
        name: field.unit.setting(struct.unpack_from(field.format, found[field.number])[0])
        for name, field in _NESTED.get(kind, {}).items()
        if field.number in found
    }


def red_cell(queue: Queue, rate: Rate) -> int:
    """Return the logarithm of a RED's cell at this rate. The kernel takes at most 31."""
    given = {**_RED_USUAL, **dict(queue.parameters)}
    return _idle_damping(int(given["ewma"]), Size.of(str(given["avpkt"])), rate)[0]


def _red(given: Mapping[str, Setting], rate: Rate | None) -> list[bytes]:
    given = {**_RED_USUAL, **given}
    limit, least, most = (Size.of(str(given[name])).bytes for name in ("limit", "min", "max"))
    weight = int(given["ewma"])
    cell, table = _idle_damping(weight, Size.of(str(given["avpkt"])), rate)
    bits = sum(bit for name, bit in _RED_BITS.items() if given.get(name))
    return [
        attribute(_RED_PARMS, _RED_QOPT.pack(limit, least, most, weight, 0, cell, 0)),
        attribute(_RED_STAB, table),
        attribute(_RED_MAX_P, _SHARE.number(given["probability"])),
        attribute(_RED_FLAGS, struct.pack("=II", bits, sum(_RED_BITS.values()))),
    ]


def _idle_damping(weight: int, packet: Size, rate: Rate | None) -> tuple[int, bytes]:
    """Return (Scell_log, Stab): the cell length, 2^Scell_log us of idle time, and the bits by which the average falls
    in each cell.

    RED's average falls as if packets of size `packet` had found the queue empty (Floyd and Jacobson 1993, section 11).
    The kernel uses at most 255 cells and 31 bits.
    """
    if rate is None:
        return 0, bytes(256)
    if weight == 0:  # the average is the present queue
        return 0, bytes([0, *[31] * 255])
    per_us = -math.log2(1 - 2.0**-weight) / float(rate.time_for(packet) * 10**6)  # bits by which the average falls
    cell = 0
    while 31 / per_us / (1 << cell) >= 512:
        cell += 1
    table = [min(31, int((index << cell) * per_us)) for index in range(255)]
    return cell, bytes([*table, 31])


def _red_form(name: str, setting: Setting) -> Setting:
    if name == "probability":
        return _SHARE.setting(_SHARE.number(setting))
    return str(Size.of(str(setting))) if name in ("limit", "min", "max") else setting


def _red_options(found: Mapping[int, bytes]) -> dict[str, Setting]:
    limit, least, most, weight, _, _, bits = _RED_QOPT.unpack_from(found[_RED_PARMS])
    if _RED_FLAGS in found:
        bits = struct.unpack_from("=I", found[_RED_FLAGS])[0]
    return {
        "limit": str(Size(limit)),
        "min": str(Size(least)),
        "max": str(Size(most)),
        "ewma": weight,
        "probability": _SHARE.setting(struct.unpack("=I", found[_RED_MAX_P])[0]),
        **{name: bool(bits & bit) for name, bit in _RED_BITS.items()},
    }
