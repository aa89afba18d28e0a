"""Check that the nodes, interfaces, links and congestion controls that a case's tasks name exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, structs

from lab.guest.network import Kind, Network
from lab.guest.probe import Capture, ExpertInfo
from lab.spec.errors import instead

NODES = ("client", "server", "node", "host")  # fields that name one
SEVERAL = "others"  # names several
INTERFACES = ("interface", "inside")
_PLACES = ("node", "interface", "link", "way")  # what names a probe's file
SYSCTL = "net.ipv4.tcp_congestion_control"
# The names of the `tcp_congestion_ops` in Linux's net/ipv4. A kernel may be built without some of them.
CONGESTION_CONTROLS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno", "scalable"),
    *("vegas", "veno", "westwood", "yeah"),
)


def mistakes(network: Network, tasks: Iterable[object], any_control: bool) -> Iterator[str]:
    """Yield a message for each name that the network does not have. With `any_control`, accept any congestion
    control.
    """
    for task in tasks:
        where = type(task).__name__
        for field, name, known in _known(network, task):
            if name not in known and not (field in (*NODES, SEVERAL) and network.end(name)):
                what = "host" if field in (*NODES, SEVERAL) else "link" if field == "link" else "interface"
                given = ", its default" if _is_default(task, field, name) else ""
                yield f"{where}.{field}: unknown {what} '{name}'{given}{instead(name, known)}"
        control = getattr(task, "congestion", None)
        if isinstance(control, str) and not any_control:
            yield from (f"{where}.congestion: {message}" for message in _unknown(control))
    for node in network.nodes if not any_control else ():
        where = f"hosts.{node.name}.sysctls.{SYSCTL}"
        yield from (f"{where}: {message}" for message in unknown_control(node.sysctls))


def hosts_of(network: Network) -> list[str]:
    """Return the names of all nodes that are not switches, in order."""
    return [node.name for node in network.nodes if node.kind is not Kind.SWITCH]


def mistakes_in_path(network: Network, path: tuple[str, str]) -> Iterator[str]:
    """Yield a message if the topology does not have both hosts of a path."""
    hosts = hosts_of(network)
    missing = [name for name in path if name not in hosts and not network.end(name)]
    if missing:
        names = " and ".join(f"'{name}'" for name in missing)
        yield f"path: the topology has no host {names}; set path=(from, to) to two of {', '.join(hosts)}"


def mistakes_in_probes(probes: Iterable[object]) -> Iterator[str]:
    """Yield a message for each probe that would write the same file as an earlier one."""
    seen: set[tuple[object, ...]] = set()
    for probe in probes:
        kind = Capture if isinstance(probe, ExpertInfo) else type(probe)  # tshark reads a capture
        places = {name: getattr(probe, name) for name in _PLACES if hasattr(probe, name)}
        if (kind, *places.values()) in seen:
            where = ", ".join(f"{name}='{value}'" for name, value in places.items())
            yield f"{type(probe).__name__}({where}) writes the same file as an earlier probe; leave one out"
        seen.add((kind, *places.values()))


def _known(network: Network, task: object) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each field of the task that names a part of the network, with the name, and the names that exist."""
    nodes = hosts_of(network)
    for field in NODES:
        if isinstance(name := getattr(task, field, None), str):
            yield field, name, nodes
    for name in getattr(task, SEVERAL, ()):
        yield SEVERAL, name, nodes
    node = getattr(task, "node", None)
    if node in nodes or (isinstance(node, str) and network.end(node)):
        for field in INTERFACES:
            if isinstance(name := getattr(task, field, None), str):
                own = network.interfaces(network.node(node).name)
                yield field, name, ["lo", *(interface.name for interface in own)]
    if isinstance(name := getattr(task, "link", None), str):
        yield "link", name, [link.name for link in network.links]


def _is_default(task: object, field: str, name: str) -> bool:
    known = structs.fields(task) if isinstance(task, Struct) else ()
    return any(each.name == field and each.default == name for each in known)


def unknown_control(sysctls: Mapping[str, str]) -> Iterator[str]:
    """Yield a message if these sysctls set a congestion control that Linux does not have."""
    if SYSCTL in sysctls:
        yield from _unknown(sysctls[SYSCTL])


def _unknown(control: str) -> Iterator[str]:
    if control not in CONGESTION_CONTROLS:
        yield f"unknown congestion control '{control}'{instead(control, CONGESTION_CONTROLS)}"
