"""Whether the machine was fast enough for a trial in real time: judged from what its monitor recorded.

Real time here promises 1 % of goodput and 0.2 ms of RTT. Every threshold follows from that promise; which rules there
are was settled with runs at hand:

- Before the workload, each link's idle RTT may differ from its delays and frame times by 0.2 ms, and a burst may differ
  from what the rate makes of it by 1 % and the 0.2 ms by which its ends are timed. The rate counts for workloads that
  fill a wire; a ping does not care.
- A timer that fires more than 0.2 ms late holds up whatever waits for it by more than the promise. The wake-ups are a
  sample of the trial's time: when more come late than 1 % of it explains, but by a chance of 5 %, the machine kept the
  trial waiting for longer than that. An RTT takes two timers, one each way: of two wake-ups in a row that are late by
  more than that together there may be one in ten. Then the median of five RTTs is off by more once in a hundred.
- For a workload that fills a wire, a CPU without idle time decides the figure in place of the network, unless a wire is
  at its full rate all the same.
- What other programs, or the machine below this kernel, take of the trial's CPU slows it by no more than that share.

Each share may be 1 % of the trial. A frame dropped by a CPU's backlog is one that no wire lost: none is allowed. Where
no link has a rate, the CPU's speed is what is measured: then it may be as busy, and its timers and its backlog as late
and as full, as it likes, as long as it is the trial's alone.

A softirq that was squeezed, a queue on a wire, or a wire's tail drops spoil nothing by themselves: they are evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import exp, lgamma, log, log1p
from typing import Any

__all__ = ["faults"]

SHARE = 0.01
CHANCE = 0.05  # of wake-ups that come late as often as these, though the share of time is no more than SHARE
RTT = 0.2e-3  # seconds
LATE_RTTS = 0.1  # the share of RTTs that two late timers may spoil: claims take a median of them
FRAME_OVERHEAD = 24  # bytes of a frame on the wire that a qdisc does not count
LEAST_TICKS = 5  # that a window has to have before none of them idle says anything
FRAME = 8 * 1538  # bits: windows begin and end between frames


def faults(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """Why the trial does not count, each reason with its figures; empty when it does."""
    wires, samples, tick = evidence["wires"], evidence["samples"], evidence["tick"]
    unloaded = (
        *_clock(evidence["clock"]["resolution_s"]),
        *_delays(wires),
        *(_rates(wires) if evidence["greedy"] else ()),
    )
    if not any(sample["wires"] for sample in samples):
        return (*unloaded, *_taken(samples, tick))
    return (
        *unloaded,
        *_wakeups(evidence["wakeups"]["late_ns"]),
        *_taken(samples, tick),
        *(_starved(samples, tick) if evidence["greedy"] else ()),
        *_dropped(samples),
    )


def _clock(resolution: float) -> Iterator[str]:
    if resolution > RTT:
        yield f"the clock moves {_ms(resolution)} at a time"


def _delays(wires: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """By link: both ways make its RTT."""
    links: dict[str, list[Mapping[str, Any]]] = {}
    for wire in wires:
        links.setdefault(wire["link"], []).append(wire)
    for link, ways in links.items():
        if any(way["delay_wanted"] is None for way in ways):
            continue
        if any(way["delay"] is None for way in ways):
            yield f"link {link}: no frame came through before the trial"
            continue
        found, wanted = (sum(way[key] for way in ways) for key in ("delay", "delay_wanted"))
        if abs(found - wanted) > RTT:
            yield f"link {link}: an idle RTT of {_ms(found)}, not {_ms(wanted)}"


def _rates(wires: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for wire in wires:
        found, wanted = wire["burst"], wire["burst_wanted"]
        if found is not None and abs(found - wanted) > SHARE * wanted + RTT:
            where = f"link {wire['link']}, {wire['direction']}"
            yield f"{where}: {wire['frames']} frames took {_ms(found)}, not {_ms(wanted)}"


def _wakeups(late_ns: Sequence[int]) -> Iterator[str]:
    late = sum(1 for each in late_ns if each > RTT * 1e9)
    if _tail(len(late_ns), late, SHARE) < CHANCE:
        worst = _ms(max(late_ns) / 1e9)
        yield f"timers fired more than {_ms(RTT)} late in {_percent(late / len(late_ns))} of cases, by up to {worst}"
        return
    pairs = [first + second for first, second in zip(late_ns[::2], late_ns[1::2], strict=False)]
    slow = sum(1 for each in pairs if each > RTT * 1e9)
    if slow > LATE_RTTS * len(pairs):
        share = _percent(slow / len(pairs))
        yield f"two timers, as an RTT takes, fired more than {_ms(RTT)} late together in {share} of cases"


def _tail(count: int, least: int, chance: float) -> float:
    """P(X >= least) where X is binomial."""
    below = 0.0
    for hits in range(least):
        ways = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
        below += exp(ways + hits * log(chance) + (count - hits) * log1p(-chance))
    return 1 - below


def _taken(samples: Sequence[Mapping[str, Any]], tick: float) -> Iterator[str]:
    """By others: what processes did beyond the trial's own, and what whoever runs this kernel gave to somebody else.

    A hypervisor may say so (steal). From a user-mode kernel it is taken without a word, and its account lacks the time.
    """
    first, last = samples[0], samples[-1]
    seconds = (last["ns"] - first["ns"]) / 1e9
    spent = {name: (last["cpu"][name] - first["cpu"][name]) * tick for name in first["cpu"]}
    others = sum(spent[name] for name in ("user", "nice", "system")) - (last["own"] - first["own"]) * tick
    lost = last["cpus"] * seconds - sum(spent.values()) + spent["steal"]
    coarse = 2 * tick * last["processes"]  # each one's user and system time is cut to whole ticks
    for what, taken, room in (("other programs", others, coarse), ("the machine below", lost, len(spent) * tick)):
        if taken > SHARE * seconds + room:
            yield f"{what} took {_percent(taken / seconds)} of the trial's CPU"


def _starved(samples: Sequence[Mapping[str, Any]], tick: float) -> Iterator[str]:
    """Between two samples: no tick of idle time, and no wire at its rate."""
    starved = 0.0
    for before, after in pairwise(samples):
        seconds = (after["ns"] - before["ns"]) / 1e9
        idle = sum(after["cpu"][name] - before["cpu"][name] for name in ("idle", "iowait"))
        if not idle and seconds > LEAST_TICKS * tick and not _full(before["wires"], after["wires"], seconds):
            starved += seconds
    total = (samples[-1]["ns"] - samples[0]["ns"]) / 1e9
    if starved > SHARE * total:
        yield f"the CPU had no idle time, and no wire was full, for {_percent(starved / total)} of the trial"


def _full(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], seconds: float) -> bool:
    for start, end in zip(before, after, strict=True):
        sent = 8 * (end["bytes"] - start["bytes"] + FRAME_OVERHEAD * (end["packets"] - start["packets"]))
        if sent + FRAME >= (1 - SHARE) * end["rate_bps"] * seconds:
            return True
    return False


def _dropped(samples: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    dropped = samples[-1]["dropped"] - samples[0]["dropped"]
    if dropped:
        squeezed = samples[-1]["squeezed"] - samples[0]["squeezed"]
        yield f"the CPU's backlog dropped {dropped} frames (its softirq was squeezed {squeezed} times)"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
