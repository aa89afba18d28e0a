"""Judge whether the machine kept real time's promise during a trial, from what its monitor recorded.

A trial counts when the evidence shows that `lab.verdict.promise.PROMISE` was kept, not when it fails to show the
contrary. The rules are invariants that a real network keeps whatever runs on it (Heller, "Reproducible Network Research
with High-Fidelity Emulation", 2013):

- An idle link takes its delay and its frame times, there and back, and a burst takes what its rate makes of it, before
  the workload and after it. RTT may differ by the promise, the burst by the promised share and by the precision with
  which its ends are timed.
- Time goes on. The monitor's wake-ups are a sample of the trial's moments, and how many of them are late says for which
  share of the time the machine was away. The upper bound of that share (Clopper-Pearson) is held to the promise, so few
  wake-ups show nothing. Late is what comes later than usual by more than the promised RTT.
- A link with a queue sends at its rate, and no frame is in it for longer than the frames before it take.
- A process that is ready runs, usually within the promised RTT, unless the trial itself fills the CPU.
- What other programs, interrupts, the host or a hypervisor take of the trial's CPU is no more than the promised share.
- A workload that fills a wire is not held up by the CPU, nor by an RTT that is longer than it should be.
- Frames are lost only where the network says so, not by a CPU's backlog.

A softirq that was squeezed, a queue on a wire, or a wire's tail drops spoil nothing by themselves: they are evidence.

A network whose links have neither a rate nor a delay costs nothing but CPU time. There a stall adds its own length to
what a workload takes, and no more: whatever waits for something, waits for the latest of what it waits for, so without
the stall it ends earlier by the stall at most. So time in which the machine was away does not spoil such a trial: it
leaves its figures uncertain by that share (`uncertainty`), up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from lab.verdict.binomial import at_most
from lab.verdict.promise import PROMISE

__all__ = ["UNWATCHED", "faults", "uncertainty"]

UNWATCHED = "nothing watched the machine: a trial in real time needs that"
VERSION = 2  # of the evidence, as lab.runner.monitor writes it
SHARE, RTT, DOUBT = PROMISE.share, PROMISE.rtt, PROMISE.doubt

# Where a workload fills a wire, the kernel handles several frames in a row before a process runs: on user-mode Linux at
# 100 Mbit/s, 99.8 % of wake-ups are within 0.3 ms of the usual. This alone is measured and not derived. It costs no
# goodput, because a wire with a queue makes up for what is late.
OWN_WORK = 0.3e-3
MOST_UNSEEN = 1.5  # times what is seen: less than a third of a stall. What is later by so little is a timer of its own
MOST_BOUNDED = 3.0  # the same for what is only to be bounded: there, a timer of its own may count as a short stall
FRAME_OVERHEAD = 24  # bytes of a frame on the wire that a qdisc does not count
LEAST_TURNS = 10  # in a window, before their mean says anything
LEAST_TICKS = 5  # a window has to have, before it says anything that none of them is idle
FRAME = 8 * 1538  # bits: windows begin and end between frames

Evidence = Mapping[str, Any]


def faults(evidence: Evidence) -> tuple[str, ...]:
    """Return why the trial does not count, with figures in each reason; empty when it does."""
    if evidence.get("version") != VERSION:
        return ("the machine was watched in a way that shows too little: run the trial again",)
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


def uncertainty(evidence: Evidence) -> float:
    """Return the share of the time for which the machine may have been away, where its figures are known to that.

    It is 0 for networks with rates or delays: their trials keep the promise, or do not count.
    """
    if evidence.get("version") != VERSION or not _costs_cpu_alone(evidence):
        return 0.0
    late_ns = evidence["wakeups"]["late_ns"]
    taken = sum(share for _, share, room in _takers(evidence["samples"], evidence["tick"]) if share > room)
    return max(_most_away(late_ns, RTT, PROMISE.rare, MOST_BOUNDED), taken)


def _is_rated(evidence: Evidence) -> bool:
    return any(sample["wires"] for sample in evidence["samples"])


def _costs_cpu_alone(evidence: Evidence) -> bool:
    return not _is_rated(evidence) and all(wire["delay_wanted"] == 0 for wire in evidence["wires"])


def _too_uncertain(evidence: Evidence) -> Iterator[str]:
    usual = median(evidence["wakeups"]["late_ns"] or [0]) / 1e9
    if usual > RTT:
        yield f"timers usually fire {_ms(usual)} late"
    elif (share := uncertainty(evidence)) > PROMISE.most:
        yield f"the machine may have been away for {_percent(share)} of the time, and figures are known to that alone"


def _away_or_taken(evidence: Evidence) -> Iterator[str]:
    tolerated = OWN_WORK if evidence["greedy"] and _is_rated(evidence) else RTT
    yield from _away(evidence["wakeups"]["late_ns"], tolerated)
    for what, share, room in _takers(evidence["samples"], evidence["tick"]):
        if share > SHARE + room:
            yield f"{what} took {_percent(share)} of the trial's CPU"


def _clock(resolution: float) -> Iterator[str]:
    if resolution > RTT:
        yield f"the clock moves {_ms(resolution)} at a time"


def _after(wires: Sequence[Evidence] | None, greedy: bool) -> Iterator[str]:
    if wires is None:
        yield "the wires were not measured again after the trial: frames were still queued"
    else:
        yield from _wires("after the trial", wires, greedy)


def _wires(when: str, wires: Sequence[Evidence], greedy: bool) -> Iterator[str]:
    """Check idle delays per link, because both directions together make its RTT, and rates of each direction."""
    for link, ways in _by_link(wires).items():
        if any(way["delay_wanted"] is None for way in ways):
            continue
        if any(way["delay"] is None for way in ways):
            yield f"link {link}: no frame came through {when}"
            continue
        found, wanted = (sum(way[key] for way in ways) for key in ("delay", "delay_wanted"))
        if abs(found - wanted) > RTT:
            yield f"link {link}: an idle RTT of {_ms(found)} {when}, not {_ms(wanted)}"
    for wire in wires if greedy else ():  # a ping does not care
        found, wanted = wire["burst"], wire["burst_wanted"]
        if found is not None and abs(found - wanted) > SHARE * wanted + RTT:
            where = f"link {wire['link']}, {wire['direction']}"
            yield f"{where}: {wire['frames']} frames took {_ms(found)} {when}, not {_ms(wanted)}"


def _by_link(wires: Sequence[Evidence]) -> dict[str, list[Evidence]]:
    links: dict[str, list[Evidence]] = {}
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
    """Return by how many seconds timers were later than usual and what is tolerated, where they were."""
    usual = median(late_ns) / 1e9
    return [over for each in late_ns if (over := each / 1e9 - usual - tolerated) > 0]


def _most_away(late_ns: Sequence[int], tolerated: float, doubt: float, scale: float) -> float:
    """Bound the share of time in which a timer waits for longer than usual by more than `tolerated`.

    Of a stall, only what is longer than that is seen, so what is seen is scaled up to whole stalls, by `scale` at most:
    a moment in a stall is half of it away from its end, on average. Without a timer the bound is 1: nothing is known.
    """
    if not late_ns:
        return 1.0
    excess = _excess(late_ns, tolerated)
    unseen = min(scale, 1 + tolerated / (2 * fmean(excess))) if excess else 1.0
    return min(1.0, at_most(len(excess), len(late_ns), doubt) * unseen)


def _takers(samples: Sequence[Evidence], tick: float) -> Iterator[tuple[str, float, float]]:
    """Yield who took CPU time: other processes and interrupts, and whatever runs this kernel and withheld it.

    Each has the share of the trial's time that it took, and the room in which that cannot be told, because CPU time is
    counted in ticks. A hypervisor may say so (steal). From a user-mode kernel it is taken without a word, and its
    account lacks the time. Time in softirqs is not counted here: it is the trial's own network.
    """
    first, last = samples[0], samples[-1]
    seconds = (last["ns"] - first["ns"]) / 1e9
    spent = {name: (last["cpu"][name] - first["cpu"][name]) * tick for name in first["cpu"]}
    others = sum(spent[name] for name in ("user", "nice", "system", "irq")) - (last["own"] - first["own"]) * tick
    lost = last["cpus"] * seconds - sum(spent.values()) + spent["steal"]
    coarse = 2 * tick * last["processes"]  # user and system time of each process are cut to whole ticks
    counted = tick * max(1, sum(map(bool, last["cpu"].values())))  # and so is each kind of work that there ever was
    yield "other programs", others / seconds, coarse / seconds
    yield "the host or hypervisor", lost / seconds, counted / seconds


def _waited(samples: Sequence[Evidence]) -> Iterator[str]:
    """Report processes that were ready and did not run in most windows between samples, where the kernel counts it.

    In some they may: processes that start and end wait for each other, and the promise is about the median RTT.
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


