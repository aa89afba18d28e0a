"""Convert Mininet's `Topo` to a topology of the lab, checked and resolved like a topology file.

The module converts hosts, switches and links, with a TCLink's settings in each direction: bw, delay, jitter, loss and
max_queue_size. A setting without an equivalent is reported as a mistake at its line. There are two differences from
Mininet: a rate counts the whole frame, and a host without an `ip` gets an address from its subnet.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.spec import python
from lab.spec.document import Document, Place
from lab.spec.errors import Problem, SpecError, display, suggestion
from lab.spec.topology import Topology, checked

PREFIX_LENGTH = 8  # Mininet's, for an address that gives none
# The units of netem's times (iproute2, get_time64) -> the lab's; a bare number is in nanoseconds.
TIMES = {"": "ns", "ns": "ns", "nsec": "ns", "nsecs": "ns", "us": "us", "usec": "us", "usecs": "us"}
TIMES |= {"ms": "ms", "msec": "ms", "msecs": "ms", "s": "s", "sec": "s", "secs": "s"}
# These values do not affect the frames on a link, or are true in the lab anyway.
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "use_htb": (True, False),
    "use_tbf": (False,),
    "use_hfsc": (False,),
    "enable_ecn": (False,),
    "enable_red": (False,),
    "gro": (False,),
    "disable_gro": (True,),
    "speedup": (0,),
    "stp": (False,),
    "inNamespace": (True,),
}
IGNORED = {"node1", "node2", "port1", "port2", "port", "isSwitch", "dpid", "protocols", "failMode"}


def load(path: Path, entry: str = "") -> Topology:
    """Return an entry of `topos` (default: the only entry) in a file for `mn --custom`. Raises SpecError for
    mistakes.
    """
    path = path.absolute()
    source = python.source_of(path)
    python.refuse_script(source, path, f", or take its network with `lab import {display(path)} -o NAME.yaml`")
    topos = getattr(python.run(source, path), "topos", None)
    if not isinstance(topos, dict) or not topos:
        message = "should define topos = {'name': Topo class or function}, as a file for `mn --custom` does"
        raise SpecError([Problem(display(path), 1, message)])
    if not entry and len(topos) > 1:
        raise SpecError(
            [Problem(display(path), 1, f"has {', '.join(topos)}; name one, like {path.name}:{next(iter(topos))}")]
        )
    entry = entry or next(iter(topos))
    if entry not in topos:
        raise SpecError([Problem(display(path), 1, f"topos has no '{entry}'{suggestion(entry, topos)}")])
    return convert(topos[entry], path)


def convert(make: Callable[[], Any], path: Path) -> Topology:
    """Return the topology that `make` builds. `make` is a Topo class, or a function that returns a Topo, from file
    `path`.

    Raises SpecError with every setting that has no equivalent.
    """
    with _noted(path) as lines, python.blamed(path):
        topo = make()
    if not all(hasattr(topo, name) for name in ("hosts", "switches", "iterLinks", "nodeInfo")):
        raise SpecError([Problem(display(path), 1, f"makes a {type(topo).__name__}, which is not a Mininet Topo")])
    found = _Conversion(topo, path, lines)
    found.run()
    if found.problems:
        raise SpecError(found.problems)
    return checked(Document(path, found.data, found.places))


@contextmanager
def _noted(path: Path) -> Iterator[dict[object, int]]:
    """Record the line of `path` that adds each node or link, in order. A link is noted as (node, node, key)."""
    lines: dict[object, int] = {}
    base = getattr(sys.modules.get("mininet.topo"), "Topo", None)
    if base is None:  # Mininet was not imported: `convert` reports that
        yield lines
        return
    add_node, add_link = base.addNode, base.addLink

    def noting_node(self: Any, name: str, **opts: Any) -> Any:
        lines[name] = _line(path)
        return add_node(self, name, **opts)

    def noting_link(self: Any, node1: str, node2: str, *args: Any, **opts: Any) -> Any:
        key = add_link(self, node1, node2, *args, **opts)
        lines[node1, node2, key] = _line(path)
        return key

    base.addNode, base.addLink = noting_node, noting_link
    try:
        yield lines
    finally:
        base.addNode, base.addLink = add_node, add_link


def _line(path: Path) -> int:
    frame = inspect.currentframe()
    while frame and frame.f_code.co_filename != str(path):
        frame = frame.f_back
    return frame.f_lineno if frame else 1


@dataclass
class _Conversion:
    topo: Any
    path: Path
    lines: Mapping[object, int]
    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Place, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def run(self) -> None:
        """Fill `data`, as a topology file would, and `places` with the lines."""
        about = (type(self.topo).__doc__ or "").strip().partition("\n")[0]
        hosts, switches = self.topo.hosts(), self.topo.switches()
        self.data = {"about": about or "A topology of Mininet's.", "hosts": {}, "switches": {}, "links": {}}
        self.addresses = {name: self._node(name) for name in (*hosts, *switches)}
        for kind, names in (("hosts", hosts), ("switches", switches)):
            for name in names:
                self.data[kind][name] = {}
                self.places[kind, name] = self.lines.get(name, 1)
        links = {(a, b, key): info for a, b, key, info in self.topo.iterLinks(withKeys=True, withInfo=True)}
        for number, link in enumerate(sorted(links, key=list(self.lines).index)):
            self._link(number, *link[:2], links[link], self.lines[link])

    def _node(self, name: str) -> str | None:
        """Check a node's parameters, and return its address if the parameters include one."""
        params = dict(self.topo.nodeInfo(name))
        address: str | None = params.pop("ip", None)
        self._note(refused(params), self.lines.get(name, 1), f"node '{name}'")
        return address

    def _link(self, number: int, first: str, second: str, info: Mapping[str, Any], line: int) -> None:
        name = f"{first}-{second}" if f"{first}-{second}" not in self.data["links"] else f"{first}-{second}-{number}"
        shared = {key: value for key, value in info.items() if key not in ("params1", "params2")}
        ends, ways = {}, []
        for node, own in ((first, info.get("params1")), (second, info.get("params2"))):
            params = {**shared, **(own or {})}
            given = params.pop("ip", None) or self.addresses.pop(node, None)
            ends[node] = {"addresses": [_address(given)]} if given else {}
            said, messages = direction(params)
            ways.append(said)
            self._note(messages, line, f"link {name}")
        self.data["links"][name] = {"ends": ends, "forward": ways[0], "back": ways[1]}
        self.places["links", name] = line

    def _note(self, messages: Iterable[str], line: int, where: str) -> None:
        for message in messages:
            problem = Problem(display(self.path), line, f"{where}: {message}")
            if problem not in self.problems:
                self.problems.append(problem)


