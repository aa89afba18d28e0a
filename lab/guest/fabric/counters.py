"""Read a queue's own counters (xstats), with the kernel's names.

Every qdisc that marks packets has the counter `marks`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from lab.guest.fabric.netlink import attributes

# The members, in order, of the structs tc_*_xstats of uapi linux/pkt_sched.h, with their formats. Times are in us.
_STRUCTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "codel": (
        "=4Ii4I",
        (
            *("maxpacket", "count", "lastcount", "ldelay", "drop_next"),
            *("drop_overlimit", "ecn_mark", "dropping", "ce_mark"),
        ),
    ),
    "fq_codel": (
        "=4x9I",  # after a type field; these are the qdisc's own
        (
            *("maxpacket", "drop_overlimit", "ecn_mark", "new_flow_count", "new_flows_len", "old_flows_len"),
            *("ce_mark", "memory_usage", "drop_overmemory"),
        ),
    ),
    "pie": (
        "=Q8I",
        (
            *("prob", "delay", "avg_dq_rate", "dq_rate_estimating", "packets_in", "dropped", "overlimit"),
            *("maxq", "ecn_mark"),
        ),
    ),
    "fq_pie": (
        "=9I",
        (
            *("packets_in", "dropped", "overlimit", "overmemory", "ecn_mark", "new_flow_count"),
            *("new_flows_len", "old_flows_len", "memory_usage"),
        ),
    ),
    "red": ("=4I", ("early", "pdrop", "other", "marked")),
    "fq": (
        "=7Qq4I3Q",
        (
            *("gc_flows", "highprio_packets", "tcp_retrans", "throttled", "flows_plimit", "pkts_too_long"),
            *("allocation_errors", "time_next_delayed_flow", "flows", "inactive_flows", "throttled_flows"),
            *("unthrottle_latency_ns", "ce_mark", "horizon_drops", "horizon_caps"),
        ),
    ),
    "dualpi2": (
        "=8Ii3I",
        (
            *("prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq", "ecn_mark", "step_marks"),
            *("credit", "memory_used", "max_memory_used", "memory_limit"),
        ),
    ),
}
_MARKS = ("ecn_mark", "ce_mark", "marked")  # dualpi2 counts its `step_marks` among its `ecn_mark`s
# TCA_CAKE_STATS_TIN_STATS, and TCA_CAKE_TIN_STATS_* of each tin.
_TINS = 10
_TIN = {"packets": 2, "drops": 4, "marks": 8, "backlog": 11, "peak_delay": 17, "avg_delay": 18, "base_delay": 19}
_BULK_FLOWS = {"sparse_flows": 20, "bulk_flows": 21, "unresponsive_flows": 22}


def counted(kind: str, data: bytes) -> dict[str, int]:
    """Decode the counters of a qdisc of this kind from `data`, its TCA_STATS_APP.

    Return {} for a kind without counters. For cake, each delay is the longest of any tin. All other
    counters are sums over the tins.
    """
    if kind == "cake":
        return _cake(data)
    if kind not in _STRUCTS:
        return {}
    layout, names = _STRUCTS[kind]
    size = struct.calcsize(layout)
    found = dict(zip(names, struct.unpack(layout, data[:size].ljust(size, b"\0")), strict=True))
    marks = [found[name] for name in _MARKS if name in found]
    return {**found, "marks": sum(marks)} if marks else found


def _cake(data: bytes) -> dict[str, int]:
    tins = [attributes(tin) for tin in attributes(attributes(data).get(_TINS, b"")).values()]

    def values(number: int) -> list[int]:
        return [struct.unpack_from("=I", tin[number])[0] for tin in tins if number in tin]

    delays = {name: max(values(number), default=0) for name, number in _TIN.items() if name.endswith("_delay")}
    sums = {name: sum(values(number)) for name, number in {**_TIN, **_BULK_FLOWS}.items() if name not in delays}
    return {**sums, **delays}
