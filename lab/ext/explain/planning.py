"""Decide the network and the programs that rebuild a transfer, and what to change to undo each limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lab.errors import InputError
from lab.ext.explain.behaviour import Behaviour, behaviour
from lab.ext.explain.explaining import Closely, Facts
from lab.ext.explain.limits import NAMED, Limit
from lab.ext.explain.measuring import SeenPath, frames, measure, rounded
from lab.ext.explain.place import to_acks
from lab.ext.explain.writer import memory
from lab.metric.arrays import np
from lab.model.scenario import KernelTraits
from lab.model.skb import overhead
from lab.report.wording import figure
from lab.spec.baseline import HOST
from lab.spec.parts import MTU_MAX, MTU_MIN, MTU_MIN_IPV6
from lab.units import Duration, Rate, Value

LONGEST = 300  # seconds, and bytes: a trial of more would take hours
MOST = 400_000_000
_LEAST = 3  # segments
_BLIND = 0.5  # of the time without a known limit
_DISORDER = 0.05  # of the time
_RMEM, _WMEM = "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"
_OPENING = 65535  # bytes: no window of a SYN is larger (RFC 7323 2.2)
_LEAST_LOSS = 1e-7
_GREEDY = ("Bulk", "PacedReader")
_AMPLE = 10  # times the goodput
_INITIAL = 10  # segments: TCP_INIT_CWND


@dataclass(frozen=True)
class FoundSetting:
    """Holds a setting of the rebuilt network, and the figure of the capture that it comes from."""

    value: str
    because: str


@dataclass(frozen=True)
class Undo:
    """Holds an arm that undoes one limit: the arguments of `Arm` in Python, and what the change is."""

    name: str
    arguments: str
    words: str
    limits: tuple[Limit, ...]


@dataclass(frozen=True)
class RebuildPlan:
    """Holds everything that the files of a rebuilt transfer contain."""

    seen: Closely
    path: SeenPath
    program: Behaviour
    rate: FoundSetting | None
    delay: FoundSetting
    mtu: FoundSetting | None
    limit: FoundSetting | None
    loss: FoundSetting | None
    lost: tuple[tuple[int, int], ...]  # (byte, sending) of the segments to lose; () leaves them to chance
    sysctls: Mapping[str, Mapping[str, FoundSetting]]  # of sender and receiver
    goodput: Rate
    rtt: Duration | None  # the mean; None if the capture was not taken at the sender
    undoing: tuple[Undo, ...]
    unknown: tuple[str, ...]

    @property
    def facts(self) -> Facts:
        """Return the facts of the connection."""
        assert self.seen.explanation.facts is not None
        return self.seen.explanation.facts

    @property
    def node(self) -> str:
        """Return the host at which the rebuilt transfer is captured, as the original was."""
        return "receiver" if self.facts.where.name == "receiver" else "sender"


def plan(seen: Closely) -> RebuildPlan:
    """Return the plan of a rebuilt transfer. Raises InputError, with the reason, if the transfer cannot be rebuilt."""
    if reason := _refusal(seen):
        raise InputError(f"connection {seen.explanation.number} cannot be rebuilt: {reason}")
    path = measure(seen)
    program = behaviour(seen, path)
    if program.never_waits:
        path = replace(path, flight=0)
    if reason := _beyond(path, program):
        raise InputError(f"connection {seen.explanation.number} cannot be rebuilt: {reason}")
    shares = seen.explanation.shares
    sysctls = _sysctls(seen, path, program)
    loss = path.lost / path.sent if path.sent else 0.0
    facts = seen.explanation.facts
    assert facts is not None
    least = figure(Value(path.rtt / 1e9, "s"))
    without = ", without the transmission of its packets" if 2 * path.delay < path.rtt - 1 else ""
    return RebuildPlan(
        seen,
        path,
        program,
        rate=_rate(path, shares, _goodput(seen) if program.kind in _GREEDY else 0.0),
        delay=FoundSetting(
            str(Duration(1000 * round(path.delay / 1000))), f"half of the least round trip, {least}{without}"
        ),
        mtu=_mtu(seen, path),
        limit=_limit(path),
        loss=_loss(path, loss),
        lost=path.listed or (),
        sysctls=sysctls,
        goodput=Rate(max(round(float(f"{_goodput(seen):.4g}")), 1)),
        rtt=_mean_rtt(seen) if facts.where.name == "sender" else None,
        undoing=tuple(_undoing(seen, path, program, sysctls, loss)),
        unknown=(*_unknown(seen, path), *program.unknown),
    )


def _refusal(seen: Closely) -> str:
    """Return why a transfer cannot be rebuilt, or ""."""
    each, facts = seen.explanation, seen.explanation.facts
    assert facts is not None
    shares = each.shares
    if not len(seen.found.time) or not len(seen.found.ack):
        return "the capture has one direction only; capture both"
    if facts.where.rtt is None:
        return f"the round trip is unknown: {facts.missing or facts.where.reason}"
    if len(seen.found.time) < _LEAST:
        return f"{len(seen.found.time)} data segments show no path; name a longer transfer with --flow"
    if _goodput(seen) <= 0:
        return "no data was acknowledged"
    if shares.get(Limit.UNKNOWN, 0) > _BLIND:
        return f"for {each.percents[Limit.UNKNOWN]} % of the time, the limit is unknown: {facts.missing}"
    if shares.get(Limit.REORDERING, 0) > _DISORDER:
        return "segments arrived out of order, and the capture does not show where; try `reorder` or `jitter` of a link"
    if Limit.BLACK_HOLE in shares:
        return "full-sized segments never arrived; a smaller `mtu` of a link without its ICMP messages does the same"
    seconds, payload = (each.end - each.start) / 1e9, each.payload[0]
    if seconds > LONGEST or payload > MOST:
        return (
            f"{payload:,} B in {seconds:.0f} s would take hours to run; cut the capture to {MOST:,} B and {LONGEST} s"
        )
    return ""


def _beyond(path: SeenPath, program: Behaviour) -> str:
    """Return what the lab cannot do of what was found, or ""."""
    mtu, least = path.mss + path.headers, MTU_MIN_IPV6 if path.ipv6 else MTU_MIN
    if not least <= mtu <= MTU_MAX:
        return f"its full segments need an MTU of {mtu:,} B, and a link of the lab has {least:,} B to {MTU_MAX:,} B"
    lasts = Duration.of(str(program.fields.get("duration", "0 s"))).seconds
    if lasts > 10 * LONGEST:
        return f"at the rate of its reader, it takes {lasts:,.0f} s; the lab rebuilds up to {10 * LONGEST:,} s"
    return ""


def _goodput(seen: Closely) -> float:
    """Return the payload in bit/s, from the first segment to the ACK of the last one, as `metric.capture_goodput`."""
    found = seen.found
    first, last = int(found.seq[0]), min(int(found.end.max()), int(found.ack.max()))
    took = int(found.ack_time[np.searchsorted(found.ack, last)] - found.time[0])
    at_once = found.ack[found.ack_time <= found.time[0]]  # at the receiver, the first segment's ACK
    return 8e9 * (last - max(first, int(at_once.max(initial=first)))) / took if took > 0 else 0.0


def _mean_rtt(seen: Closely) -> Duration | None:
    since = to_acks(seen.found)[1]
    return Duration(1000 * round(float(since.mean()) / 1000)) if len(since) and since.mean() >= 1000 else None


def _rate(path: SeenPath, shares: Mapping[Limit, float], least: float) -> FoundSetting | None:
    """Return the path's rate. A greedy program needs one: then, an unknown rate is far above `least`, in bit/s."""
    if path.rate is None:
        return FoundSetting(str(rounded(_AMPLE * least)), "unknown; this rate limits nothing") if least else None
    how = "used in full" if shares.get(Limit.RATE, 0) > NAMED else "at which bursts passed the bottleneck"
    return FoundSetting(str(rounded(path.rate)), f"of whole frames: the rate {how}")


