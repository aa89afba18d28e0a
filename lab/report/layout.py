"""Lay out a network for a picture, in SVG or in text: distances between nodes, and the settings of links.

Networks are in plain form (`lab.units.to_plain`), as in records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.base import ethernet
from lab.report.wording import plural
from lab.units import Rate, Size

_FEW = 4  # delays by destination that are named one by one


def columns(network: Mapping[str, Any], start: str) -> list[list[str]]:
    """Return node names by the number of hops from `start`. Unreachable nodes come last."""
    names = [node["name"] for node in network["nodes"]]
    near = {name: {other for other, _ in neighbours(network, name)} for name in names}
    found, seen = [[start]], {start}
    while further := sorted({other for name in found[-1] for other in near[name]} - seen):
        found.append(further)
        seen.update(further)
    rest = [name for name in names if name not in seen]
    return [*found, rest] if rest else found


def neighbours(network: Mapping[str, Any], node: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (other node, link) for every link of `node`, in the file's order."""
    for link in network["links"]:
        first, second = (end["node"] for end in link["ends"])
        if node in (first, second):
            yield (second if node == first else first), link


def direction(way: Mapping[str, Any]) -> str:
    """Return one direction in words: its rate, delay, and all other differences from an ideal wire."""
    parts = [way["rate"] or (f"trace {way['trace']['file']}" if "trace" in way else "unlimited")]
    if not str(way["delay"]).startswith("0 "):
        parts.append(f"delay {way['delay']}")
    parts += _delays(way.get("delays", ()))
    if not str(way["jitter"]).startswith("0 "):
        kind = f" {way['distribution']['name']}" if "distribution" in way else ""
        parts.append(f"jitter {way['jitter']}{kind}{' in order' if 'in_order' in way else ''}")
    parts += [
        f"{name} {100 * way[name]:g} %{_more(name, way)}" for name in ("loss", "reorder", "duplicate") if way[name]
    ]
    if "burst_loss" in way:
        parts.append("loss in bursts")
    if "corrupt" in way:
        parts.append(f"corrupt {100 * way['corrupt']:g} %")
    parts += _changes(way.get("changes", ()))
    held = _queue(way["queue"]) if "queue" in way else _limit(way)
    return ", ".join([*parts, f"MTU {way['mtu']}", held])


def _changes(changes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how many changes come once, and how often each of the others comes."""
    once = [each for each in changes if not {"every", "every_about"} & set(each)]
    if once:
        yield plural(len(once), "change")
    for each in changes:
        if each not in once:
            gap = f"every {each['every']}" if "every" in each else f"by chance, about every {each['every_about']}"
            yield f"a change {gap}" + (f", {each['times']} times" if "times" in each else "")


def _more(name: str, way: Mapping[str, Any]) -> str:
    """Return what else netem has for a share: a correlation, or a gap."""
    if name == "loss" and "loss_correlation" in way:
        return f" correlation {100 * way['loss_correlation']:g} %"
    return f" gap {way['reorder_gap']}" if name == "reorder" and "reorder_gap" in way else ""


def _delays(delays: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the delay to each destination, or how many there are."""
    if len(delays) > _FEW:
        yield f"{len(delays)} delays by destination"
        return
    yield from (f"delay {each['delay']} to {each['to']}" for each in delays)


def _queue(queue: Mapping[str, Any]) -> str:
    """Return a queue's kind; for a token bucket also its own rate, and its burst."""
    given = dict(queue["parameters"])
    shown = ("rate", "burst") if queue["kind"] in ("tbf", "htb") else ()
    return " ".join([queue["kind"], *(f"{key} {given[key]}" for key in shown if key in given)])


def _limit(way: Mapping[str, Any]) -> str:
    """Return the number of frames that a plain wire holds, and the time of as many full frames at the wire's rate."""
    if not way["rate"]:
        return f"limit {way['limit']:,}"
    frame = Size(Size.of(way["mtu"]).bytes + ethernet.AROUND)
    seconds = float(way["limit"] * Rate.of(way["rate"]).time_for(frame))
    return f"limit {way['limit']:,} ({f'{seconds:.3g} s' if seconds >= 1 else f'{1000 * seconds:.3g} ms'})"