def _slow(samples: Sequence[Evidence]) -> Iterator[str]:
    """Report links that had a queue and sent below their rate, or kept a frame for longer than the queue before it."""
    for history in _histories(samples):
        wire = history[0][1]
        if wire["delay_ns"] is None:  # chance moves frames
            continue
        where, frame = f"link {wire['link']}, {wire['direction']}", 8 * wire["frame_bytes"] / wire["rate_bps"]
        busy, sent = _with_queue(history)
        due = busy * wire["rate_bps"]
        if sent < (1 - SHARE) * due - RTT * wire["rate_bps"] - 8 * wire["frame_bytes"]:
            yield f"{where}: with a queue it sent {_percent(sent / due)} of its rate, in {_ms(busy)}"
        longest = max(_overdue(history, frame), default=0.0)
        if longest > RTT:
            yield f"{where}: a frame was in its queue for {_ms(longest)} longer than those before it take"


def _histories(samples: Sequence[Evidence]) -> Iterator[list[tuple[float, Evidence]]]:
    """Yield the counters of each wire: (seconds, counters) of every sample."""
    for each in zip(*(sample["wires"] for sample in samples), strict=True):
        yield [(sample["ns"] / 1e9, wire) for sample, wire in zip(samples, each, strict=True)]


def _with_queue(history: Sequence[tuple[float, Evidence]]) -> tuple[float, float]:
    """Return (seconds, bits) of the windows between samples in which the link certainly had a queue throughout.

    It had one when a frame that had arrived, and had its delay behind it, when the window began is still there when it
    ends: frames leave in the order in which they came.
    """
    seconds = bits = 0.0
    for number, ((start, before), (end, after)) in enumerate(pairwise(history)):
        ready = start - before["delay_ns"] / 1e9
        come = [wire["packets"] + wire["backlog"] for when, wire in history[: number + 1] if when <= ready]
        if come and come[-1] > after["packets"]:
            seconds += end - start
            bits += _bits(before, after)
    return seconds, bits