def _mtu(seen: Closely, path: SeenPath) -> FoundSetting | None:
    facts = seen.explanation.facts
    assert facts is not None
    mtu = path.mss + path.headers
    known = all(facts.mss_options) or bool((seen.found.end - seen.found.seq == facts.mss).any())
    return None if mtu == 1500 or not known else FoundSetting(f"{mtu} B", f"full segments carry {facts.mss:,} B")


def _limit(path: SeenPath) -> FoundSetting | None:
    if path.limit is None or path.queue is None:
        return None
    wait = figure(Value(path.queue / 1e9, "s"))
    return FoundSetting(str(path.limit), f"frames: losses began when the queue took {wait}")


def _loss(path: SeenPath, share: float) -> FoundSetting | None:
    if share < _LEAST_LOSS:
        return None
    return FoundSetting(f"{100 * share:.4f} %", f"{path.lost:,} of {path.sent:,} segments were lost elsewhere")


def _sysctls(seen: Closely, path: SeenPath, program: Behaviour) -> dict[str, dict[str, FoundSetting]]:
    """Return the sysctls of both hosts that differ from the lab's."""
    shares, facts = seen.explanation.shares, seen.explanation.facts
    assert facts is not None
    found: dict[str, dict[str, FoundSetting]] = {"sender": {}, "receiver": {}}
    opened = all(each is not None for each in facts.mss_options)
    for name, has in (("tcp_timestamps", facts.timestamps), ("tcp_sack", facts.sack),
                      ("tcp_window_scaling", None not in facts.scales)):  # fmt: skip
        if not has and (opened or name == "tcp_timestamps"):
            for host in found.values():
                host[f"net.ipv4.{name}"] = FoundSetting("0", "the packets do not have it")
    if path.flight:
        most = _send_buffer(path)
        found["sender"][_WMEM] = FoundSetting(
            f"{min(4096, most)} {min(16384, most)} {most}",
            f"the program was woken when {path.flight:,} B were in flight: two thirds of it",
        )
    if path.window is not None and (buffers := _receive_buffers(path, program, shares)):
        first, most = buffers
        found["receiver"][_RMEM] = FoundSetting(
            f"{min(4096, first)} {first} {most}",
            f"the window began with {path.opening:,} B and grew to {path.window:,} B"
            if path.opening is not None else f"the window grew to {path.window:,} B",
        )  # fmt: skip
    return found


