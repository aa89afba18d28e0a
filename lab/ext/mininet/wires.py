"""Ship the lab's wires to a script's guest, and report what the wires changed and what was not exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.ext.mininet.exact.exact_link import FRAME, FRAMES, direction_of
from lab.guest import outputs
from lab.guest.fabric.shaper import FRAME_OVERHEAD
from lab.guest.network import Direction
from lab.record.record import Record
from lab.report.wording import plural
from lab.units import Rate

FOLDER = Path(__file__).with_name("exact")
START = "exact_start.py"
FILES = (START, "exact_link.py", "exact_mininet.py", "exact_wires.py", "sitecustomize.py", "tc")
REPORT = f"{outputs.PROGRAM}/wires.json"
LONGEST = 60  # characters of a command that a line quotes
MTU = 1500
SUPER_PACKET = 1 << 16  # bytes at most: GSO_MAX_SIZE's default
BURST = 1600  # bytes that HTB sends early after a pause: tc's cburst, because TCIntf.bwCmds sets only the other burst
MOST_MBIT = 1000  # TCIntf.bwParamMax


def shipped() -> dict[str, bytes]:
    """Return the files that give a script's guest the lab's wires, by name."""
    return {name: (FOLDER / name).read_bytes() for name in FILES}


@dataclass(frozen=True)
class ExactDirection:
    """Holds what one direction of an exact wire did. The settings are the last ones that the script gave."""

    sender: str  # the interface
    settings: Mapping[str, Any]
    changes: int
    overlong: int  # segments in frames that were longer than 1514 bytes
    mtu: int  # of the sender

    @property
    def direction(self) -> Direction:
        """The direction as the wire had it."""
        return direction_of(**self.settings)


def is_exact(record: Record) -> bool:
    """Return whether the script of this record ran on the lab's wires."""
    return REPORT in record.outputs


def directions(record: Record) -> list[ExactDirection]:
    """Return each direction of the wires, in the order in which the script made them; empty without exact wires."""
    if not is_exact(record):
        return []
    found = [direction for wire in record.json(REPORT)["wires"] for direction in wire["directions"]]
    return [
        ExactDirection(*(each[key] for key in ("from", "settings", "changes", "overlong", "mtu"))) for each in found
    ]


def not_exact(record: Record) -> list[str]:
    """Return one line for each thing that the lab's wires could not make exact; empty without exact wires."""
    return list(_not_exact(record)) if is_exact(record) else []


def _not_exact(record: Record) -> Iterator[str]:
    own: Sequence[str] = record.json(REPORT)["tc"]
    if own:
        shown = own[0] if len(own[0]) <= LONGEST else own[0][:LONGEST] + " ..."
        more = f", and {plural(len(own) - 1, 'command')} more" if own[1:] else ""
        yield f"not exact: the script sets queues in front of the wires: {shown}{more}; TCIntf.config sets the wires"
    for each in directions(record):
        if each.overlong and each.mtu <= MTU:
            yield (
                f"not exact: {each.sender} sent {each.overlong:,} frames in super-packets, because the script turned "
                "its segmentation offload on; remove that command"
            )


def reasons(record: Record) -> list[str]:
    """Return why the script of this record may print different figures on exact wires, one reason per line.

    The figures in the lines are computed from the settings of the wires. Sources: `TCIntf` in mininet/link.py,
    `fixLimits` in mininet/util.py, net/sched/sch_htb.c and sch_netem.c.
    """
    return list(_reasons(directions(record)))


def _reasons(found: Sequence[ExactDirection]) -> Iterator[str]:
    if not found:
        return
    yield (
        f"Super-packets: Mininet's links carry up to {SUPER_PACKET // FRAME} frames as one packet, and queues and "
        "losses count it as one. Exact wires carry single frames."
    )
    shaped = [(each, rate) for each in found if (rate := each.direction.rate)]
    if shaped:
        yield from _reasons_of(*min(shaped, key=lambda pair: pair[1].bps))
    if any(rate.bps > MOST_MBIT * 10**6 for _, rate in shaped):
        yield f"Rates above {MOST_MBIT} Mbit/s: Mininet ignores them. Exact wires have them."
    if any(each.changes > 1 for each in found):
        yield "Changes: Mininet drops the packets in a queue that it changes. An exact wire keeps them."
    yield (
        "TCP's buffers: Mininet raises the limits of tcp_rmem and tcp_wmem to 16 MiB. Hosts with exact wires keep "
        "the kernel's own."
    )


def _reasons_of(each: ExactDirection, rate: Rate) -> Iterator[str]:
    """Yield the reasons that depend on a rate, for the slowest direction."""
    line = FRAME + FRAME_OVERHEAD.bytes
    packets = int(each.settings.get("max_queue_size", FRAMES))
    flying = " Mininet's queue also counts the packets in flight." if each.direction.delay else ""
    yield (
        f"Queue of {each.sender}: {plural(packets, 'frame')} take {_time(packets * line, rate)} on an exact wire. As "
        f"many super-packets take up to {_time(packets * SUPER_PACKET, rate)}.{flying}"
    )
    yield (
        f"Rate of {each.sender}: after a pause, Mininet's HTB lets {BURST} bytes and a whole packet pass at once, "
        f"{_time(BURST, rate)} too early. An exact wire sends frame by frame."
    )
    shares = [100 * (MTU - 52) / frame for frame in (FRAME, line)]
    yield (
        f"Frames: an exact wire also carries preamble, FCS and gap, {FRAME_OVERHEAD.bytes} bytes a frame. TCP gets "
        f"{shares[1]:.1f} % of the rate instead of {shares[0]:.1f} %."
    )
    yield "Senders: TCP sees a queue in its own host's interface, and slows down. An exact queue is a link's."


def _time(size: int, rate: Rate) -> str:
    seconds = 8 * size / rate.bps
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms"
