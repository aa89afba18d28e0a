"""Describe the settings and programs of an experiment, an arm or a point in a network engineer's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.guest.task import Traffic
from lab.report import html
from lab.units import Duration, to_plain

# TCP settings that each page shows: the name on the page, and the sysctl
TCP_SETTINGS = (
    ("congestion control", "net.ipv4.tcp_congestion_control"),
    ("tcp_rmem", "net.ipv4.tcp_rmem"),
    ("tcp_wmem", "net.ipv4.tcp_wmem"),
    ("timestamps", "net.ipv4.tcp_timestamps"),
    ("SACK", "net.ipv4.tcp_sack"),
    ("window scaling", "net.ipv4.tcp_window_scaling"),
)
_ABBREVIATIONS = frozenset({"gro", "gso", "mss", "mtu", "tso"})
_PLACES = {"ends": "at", "offloads": ""}  # keys of a topology file that name a place -> words
_UNTOLD = ("kind", "contents")  # the kind comes first, and the contents are long (they are in trial.json)
_MANY = 5  # the most equal workloads of which each is named
_TIMES = frozenset({"coalescing", "delay", "jitter"})

_DIGITS = 20  # only numbers with fewer digits are grouped by thousands


def describe(changes: Any) -> str:
    """Return the changes of an experiment, an arm or a point, as HTML."""
    parts = [f"{name} = {value}" for name, value in changes.sysctls.items()]
    parts += _settings({**changes.links, **changes.hosts})
    parts += [_task(box) for box in getattr(changes, "middleboxes", None) or ()]
    if variant := getattr(changes, "kernel", None):
        parts += [f"kernel from {variant.tree}"] if variant.tree else []
        parts += [f"kernel with {name}" for name in (*variant.patches, *variant.config)]
        parts += [f"HZ {variant.hz}"] if variant.hz else []
    if getattr(changes, "clock", None) == "real":
        parts.append("in real time")
    if drawn := getattr(changes, "drawn", None):
        parts.append(str(drawn))
    if base := getattr(changes, "relative_to", ""):
        parts.append(f"relative to {base}")
    return ", ".join(html.code(part) for part in parts)


def traffic(workload: Traffic) -> str:
    """Return the workload's ends and settings as text. If there are several workloads, each one is named."""
    if parts := workload.parts():
        equals: dict[str, list[str]] = {}
        for part in parts:
            start = f", from {part.start} on" if part.start else ""
            equals.setdefault(traffic(part.workload) + start, []).append(part.name)
        return "; ".join(f"{_together(names)}: {said}" for said, names in equals.items())
    plain = dict(to_plain(workload))
    kind, *_ = (plain.pop(name, "") for name in ("kind", "client", "server", "ip", "contents"))
    if workload.writer().size is not None:
        plain.pop("duration", None)  # the duration only bounds workloads without a size
    said = [_setting(name, value) for name, value in plain.items() if getattr(workload, name)]
    return f"{kind.replace('_', ' ')}, {workload.client} connects to {workload.server}: {', '.join(said)}"


def _together(names: Sequence[str]) -> str:
    """Return all names if they are few, else the first two names, the last name, and the number of names."""
    return f"{names[0]}, {names[1]} … {names[-1]} ({len(names)})" if len(names) > _MANY else ", ".join(names)


def told(plain: Mapping[str, Any]) -> str:
    """Return settings in plain form as text: their kind, then the key and value of each setting."""
    kind = [str(plain["kind"])] if "kind" in plain else []
    given = {name: value for name, value in plain.items() if name not in _UNTOLD and value not in (None, "", [], {})}
    return ", ".join([*kind, *(_setting(name, value) for name, value in given.items())])


def _settings(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings at each place in the topology."""
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
    if name in _TIMES and not isinstance(value, Mapping):
        time = Duration.of(value)
        return f"{said} {time}" if time else f"no {said}"
    return f"{said} {_amount(value)}"


def _task(task: Any) -> str:
    """Return a middlebox's kind, place and settings."""
    plain = dict(to_plain(task))
    kind, node = plain.pop("kind"), plain.pop("node")
    return f"{kind} at {node}: " + ", ".join(_setting(name, value) for name, value in plain.items())


def _amount(value: Any) -> str:
    """Return a quantity as written, a number of bytes or frames with digits in groups of three, and a list as words."""
    if isinstance(value, Mapping):
        return f"({told(value)})"
    if isinstance(value, list | tuple):
        return " ".join(_amount(each) if isinstance(each, Mapping) else str(each) for each in value)
    number, _, unit = str(value).partition(" ")
    grouped = f"{int(number):,}" if number.isdecimal() and len(number) < _DIGITS and unit in ("", "B") else number
    return f"{grouped} {unit}".rstrip()