def _receive_buffers(path: SeenPath, program: Behaviour, shares: Mapping[Limit, float]) -> tuple[int, int] | None:
    """Return the first and the largest size of the receive buffer; None if the lab's sizes fit.

    A buffer that limited the transfer does not become larger than it was: how far it grows depends on single reads.
    """
    assert path.window is not None
    _, usual, largest = (int(text) for text in HOST[_RMEM].split())
    most = _receive_buffer(path, path.window)
    opening = path.opening if path.opening is not None else _OPENING
    small = opening <= _OPENING - 2 * path.mss
    first = 2 * (opening + path.mss - 1) if small else usual
    limited = shares.get(Limit.WINDOW, 0) + shares.get(Limit.ZERO_WINDOW, 0) >= NAMED
    if not limited:
        most = max(most, largest)
    elif program.kind == "PacedReader":  # its unread data keeps the window below the size of the buffer
        most = max(most, first)
    found = min(first, most), most
    return None if found == (usual, largest) else found


def _receive_buffer(path: SeenPath, window: int) -> int:
    """Return the buffer whose window this is: `lab.model.window.rcv_window`, solved for the buffer."""
    memory = path.mss + overhead(KernelTraits())
    share = (path.mss << 8) // memory
    return window * 256 // share + memory


def _send_buffer(path: SeenPath) -> int:
    """Return the buffer whose writer is woken at this flight: when a third is free (sk_stream_is_writeable)."""
    return round(1.5 * path.flight * memory(path, path.flight))