def direction(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a TCLink's parameters for one direction, with a topology file's keys, and what has no equivalent."""
    words: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "bw": ("rate", lambda bw: f"{bw} Mbit/s"),
        "delay": ("delay", _duration),
        "jitter": ("jitter", _duration),
        "loss": ("loss", lambda share: f"{share} %"),
        "max_queue_size": ("limit", int),
    }
    said: dict[str, Any] = {}
    messages: list[str] = []
    for key, (word, convert) in words.items():
        value = params.get(key)
        if value is not None:
            try:
                said[word] = convert(value)
                if word == "loss":
                    float(value)
            except (ValueError, TypeError):
                said.pop(word, None)
                messages.append(f"{key}={value!r} is no {word}")
    messages += refused({key: value for key, value in params.items() if key not in words})
    kept = {word: value for word, value in said.items() if not (word in ("delay", "jitter", "loss") and _zero(value))}
    return kept, messages


def refused(params: Mapping[str, Any]) -> list[str]:
    """Return a message for each parameter of a node or a link that has no equivalent in a topology."""
    messages: list[str] = []
    for key, value in params.items():
        if key in IGNORED or value is None or value in NEUTRAL.get(key, ()):
            continue
        if key.startswith("cls") and getattr(value, "__module__", "").startswith("mininet."):
            continue  # Mininet's own classes of host, switch and link: the lab has its own
        shown = getattr(value, "__name__", None) or repr(value)
        messages.append(f"{key}={shown} has no equivalent here")
    return messages


def _duration(value: object) -> str:
    match = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(value))
    if match is None or match.group(2) not in TIMES:
        raise ValueError(value)
    return f"{match.group(1)} {TIMES[match.group(2)]}"


def _zero(value: str) -> bool:
    return not float(value.split()[0])


def _address(text: str) -> str:
    return text if "/" in text else f"{text}/{PREFIX_LENGTH}"
