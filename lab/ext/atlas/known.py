"""List the known changes in Linux's TCP, with the evidence for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arms:
    """Names two arms of a claim, on one kernel, that differ only in one change of the kernel."""

    claim: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Known:
    """Describes one change, and names the evidence: claims on kernels before and after, pairs of arms, or scripts."""

    name: str  # the name of its page
    title: str
    says: str  # what changed, in a sentence or two
    since: tuple[int, int] | None = None  # the first series with the change; None: it is a setting
    commit: str = ""
    claims: tuple[str, ...] = ()
    arms: tuple[Arms, ...] = ()
    scripts: tuple[str, ...] = ()  # packetdrill scripts in the newest kernel's source


KNOWN = (
    Known(
        "window-share",
        "The window's share of the receive buffer is measured",
        "`tcp_adv_win_scale` offered half of a buffer. Since 6.6 a kernel offers what payload takes of the memory that "
        "full segments take, so that frames of 1,500 bytes get three quarters, and jumbo frames nearly all.",
        (6, 6),
        "dfa2f0483360",
        claims=(
            "tcp-bottleneck/window-plateau",
            "incident-jumbo/whole-buffer",
            "incident-window/application-times-out",
        ),
    ),
    Known(
        "timer-tick",
        "Timers wait for one tick more",
        "Since the non-cascading wheel of 4.8 a timer that is set late in a tick never expires early, and every timer "
        "a tick later. A delayed ACK of HZ/25 ticks comes after 41 ms where it came after 40. A small patch takes the "
        "change back.",
        (4, 8),
        "500462a9de65",
        arms=(
            Arms("incident-timer/within-42-ms", "timers-on-their-tick", "defaults"),
            Arms("tcp-nodelay/nagle-stall", "timers-on-their-tick", "defaults"),
        ),
    ),
    Known(
        "accurate-ecn",
        "Accurate ECN can be negotiated",
        "Since 7.0 a server with `tcp_ecn` at 3, 4 or 5 answers a client that asks for accurate ECN, by flags of the "
        "SYN and an option. The default of 7.2 is still 2: ECN where a client asks, and not the accurate one.",
        (7, 0),
        scripts=("tcp_accecn_serverside_only", "tcp_accecn_acc_ecn_disabled"),
    ),
    Known(
        "hz",
        "HZ: how long a tick is",
        "Delayed ACKs and retransmissions are counted in ticks, rounded up, and a tick more. At HZ=250 a delayed ACK "
        "takes 44 ms, at HZ=1000 it takes 41.",
        arms=(
            Arms("incident-timer/within-42-ms", "defaults", "hz-250"),
            Arms("tcp-nodelay/nagle-stall", "defaults", "hz-250"),
        ),
    ),
)
