"""Judge from a monitor's record whether the machine kept the promise of real time during a trial.

A trial is valid if the evidence shows that the machine kept `lab.verdict.promise.PROMISE`. The absence of faults alone
is not enough evidence. A real network keeps the following invariants with any workload (Heller, "Reproducible Network
Research with High-Fidelity Emulation", 2013):

- An idle link takes its delay and its frame times in both directions, and a burst takes its time at the link's rate.
  This invariant holds before and after the workload. The RTT may differ by the promised amount. The burst may differ by
  the promised share plus the precision of its start and end times.
- Time passes. The monitor's wake-ups sample the trial's time. The share of late wake-ups estimates the share of the
  time in which the machine was busy elsewhere. The upper bound of that share (Clopper-Pearson) must keep the promise,
  so a few wake-ups are not enough evidence. A wake-up is late if it is later than usual by more than the promised RTT.
- A link with a queue sends at its rate, and no frame waits longer than the transmission of all frames ahead of it.
- A process that is ready runs, usually within the promised RTT, unless the trial itself fills the CPU.
- Other programs, interrupts, the host or a hypervisor take no more than the promised share of the trial's CPU.
- Neither the CPU nor too long an RTT delays a workload that fills a wire.
- Frames are lost only through the network's settings, and not in a CPU's backlog.

A squeezed softirq, a queue on a wire, or a wire's tail drops are only evidence, and do not disturb a trial on their
own.

In a network whose links have neither a rate nor a delay, packets cost only CPU time. In such a network, a stall adds at
most its own length to a workload's time, because each process waits for the last event that it needs. So a busy machine
does not invalidate the trial, but makes the trial's figures uncertain by the share of time in which it was busy
elsewhere (`uncertainty`), up to a limit.

In such a network, even stalls that are too short for any timer to detect affect the figures. On the host, the guest's
supervisor measures how long the guest's processes were ready and waited, and how long their CPU was neither idle nor
used by the guest. Either value bounds the withheld time (`_withheld`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from lab.base import ethernet
from lab.verdict.binomial import at_most
from lab.verdict.promise import PROMISE

UNWATCHED = "nothing watched the machine: a trial in real time needs that"
VERSION = 3  # of the evidence that lab.guest.monitor writes
BEFORE_LOOKS = 2  # lacks the host's observations, which networks with a rate or a delay do not need
SHARE, RTT, DOUBT = PROMISE.share, PROMISE.rtt, PROMISE.doubt

# If a workload fills a wire, the kernel handles several frames in a row before a process runs: on user-mode Linux at
# 100 Mbit/s, 99.8 % of wake-ups are within 0.3 ms of the usual. Only this value is measured and not derived. It costs
# no goodput, because a wire with a queue makes up for late processes.
OWN_WORK = 0.3e-3
MOST_UNSEEN = 1.5  # times the observed share: less than a third of a stall is missed. Less is a timer's own delay
MOST_BOUNDED = 3.0  # the same for a share that is only bounded: there, a timer's own delay may count as a short stall
LEAST_TURNS = 10  # in a window, before their mean is meaningful
LEAST_TICKS = 5  # of a window, before the lack of an idle tick is meaningful
USER_TICK = 0.01  # seconds: the resolution of a host's count of idle time
CLOCKS_APART = 0.02  # seconds between a user-mode kernel's clock, which is the host's, and the host's own
CLOCKS_APART_VM = 1.1  # a machine's clock starts at a whole second
FRAME = 8 * (ethernet.MTU + ethernet.AROUND)  # bits: windows start and end between frames

_Evidence = Mapping[str, Any]


def faults(evidence: _Evidence) -> tuple[str, ...]:
    """Return the reasons why the trial is invalid, each with figures; empty if the trial is valid."""
    if not _is_readable(evidence):
        return ("the machine was not watched closely enough; run the trial again",)
    samples, tick, greedy = evidence["samples"], evidence["tick"], evidence["greedy"]
    rated = _is_rated(evidence)
    return (
        *_clock(evidence["clock"]["resolution_s"]),
        *_wires("before the trial", evidence["wires"], greedy),
        *_after(evidence.get("wires_after"), greedy),
        *(_too_uncertain(evidence) if _costs_cpu_alone(evidence) else _away_or_taken(evidence)),
        *(() if greedy else _waited(samples)),
        *_slow(samples),
        *(_starved(samples, tick) if greedy and rated else ()),
        *(_paced(samples, evidence["wires"]) if greedy and rated else ()),
        *_dropped(samples),
    )


def uncertainty(evidence: _Evidence) -> float:
    """Return the share of the time in which the machine may have been busy elsewhere: the uncertainty of the figures.

    The share is 0 for networks with rates or delays, because their trials keep the promise or are invalid.
    """
    if not _is_readable(evidence) or not _costs_cpu_alone(evidence):
        return 0.0
    late_ns = evidence["wakeups"]["late_ns"]
    taken = sum(share for _, share, room in _takers(evidence["samples"], evidence["tick"]) if share > room)
    stalls = _most_away(late_ns, RTT, PROMISE.rare, MOST_BOUNDED)
    return min(1.0, max(stalls + _withheld(evidence), taken))


def _is_readable(evidence: _Evidence) -> bool:
    version = evidence.get("version")
    return version == VERSION or (version == BEFORE_LOOKS and not _costs_cpu_alone(evidence))


def _withheld(evidence: _Evidence) -> float:
    """Return a bound on the share of time in which the guest was ready but its CPU did other work; 1 if unknown.

    The counts cover the time from the last observation before the trial to the first observation after the trial. Their
    sum is divided by the time in which frames passed.
    """
    looks: Sequence[_Evidence] | None = evidence.get("looks", ())
    if looks is None:  # the trial ran on the host's own kernel, and its monitor has the account
        return 0.0
    samples, wakeups = evidence["samples"], evidence["wakeups"]
    used = len(wakeups["late_ns"]) * wakeups["period_ns"] / 1e9
    apart = 1e9 * (CLOCKS_APART if samples[0]["turns"] is None else CLOCKS_APART_VM)
    begin = evidence["began_ns"] - apart
    end = evidence["began_ns"] + samples[-1]["ns"] - samples[0]["ns"] + apart
    before = [look for look in looks if look["ns"] <= begin]
    during = [look for look in looks if begin < look["ns"] < end]
    after = [look for look in looks if look["ns"] >= end]
    seen = [*before[-1:], *during, *after[:1]]
    if not before or len(seen) < 2 or not used:
        return 1.0
    bounds = [*_not_idle(seen[0], seen[-1]), *_was_ready(seen, end)]
    stolen = seen[-1]["stolen_s"] - seen[0]["stolen_s"]
    return min(1.0, (max(0.0, min(bounds)) + stolen) / used) if bounds else 1.0


def _not_idle(first: _Evidence, last: _Evidence) -> Iterator[float]:
    """Yield the seconds during which the CPU was neither idle nor used by the guest, if the host counts this time."""
    if first["idle_s"] is not None and last["idle_s"] is not None:
        idle = max(0.0, last["idle_s"] - first["idle_s"] - USER_TICK)
        yield (last["ns"] - first["ns"] - last["ran_ns"] + first["ran_ns"]) / 1e9 - idle


def _was_ready(looks: Sequence[_Evidence], end: float) -> Iterator[float]:
    """Yield the seconds during which the guest's processes were ready and waited, if the host counts this time.

    The wait of an ended process after the last observation is unknown. The process may have waited all that time.
    """
    if looks[0]["waited_ns"] is None or looks[-1]["waited_ns"] is None:
        return
    ended = sum(
        min(after["ns"], end) - before["ns"] for before, after in pairwise(looks) if after["gone"] > before["gone"]
    )
    yield (looks[-1]["waited_ns"] - looks[0]["waited_ns"] + ended) / 1e9


def _is_rated(evidence: _Evidence) -> bool:
    return any(sample["wires"] for sample in evidence["samples"])


def _costs_cpu_alone(evidence: _Evidence) -> bool:
    return not _is_rated(evidence) and all(wire["delay_wanted"] == 0 for wire in evidence["wires"])


def _too_uncertain(evidence: _Evidence) -> Iterator[str]:
    usual = median(evidence["wakeups"]["late_ns"] or [0]) / 1e9
    if usual > RTT:
        yield f"timers usually fire {_ms(usual)} late"
    elif (share := uncertainty(evidence)) > PROMISE.most:
        yield f"the machine may have been away for {_percent(share)} of the time: its figures are too uncertain"


def _away_or_taken(evidence: _Evidence) -> Iterator[str]:
    tolerated = OWN_WORK if evidence["greedy"] and _is_rated(evidence) else RTT
    yield from _away(evidence["wakeups"]["late_ns"], tolerated)
    for what, share, room in _takers(evidence["samples"], evidence["tick"]):
        if share > SHARE + room:
            yield f"{what} took {_percent(share)} of the trial's CPU"


def _clock(resolution: float) -> Iterator[str]:
    if resolution > RTT:
        yield f"the clock moves {_ms(resolution)} at a time"


def _after(wires: Sequence[_Evidence] | None, greedy: bool) -> Iterator[str]:
    if wires is None:
        yield "the wires were not measured again after the trial: frames were still queued"
    else:
        yield from _wires("after the trial", wires, greedy)


def _wires(when: str, wires: Sequence[_Evidence], greedy: bool) -> Iterator[str]:
    """Check idle delays per link, because both directions together form its RTT, and rates per direction."""
    for link, ways in _by_link(wires).items():
        if any(way["delay_wanted"] is None for way in ways):
            continue
        if any(way["delay"] is None for way in ways):
            yield f"link {link}: no frame came through {when}"
            continue
        found, wanted = (sum(way[key] for way in ways) for key in ("delay", "delay_wanted"))
        if abs(found - wanted) > RTT:
            yield f"link {link}: an idle RTT of {_ms(found)} {when}, not {_ms(wanted)}"
    for wire in wires if greedy else ():  # a ping does not depend on the rate
        found, wanted = wire["burst"], wire["burst_wanted"]
        if found is not None and abs(found - wanted) > SHARE * wanted + RTT:
            where = f"link {wire['link']}, {wire['direction']}"
            yield f"{where}: {wire['frames']} frames took {_ms(found)} {when}, not {_ms(wanted)}"


def _by_link(wires: Sequence[_Evidence]) -> dict[str, list[_Evidence]]:
    links: dict[str, list[_Evidence]] = {}
    for wire in wires:
        links.setdefault(wire["link"], []).append(wire)
    return links


def _away(late_ns: Sequence[int], tolerated: float) -> Iterator[str]:
    if (shown := at_most(0, len(late_ns), DOUBT)) > SHARE:
        yield f"only {len(late_ns)} timers were watched: they cannot show that fewer than {_percent(shown)} are late"
        return
    usual = median(late_ns) / 1e9
    if usual > tolerated:
        yield f"timers usually fire {_ms(usual)} late"
    elif (excess := _excess(late_ns, tolerated)) and (
        most := _most_away(late_ns, tolerated, DOUBT, MOST_UNSEEN)
    ) > SHARE:
        late, worst = _percent(len(excess) / len(late_ns)), _ms(max(late_ns) / 1e9)
        yield (
            f"timers fired more than {_ms(tolerated)} later than usual in {late} of cases, by up to {worst}: the "
            f"machine may have been away for {_percent(most)} of the time"
        )


def _excess(late_ns: Sequence[int], tolerated: float) -> list[float]:
    """Return the seconds by which timers exceeded the usual and tolerated lateness, for each timer that did."""
    usual = median(late_ns) / 1e9
    return [over for each in late_ns if (over := each / 1e9 - usual - tolerated) > 0]


def _most_away(late_ns: Sequence[int], tolerated: float, doubt: float, scale: float) -> float:
    """Return a bound on the share of time in which a timer waits longer than usual by more than `tolerated`.

    A timer sees only the part of a stall beyond `tolerated`, so the result is scaled up to whole stalls, by at most
    `scale`. On average, a point in a stall is half the stall away from its end. Without a timer, there is no evidence,
    and the bound is 1.
    """
    if not late_ns:
        return 1.0
    excess = _excess(late_ns, tolerated)
    unseen = min(scale, 1 + tolerated / (2 * fmean(excess))) if excess else 1.0
    return min(1.0, at_most(len(excess), len(late_ns), doubt) * unseen)


def _takers(samples: Sequence[_Evidence], tick: float) -> Iterator[tuple[str, float, float]]:
    """Yield (name, share, error) for each consumer of CPU time: other programs, interrupts, the host or a hypervisor.

    `share` is the consumer's share of the trial's time. `error` is the resolution of `share`, because the kernel counts
    CPU time in ticks. A hypervisor may report the time that it took (steal). A user-mode kernel gets no such report, so
    its account does not include the steal time. Time in softirqs is not counted here, because it belongs to the trial's
    own network.
    """
    first, last = samples[0], samples[-1]
    seconds = (last["ns"] - first["ns"]) / 1e9
    spent = {name: (last["cpu"][name] - first["cpu"][name]) * tick for name in first["cpu"]}
    others = sum(spent[name] for name in ("user", "nice", "system", "irq")) - (last["own"] - first["own"]) * tick
    lost = last["cpus"] * seconds - sum(spent.values()) + spent["steal"]
    coarse = 2 * tick * last["processes"]  # user and system time of each process are cut to whole ticks
    counted = tick * max(1, sum(map(bool, last["cpu"].values())))  # and so is each kind of work that ever occurred
    yield "other programs", others / seconds, coarse / seconds
    yield "the host or hypervisor", lost / seconds, counted / seconds


def _waited(samples: Sequence[_Evidence]) -> Iterator[str]:
    """Report if processes were ready but did not run in most windows between samples, on kernels that count this wait.

    In some windows, processes may wait: processes that start and end wait for each other, and the promise is about the
    median RTT.
    """
    if samples[0]["turns"] is None:
        return
    long = [
        each
        for before, after in pairwise(samples)
        if (turns := after["turns"] - before["turns"]) >= LEAST_TURNS
        and (each := (after["waited_ns"] - before["waited_ns"]) / turns / 1e9) > RTT
    ]
    if len(long) > (len(samples) - 1) / 2:
        yield f"the trial's processes usually waited for the CPU for {_ms(median(long))} each time that they were ready"


def _slow(samples: Sequence[_Evidence]) -> Iterator[str]:
    """Report links that sent below their rate despite a queue, or delayed a frame longer than the queue ahead of it."""
    for history in _histories(samples):
        wire = history[0][1]
        if wire["delay_ns"] is None:  # frames move at random
            continue
        where, frame = f"link {wire['link']}, {wire['direction']}", 8 * wire["frame_bytes"] / wire["rate_bps"]
        busy, sent = _with_queue(history)
        due = busy * wire["rate_bps"]
        if sent < (1 - SHARE) * due - RTT * wire["rate_bps"] - 8 * wire["frame_bytes"]:
            yield f"{where}: with a queue it sent {_percent(sent / due)} of its rate, in {_ms(busy)}"
        longest = max(_overdue(history, frame), default=0.0)
        if longest > RTT:
            yield f"{where}: a frame was in its queue for {_ms(longest)} longer than those before it take"


def _histories(samples: Sequence[_Evidence]) -> Iterator[list[tuple[float, _Evidence]]]:
    """Yield the counters of each wire: (seconds, counters) of every sample."""
    for each in zip(*(sample["wires"] for sample in samples), strict=True):
        yield [(sample["ns"] / 1e9, wire) for sample, wire in zip(samples, each, strict=True)]


def _with_queue(history: Sequence[tuple[float, _Evidence]]) -> tuple[float, float]:
    """Return (seconds, bits) of the windows between samples in which the link had a queue throughout.

    The link had a queue if a frame that had arrived and passed its delay at the start of the window is still in the
    qdisc at the end. Frames leave in the order in which they arrived.
    """
    seconds = bits = 0.0
    for number, ((start, before), (end, after)) in enumerate(pairwise(history)):
        ready = start - before["delay_ns"] / 1e9
        come = [wire["packets"] + wire["backlog"] for when, wire in history[: number + 1] if when <= ready]
        if come and come[-1] > after["packets"]:
            seconds += end - start
            bits += _bits(before, after)
    return seconds, bits


def _overdue(history: Sequence[tuple[float, _Evidence]], frame: float) -> Iterator[float]:
    """Yield the seconds by which frames are late, even if each frame ahead had the maximum length."""
    for number, (start, before) in enumerate(history):
        gone = start + before["delay_ns"] / 1e9 + before["backlog"] * frame * (1 + SHARE)
        for end, after in history[number + 1 :]:
            if end > gone:
                if after["packets"] < before["packets"] + before["backlog"]:
                    yield end - gone
                break


def _bits(before: _Evidence, after: _Evidence) -> float:
    return float(8 * (after["bytes"] - before["bytes"] + ethernet.OVERHEAD * (after["packets"] - before["packets"])))


def _starved(samples: Sequence[_Evidence], tick: float) -> Iterator[str]:
    """Report the time between samples in which the CPU had no idle tick and no wire was at its rate."""
    starved = 0.0
    for before, after in pairwise(samples):
        seconds = (after["ns"] - before["ns"]) / 1e9
        idle = sum(after["cpu"][name] - before["cpu"][name] for name in ("idle", "iowait"))
        if not idle and seconds > LEAST_TICKS * tick and not _full(before, after):
            starved += seconds
    total = (samples[-1]["ns"] - samples[0]["ns"]) / 1e9
    if starved > SHARE * total:
        yield f"the CPU had no idle time, and no wire was full, for {_percent(starved / total)} of the trial"


def _full(before: _Evidence, after: _Evidence) -> bool:
    """Return whether a wire was at its rate between two samples."""
    seconds = (after["ns"] - before["ns"]) / 1e9
    return any(
        _bits(start, end) + FRAME >= (1 - SHARE) * end["rate_bps"] * seconds
        for start, end in zip(before["wires"], after["wires"], strict=True)
    )


def _paced(samples: Sequence[_Evidence], wires: Sequence[_Evidence]) -> Iterator[str]:
    """Report an RTT that limits a sender. If no wire is full or has a queue, goodput is one window per RTT.

    The goodput in that time has the same relative error as the RTT.
    """
    ways = [way for way in wires if way["delay"] is not None and way["delay_wanted"]]
    found, wanted = (sum(way[key] for way in ways) for key in ("delay", "delay_wanted"))
    total = held_up = 0.0
    for before, after in pairwise(samples):
        bits = sum(_bits(start, end) for start, end in zip(before["wires"], after["wires"], strict=True))
        total += bits
        held_up += 0 if _full(before, after) or any(map(_has_queue, (*before["wires"], *after["wires"]))) else bits
    if wanted and total and (off := abs(found / wanted - 1) * held_up / total) > SHARE:
        share = _percent(held_up / total)
        yield (
            f"no wire had a queue for {share} of the sent bytes, at an idle RTT of {_ms(found)}, not {_ms(wanted)}: "
            f"goodput is off by {_percent(off)}"
        )


def _has_queue(wire: _Evidence) -> bool:
    """Return whether the qdisc holds more frames than are in flight at its delay and rate."""
    if wire["delay_ns"] is None:
        return bool(wire["backlog"])
    on_their_way: float = wire["delay_ns"] / 1e9 * wire["rate_bps"] / (8 * wire["frame_bytes"])
    return bool(wire["backlog"] > on_their_way + 1)


def _dropped(samples: Sequence[_Evidence]) -> Iterator[str]:
    dropped = samples[-1]["dropped"] - samples[0]["dropped"]
    if dropped:
        squeezed = samples[-1]["squeezed"] - samples[0]["squeezed"]
        yield f"the CPU's backlog dropped {dropped} frames (its softirq was squeezed {squeezed} times)"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