def _overdue(history: Sequence[tuple[float, Evidence]], frame: float) -> Iterator[float]:
    """Yield by how many seconds frames are seen to be late, if each frame before them was of the longest."""
    for number, (start, before) in enumerate(history):
        gone = start + before["delay_ns"] / 1e9 + before["backlog"] * frame * (1 + SHARE)
        for end, after in history[number + 1 :]:
            if end > gone:
                if after["packets"] < before["packets"] + before["backlog"]:
                    yield end - gone
                break


def _bits(before: Evidence, after: Evidence) -> float:
    return float(8 * (after["bytes"] - before["bytes"] + FRAME_OVERHEAD * (after["packets"] - before["packets"])))


def _starved(samples: Sequence[Evidence], tick: float) -> Iterator[str]:
    """Report time between samples in which the CPU had no idle tick and no wire was at its rate."""
    starved = 0.0
    for before, after in pairwise(samples):
        seconds = (after["ns"] - before["ns"]) / 1e9
        idle = sum(after["cpu"][name] - before["cpu"][name] for name in ("idle", "iowait"))
        if not idle and seconds > LEAST_TICKS * tick and not _full(before, after):
            starved += seconds
    total = (samples[-1]["ns"] - samples[0]["ns"]) / 1e9
    if starved > SHARE * total:
        yield f"the CPU had no idle time, and no wire was full, for {_percent(starved / total)} of the trial"


def _full(before: Evidence, after: Evidence) -> bool:
    """Return whether a wire was at its rate between two samples."""
    seconds = (after["ns"] - before["ns"]) / 1e9
    return any(
        _bits(start, end) + FRAME >= (1 - SHARE) * end["rate_bps"] * seconds
        for start, end in zip(before["wires"], after["wires"], strict=True)
    )


def _paced(samples: Sequence[Evidence], wires: Sequence[Evidence]) -> Iterator[str]:
    """Report an RTT that holds up a sender: while no wire is full or has a queue, goodput is a window per RTT.

    What was sent meanwhile is off by as much as the RTT is, and goodput by that share of it.
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
            f"no wire had a queue for {share} of what was sent, at an idle RTT of {_ms(found)}, not {_ms(wanted)}: "
            f"goodput is off by {_percent(off)}"
        )


def _has_queue(wire: Evidence) -> bool:
    """Return whether the qdisc holds more frames than its delay and its rate keep on their way."""
    if wire["delay_ns"] is None:
        return bool(wire["backlog"])
    on_their_way: float = wire["delay_ns"] / 1e9 * wire["rate_bps"] / (8 * wire["frame_bytes"])
    return bool(wire["backlog"] > on_their_way + 1)


def _dropped(samples: Sequence[Evidence]) -> Iterator[str]:
    dropped = samples[-1]["dropped"] - samples[0]["dropped"]
    if dropped:
        squeezed = samples[-1]["squeezed"] - samples[0]["squeezed"]
        yield f"the CPU's backlog dropped {dropped} frames (its softirq was squeezed {squeezed} times)"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