def _undoing(
    seen: Closely, path: SeenPath, program: Behaviour, sysctls: Mapping[str, Mapping[str, FoundSetting]], loss: float
) -> Iterator[Undo]:
    """Yield an arm for each limit that the transfer has."""
    shares = seen.explanation.shares

    def has(*limits: Limit) -> bool:
        return sum(shares.get(each, 0.0) for each in limits) >= NAMED

    def buffer(name: str, host: str, sysctl: str, words: str, limits: tuple[Limit, ...]) -> Undo:
        least, first, most = sysctls[host][sysctl].value.split()
        twice = f"{least} {2 * int(first)} {2 * int(most)}"
        return Undo(name, f'hosts={{"{host}": {{"sysctls": {{"{sysctl}": "{twice}"}}}}}}', words, limits)

    if program.kind == "PacedReader":
        bulk = Behaviour("Bulk", {"size": _size_of(seen), "duration": f"{10 * LONGEST} s", **_only_ip(path)}, "")
        yield Undo("reads-at-once", f"workload={bulk.source(8)}", "the receiving program reads at once",
                   (Limit.WINDOW, Limit.ZERO_WINDOW))  # fmt: skip
    elif has(Limit.WINDOW, Limit.ZERO_WINDOW) and _RMEM in sysctls["receiver"]:
        yield buffer("twice-the-window", "receiver", _RMEM, "a receive buffer twice as large", (Limit.WINDOW,))
    if has(Limit.SEND_BUFFER) and _WMEM in sysctls["sender"]:
        yield buffer("twice-the-send-buffer", "sender", _WMEM, "a send buffer twice as large", (Limit.SEND_BUFFER,))
    if program.kind == "SmallWrites" and program.fields["way"] == "plain":
        yield Undo("nodelay", f"workload={program.changed(way='nodelay').source(8)}", "TCP_NODELAY", (Limit.NAGLE,))
    if "effort" in program.fields:
        kept = {name: value for name, value in program.fields.items() if name not in ("block", "effort")}
        whole = Behaviour("Bulk", {**kept, "size": _size_of(seen), "duration": f"{10 * LONGEST} s"}, "")
        yield Undo("writes-without-pauses", f"workload={whole.source(8)}", "the program writes without pauses",
                   (Limit.IDLE,))  # fmt: skip
    if loss:
        yield Undo("no-loss", _way("loss", '"0 %"'), "no segment lost outside of the queue",
                   (Limit.CWND, Limit.TIMEOUT))  # fmt: skip
    if path.queue is not None and path.rate:
        yield from _queues(path)
    if path.rate and has(Limit.RATE):
        twice = str(rounded(2 * path.rate))
        yield Undo("twice-the-rate", f'links={{"path": {{"rate": "{twice}"}}}}', "a bottleneck twice as fast",
                   (Limit.RATE,))  # fmt: skip
    if program.kind == "Bulk":
        other = "cubic" if path.congestion == "bbr" else "bbr"
        yield Undo(other, f"workload={program.changed(congestion=other).source(8)}",
                   f"{other.upper()} as congestion control", (Limit.CWND, Limit.SLOW_START, Limit.RATE))  # fmt: skip


def _queues(path: SeenPath) -> Iterator[Undo]:
    assert path.queue is not None
    pipe, queue = path.rtt / 2 / path.frame_ns, path.queue / path.frame_ns
    if path.limit is not None:
        yield Undo("deeper-queue", _way("limit", str(frames(pipe + 2 * queue))), "a queue twice as long",
                   (Limit.CWND, Limit.RATE))  # fmt: skip
    yield Undo("shallower-queue", _way("limit", str(frames(pipe + queue / 2))), "a queue half as long",
               (Limit.RATE,))  # fmt: skip


def _way(key: str, value: str) -> str:
    return f'links={{"path": {{"forward": {{"{key}": {value}}}}}}}'


def _size_of(seen: Closely) -> str:
    return f"{int((seen.found.end - seen.found.seq)[~seen.found.again].sum())} B"


def _only_ip(path: SeenPath) -> dict[str, Any]:
    return {"ip": 6} if path.ipv6 else {}


def _unknown(seen: Closely, path: SeenPath) -> Iterator[str]:
    """Yield each fact that the capture does not show, and what the rebuilt transfer has instead."""
    facts = seen.explanation.facts
    assert facts is not None
    yield "how much of the round trip each direction takes: the rebuilt path has half of it in each"
    if path.rate is None:
        yield "the bottleneck's rate, because too few segments passed it together: the rebuilt rate limits nothing"
    if path.congestion is None:
        yield "the congestion control, because too few losses show how it reacts: the rebuilt sender has CUBIC"
    if path.queue is not None and path.limit is None:
        yield "how long the queue may get, because it never overflowed: the rebuilt queue holds a whole receive window"
    if path.queue is None:
        yield "the length of the queue, because none stood: the rebuilt queue holds a whole receive window"
    if path.lost and facts.where.name != "sender" and not facts.timestamps:
        yield "whether the queue overflowed, because there are no timestamps: the study's paths lose by chance instead"
    if path.lost:
        yield "which segments a second transfer would lose: the study's paths lose the same share, by chance"
    if path.scale is None:
        yield "the window scale, because the capture has no handshake: the rebuilt transfer begins with one"
    first, rest = divmod(facts.initial_window or 0, path.mss)
    if first and not rest and first != _INITIAL:
        yield f"why the initial window had {first} segments: the rebuilt one has {_INITIAL}"
    yield "other traffic at the bottleneck: the rebuilt path has only what was left for this transfer"
