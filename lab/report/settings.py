"""Say what an experiment, an arm or a point sets, and what it runs, as a network engineer would note it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.report import html
from lab.spec.task import Traffic
from lab.units import Duration, to_plain

__all__ = ["describe", "told", "traffic"]

_ABBREVIATIONS = frozenset({"gro", "gso", "mss", "mtu", "tso"})
_PLACES = {"ends": "at", "offloads": ""}  # keys of a topology file that say where, in words
_UNTOLD = ("kind", "contents")  # the one comes first, and the other is long: it is in trial.json
_MANY = 5  # equal workloads above which not each is named
_TIMES = frozenset({"coalescing", "delay", "jitter"})


def describe(changes: Any) -> str:
    """Say what an experiment, an arm or a point changes, as HTML."""
    parts = [f"{name} = {value}" for name, value in changes.sysctls.items()]
    parts += _settings({**changes.links, **changes.hosts})
    parts += [_task(box) for box in getattr(changes, "middleboxes", None) or ()]
    if variant := getattr(changes, "kernel", None):
        parts += [f"kernel from {variant.tree}"] if variant.tree else []
        parts += [f"kernel with {name}" for name in (*variant.patches, *variant.config)]
        parts += [f"HZ {variant.hz}"] if variant.hz else []
    if getattr(changes, "clock", None) == "real":
        parts.append("in real time")
    if base := getattr(changes, "relative_to", ""):
        parts.append(f"relative to {base}")
    return ", ".join(html.code(part) for part in parts)


def traffic(workload: Traffic) -> str:
    """Say who connects to whom, and what the workload sets, as text; of several, each by its name."""
    if parts := workload.parts():
        equals: dict[str, list[str]] = {}
        for part in parts:
            start = f", from {part.start} on" if part.start else ""
            equals.setdefault(traffic(part.workload) + start, []).append(part.name)
        return "; ".join(f"{_together(names)}: {said}" for said, names in equals.items())
    plain = dict(to_plain(workload))
    kind, *_ = (plain.pop(name, "") for name in ("kind", "client", "server", "ip", "contents"))
    if workload.writer().size is not None:
        plain.pop("duration", None)  # it only bounds what has no size
    said = [_setting(name, value) for name, value in plain.items() if getattr(workload, name)]
    return f"{kind.replace('_', ' ')}, {workload.client} connects to {workload.server}: {', '.join(said)}"


def _together(names: Sequence[str]) -> str:
    """Name all of a few; of many the first two and the last one, and how many they are."""
    return f"{names[0]}, {names[1]} … {names[-1]} ({len(names)})" if len(names) > _MANY else ", ".join(names)


def told(plain: Mapping[str, Any]) -> str:
    """Say settings in plain form as text: their kind, then key and value of each that is set."""
    kind = [str(plain["kind"])] if "kind" in plain else []
    given = {name: value for name, value in plain.items() if name not in _UNTOLD and value not in (None, "", [], {})}
    return ", ".join([*kind, *(_setting(name, value) for name, value in given.items())])


def _settings(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is set at each place, together."""
    places: dict[str, list[str]] = {}
    for where, setting in _leaves(fields):
        places.setdefault(where, []).append(setting)
    return (f"{where}: {', '.join(settings)}" for where, settings in places.items())


def _leaves(fields: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, " ".join(part for part in (where, _PLACES.get(name, name)) if part))
        else:
            yield where, _setting(name, value)


def _setting(name: str, value: Any) -> str:
    said = name.upper() if name in _ABBREVIATIONS else name
    if value is None:
        return f"unlimited {said}" if name == "rate" else f"no {said}"
    if isinstance(value, bool):
        return f"{said} {'on' if value else 'off'}"
    if name in _TIMES:
        time = Duration.of(value)
        return f"{said} {time}" if time else f"no {said}"
    return f"{said} {_amount(value)}"


def _task(task: Any) -> str:
    """Return a middlebox as its kind, where it is, and what it does there."""
    plain = dict(to_plain(task))
    kind, node = plain.pop("kind"), plain.pop("node")
    return f"{kind} at {node}: " + ", ".join(_setting(name, value) for name, value in plain.items())


def _amount(value: Any) -> str:
    """Return a quantity as it is, but a number of bytes or frames in groups of three digits; a list word by word."""
    if isinstance(value, Mapping):
        return f"({told(value)})"
    if isinstance(value, list | tuple):
        return " ".join(_amount(each) if isinstance(each, Mapping) else str(each) for each in value)
    number, _, unit = str(value).partition(" ")
    grouped = f"{int(number):,}" if number.isdecimal() and unit in ("", "B") else number
    return f"{grouped} {unit}".rstrip()
