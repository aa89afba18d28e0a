"""Say a trial's network as the shell commands that make one like it, with iproute2, tc, ethtool and sysctl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

__all__ = ["commands"]

Plain = Mapping[str, Any]


def commands(network: Plain, qdiscs: Sequence[Plain]) -> str:
    """Return the commands for a network in plain form; `qdiscs` are the wires', as the trial read them back."""
    return "\n".join([*_hosts(network), *_links(network), *_wires(qdiscs), *_settings(network)])


def _hosts(network: Plain) -> Iterator[str]:
    yield "# each host and each link is a network namespace"
    for each in (*network["nodes"], *network["links"]):
        yield f"ip netns add {each['name']}"


def _links(network: Plain) -> Iterator[str]:
    for number, link in enumerate(network["links"]):
        yield f"# link {link['name']}: a veth pair to each end"
        for side, end in zip("ab", link["ends"], strict=True):
            node, name = end["node"], end["name"]
            mtu = end["mtu"].removesuffix(" B")
            peer = f"peer name w{number}{side} netns {link['name']}"
            yield f"ip link add {name} netns {node} address {end['mac']} mtu {mtu} type veth {peer}"
            yield from (f"ip -n {node} address add {address} dev {name}" for address in end["addresses"])
            yield f"ip -n {node} link set {name} up"
            yield f"ip -n {link['name']} link set w{number}{side} up"
            offloads = " ".join(f"{key} {'on' if on else 'off'}" for key, on in sorted(end["offloads"].items()))
            yield f"ip netns exec {node} ethtool -K {name} {offloads}"
            if end["gso_max_segs"]:
                yield f"ip -n {node} link set {name} gso_max_segs {end['gso_max_segs']}"


def _wires(qdiscs: Sequence[Plain]) -> Iterator[str]:
    """Yield each direction: what comes in at one side leaves at the other, through its qdisc."""
    for each in qdiscs:
        way, leaves = each["node"], each["interface"]
        if leaves[-1] in "ab" and leaves.startswith("w"):
            enters = leaves[:-1] + ("a" if leaves.endswith("b") else "b")
            yield f"# {way}, {each['direction']}"
            yield f"tc -n {way} qdisc add dev {enters} ingress"
            yield f"tc -n {way} filter add dev {enters} ingress matchall action mirred egress redirect dev {leaves}"
        yield f"tc -n {way} qdisc add dev {leaves} root {each['kind']} {_options(each)}".rstrip()


def _options(qdisc: Plain) -> str:
    options = dict(qdisc.get("options", {}))
    if qdisc["kind"] != "netem":
        return " ".join(f"{key} {_tight(value)}" for key, value in options.items())
    said = []
    delay, jitter = _tight(options["delay"]), _tight(options["jitter"])
    if delay != "0ns" or jitter != "0ns":
        said.append(f"delay {delay}" + (f" {jitter}" if jitter != "0ns" else ""))
    said += [f"{key} {100 * options[key]:g}%" for key in ("loss", "duplicate", "reorder") if options[key]]
    if options["rate"]:
        said.append(f"rate {_tight(options['rate'])} {options['overhead'].removesuffix(' B')}")
    said.append(f"limit {options['limit']}")
    if options.get("seed"):
        said.append(f"seed {int(options['seed'], 16)}")
    return " ".join(said)


def _tight(value: object) -> str:
    """Return a quantity as tc takes it: 100 ms as 100ms, 1 Gbit/s as 1gbit."""
    return str(value).replace(" ", "").replace("bit/s", "bit").replace("Gbit", "gbit").replace("Mbit", "mbit")


def _settings(network: Plain) -> Iterator[str]:
    for node in network["nodes"]:
        if node["sysctls"]:
            yield f"# {node['name']}"
        for key, value in sorted(node["sysctls"].items()):
            yield f"ip netns exec {node['name']} sysctl -w {key}={quote(str(value))}"
        for route in node["routes"]:
            via = f" via {route['via']}" if route["via"] else ""
            more = "".join(f" {key} {str(route[key]).removesuffix(' B')}" for key in ("mtu", "advmss") if route[key])
            yield f"ip -n {node['name']} route replace {route['to']}{via} dev {route['interface']}{more}"
