"""The defects that are planted, and which shipped claims catch each: tests assert it, and docs/evidence.md shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Family = Literal["wires", "metrics", "models", "kernels"]

PATCHES = Path(__file__).parent / "patches"


@dataclass(frozen=True)
class Edit:
    """One place of a file of the project, and what stands there instead."""

    file: str
    was: str
    now: str


@dataclass(frozen=True)
class Defect:
    """What is wrong, how it is planted (edits of the project, or a patch of its kernel), and what shipped claims say.

    `caught` holds claim -> what shows it: another verdict, "model off", or both. `missed` holds the claims that were
    asked where none catches it, and `because` why.
    """

    name: str
    family: Family
    caught: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    patch: str = ""
    quick: bool = False  # whether `make test` plants it too
    missed: tuple[str, ...] = ()
    because: str = ""

    @property
    def asked(self) -> tuple[str, ...]:
        """The claims to run."""
        return (*self.caught, *self.missed)


# What the kernel says that it does is compared with what was asked for, and a trial on wires that differ is invalid.
# Where that is switched off, only figures are left to tell.
BLIND = Edit(
    "lab/guest/fabric/fabric.py", "return [*readback.differences(self.spaces), *self._witness.reasons()]", "return []"
)
SHORT_DELAY = Edit("lab/guest/fabric/qdisc.py", '"=q", direction.delay.ns)', '"=q", direction.delay.ns * 99 // 100)')

METRICS, MODELS = "lab/metric", "lab/model"
OFF, INVALID, NOT = "model off", "invalid", "not reproduced, model off"

WIRES = (
    Defect(
        "each delay is 1 % short",
        "wires",
        {"tcp-nodelay/piggyback": INVALID},
        edits=(SHORT_DELAY,),
    ),
    Defect(
        "each delay is 1 % short, without the read-back",
        "wires",
        {"tcp-bottleneck/delay-100ms": OFF},
        edits=(SHORT_DELAY, BLIND),
    ),
    Defect(
        "each rate is 2 % low, without the read-back",
        "wires",
        {"asymmetric-mtu/reverse-unaffected": OFF},
        edits=(
            Edit("lab/guest/fabric/qdisc.py", "rate = limited.bps // 8\n", "rate = limited.bps * 98 // 800\n"),
            BLIND,
        ),
    ),
    Defect(
        "a frame's overhead is 23 bytes instead of 24, and the read-back expects 23",
        "wires",
        {"asymmetric-mtu/reverse-unaffected": OFF},
        edits=(Edit("lab/guest/fabric/shaper.py", "FRAME_OVERHEAD = Size(24)", "FRAME_OVERHEAD = Size(23)"),),
    ),
    Defect(
        "each interface's MTU is 4 bytes short, without the read-back",
        "wires",
        {"asymmetric-mtu/mss-advertised": NOT},
        edits=(
            Edit(
                "lab/guest/fabric/device.py",
                "attribute(IFLA_MTU, outer.mtu.bytes),\n            attribute(IFLA_NET_NS_FD",
                "attribute(IFLA_MTU, outer.mtu.bytes - 4),\n            attribute(IFLA_NET_NS_FD",
            ),
            BLIND,
        ),
        quick=True,
    ),
    Defect(
        "each limit is one frame larger",
        "wires",
        {"asymmetric-mtu/mss-advertised": INVALID},
        edits=(Edit("lab/guest/fabric/qdisc.py", "pack(0, direction.limit,", "pack(0, direction.limit + 1,"),),
        quick=True,
    ),
    Defect(
        "no frame is lost, without the read-back",
        "wires",
        {"tcp-timestamps/rtt-from-every-ack": "partly"},
        edits=(Edit("lab/guest/fabric/qdisc.py", "limit, _chance(direction.loss), gap", "limit, 0, gap"), BLIND),
    ),
    Defect(
        "offloads are on at a wire's own ends, without the read-back",
        "wires",
        {"asymmetric-mtu/reverse-unaffected": NOT, "ack-rate/every-second-segment": NOT},
        edits=(
            Edit(
                "lab/guest/fabric/build.py",
                "offload.write(wires, name, Offloads())",
                "offload.write(wires, name, Offloads(tso=True, gso=True, gro=True))",
            ),
            BLIND,
        ),
    ),
)

IN_METRICS = (
    Defect(
        "the metric counts one ACK too many",
        "metrics",
        {"ack-rate/slow-reader-thins-acks": OFF},
        edits=(Edit(f"{METRICS}/acks.py", "return Value(acked / (count - 1)", "return Value(acked / count"),),
    ),
    Defect(
        "a segment's payload includes its TCP options",
        "metrics",
        {"asymmetric-mtu/maxseg-only-lowers": NOT, "asymmetric-mtu/reverse-unaffected": NOT},
        edits=(
            Edit(
                f"{METRICS}/segments.py",
                "int(segments.payload.max())",
                "int((segments.payload + segments.header_length - 20).max())",
            ),
        ),
    ),
    Defect(
        "a header's length leaves out the options",
        "metrics",
        {"tcp-timestamps/header-length": NOT},
        edits=(
            Edit(
                f"{METRICS}/packets.py",
                'return self._field("offset", self.tcp) // 16 * 4',
                'return np.minimum(self._field("offset", self.tcp) // 16 * 4, 20)',
            ),
        ),
        quick=True,
    ),
    Defect(
        "the window scale is one bit too small",
        "metrics",
        {"tcp-bottleneck/window-plateau": OFF},
        edits=(
            Edit(
                f"{METRICS}/flow.py",
                "np.where(flags & SYN > 0, 0, self.shift)",
                "np.where(flags & SYN > 0, 0, max(self.shift - 1, 0))",
            ),
        ),
    ),
    Defect(
        "the metric uses the ACK after the right one",
        "metrics",
        {"ack-rate/quickack-interactive": NOT},
        edits=(
            Edit(
                f"{METRICS}/acks.py",
                "np.searchsorted(acked, asking.end[asking.data])",
                'np.searchsorted(acked, asking.end[asking.data], side="right")',
            ),
        ),
    ),
    Defect(
        "a retransmitted segment gives an RTT, against Karn's algorithm",
        "metrics",
        {"tcp-timestamps/rtt-from-every-ack": OFF},
        edits=(
            Edit(
                f"{METRICS}/rtt.py",
                "now - first.sent if first and not again else -1",
                "now - first.sent if first else -1",
            ),
        ),
    ),
    Defect(
        "a transfer's time starts at its first read",
        "metrics",
        {"asymmetric-mtu/reverse-unaffected": OFF},
        edits=(
            Edit(
                f"{METRICS}/segments.py",
                'record.json(outputs.BULK_SENDER)["start_ns"]',
                'record.json(outputs.BULK)["first_ns"]',
            ),
        ),
    ),
    Defect(
        "a transfer includes its first read's bytes, but not its time",
        "metrics",
        edits=(Edit(f"{METRICS}/metrics.py", 'output["bytes"] - output["first_bytes"]', 'output["bytes"]'),),
        missed=("tcp-bottleneck/delay-100ms", "tcp-bottleneck/wmem-6m"),
        because="16 KiB are less than 0.02 % of 10 s at 93 Mbit/s, and the accuracy of predictions is 0.5 %",
    ),
)

IN_MODELS = (
    Defect(
        "timestamps take 10 bytes instead of 12",
        "models",
        {
            "tcp-timestamps/header-length": OFF,
            "asymmetric-mtu/maxseg-only-lowers": OFF,
            "tcp-nodelay/cork-sendfile": OFF,
        },
        edits=(Edit(f"{MODELS}/mss.py", "_TCP, _TIMESTAMPS = 20, 12", "_TCP, _TIMESTAMPS = 20, 10"),),
        quick=True,
    ),
    Defect(
        "an ACK is delayed by 50 ms instead of 40",
        "models",
        {"tcp-nodelay/nagle-stall": OFF, "ack-rate/quickack-interactive": OFF},
        edits=(
            Edit(f"{MODELS}/delayed_ack.py", "return self.hz // 25", "return self.hz // 20"),
            Edit(f"{MODELS}/acks.py", "_DELACK_MIN, _DELACK_MAX = 1 / 25", "_DELACK_MIN, _DELACK_MAX = 1 / 20"),
        ),
    ),
    Defect(
        "slow start starts with 9 segments instead of 10",
        "models",
        {"asymmetric-mtu/transfer-5ms": OFF},
        edits=(Edit(f"{MODELS}/cubic.py", "TCP_INIT_CWND = 10", "TCP_INIT_CWND = 9"),),
    ),
    Defect(
        "a frame's overhead is 34 bytes instead of 38, without the FCS",
        "models",
        {"asymmetric-mtu/reverse-unaffected": OFF, "asymmetric-mtu/transfer-5ms": OFF},
        edits=(
            Edit(f"{MODELS}/line.py", "packet(scenario).bytes + ethernet.AROUND", "packet(scenario).bytes + 34"),
            Edit(f"{MODELS}/line.py", "packet.bytes + ethernet.AROUND", "packet.bytes + 34"),
        ),
    ),
    Defect(
        "only the first 15 ACKs of a connection are immediate, instead of 16",
        "models",
        {"ack-rate/quickack-interactive": OFF},
        edits=(Edit(f"{MODELS}/delayed_ack.py", "TCP_MAX_QUICKACKS = 16", "TCP_MAX_QUICKACKS = 15"),),
    ),
    Defect(
        "an skb takes 16 bytes less memory",
        "models",
        {"tcp-bottleneck/delay-100ms": OFF, "tcp-bottleneck/window-plateau": OFF},
        edits=(Edit(f"{MODELS}/skb.py", "SK_BUFF, SHARED_INFO = 256, 320", "SK_BUFF, SHARED_INFO = 240, 320"),),
    ),
    Defect(
        "the window scale is one bit too small",
        "models",
        edits=(Edit(f"{MODELS}/window.py", ".bit_length() - 1 - 15, 0), 14)", ".bit_length() - 2 - 15, 0), 14)"),),
        missed=("tcp-bottleneck/window-plateau", "tcp-bottleneck/delay-100ms"),
        because="a window of 4 MB is then rounded to 64 B instead of 128 B; no claim tests the scale itself",
    ),
)

KERNELS = (
    Defect(
        "an ACK is delayed by 41 ms instead of 40",
        "kernels",
        {"ack-rate/quickack-interactive": OFF},
        patch="delayed-ack-41-ms.patch",
    ),
)

DEFECTS = (*WIRES, *IN_METRICS, *IN_MODELS, *KERNELS)
