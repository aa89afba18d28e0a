"""Describe bonds, VLANs, tunnels, VRFs, declared routes and multicast groups in words and in iproute2's commands.

Networks are in plain form (`lab.units.to_plain`), as in records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.guest.network import LAST
from lab.units import Duration, Size

_Plain = Mapping[str, Any]
_NAMES = {"bond": "bond", "vlan": "VLAN", "gre": "GRE tunnel", "ipip": "IPIP tunnel", "vxlan": "VXLAN"}


def described(overlay: _Plain) -> str:
    """Describe a link that other links carry: its kind, the links that carry it, and its MTU."""
    kind, number = overlay["kind"], overlay.get("number")
    said = _NAMES[kind]
    if kind == "bond":
        said += f" {overlay['mode']} of {len(overlay['below'][0])} wires"
    elif number:
        said += f" with key {number}" if kind == "gre" else f" {number}"
    if "outer" in overlay:
        said += f" from {overlay['outer'][0]} to {overlay['outer'][1]}"
    elif kind == "vlan":
        said += f" over {' and '.join(dict.fromkeys(name for names in overlay['below'] for name in names))}"
    return f"{said}, MTU {overlay['ends'][0]['mtu']}"


def notes(network: _Plain) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for everything in a network that a picture of its wires does not show."""
    groups = {entry["group"] for node in network["nodes"] for entry in node.get("multicast", ())}
    for overlay in network.get("overlays", ()):
        ends = (f"{end['node']} {end['name']} {' '.join(end['addresses'])}" for end in overlay["ends"])
        yield overlay["name"], f"{described(overlay)}: {', '.join(ends)}"
    for node in network["nodes"]:
        for vrf in node.get("vrfs", ()):
            yield f"VRF {vrf['name']}", f"on {node['name']}: {', '.join(vrf['interfaces'])}"
        for route in node["routes"]:
            if route.get("declared") and not any(route["to"] == f"{group}/32" for group in groups):
                yield "route", f"of {node['name']}: {_route(route)}"
        for entry in node.get("multicast", ()):
            way = f"{entry['interface']} to {', '.join(entry['out'])}"
            yield "multicast", f"on {node['name']}: {entry['source']} to {entry['group']}, {way}"
    if network.get("neighbours") == "asked":
        yield "neighbours", "are asked for, with ARP and neighbour discovery"
    if network.get("names"):
        yield "names", f"resolve to {network['names'].replace('ip', 'IP')} only"


def commands(network: _Plain) -> Iterator[str]:
    """Yield the commands that build what other links carry, and the routes."""
    every = [end for link in (*network["links"], *network.get("overlays", ())) for end in link["ends"]]
    addresses = {(end["node"], end["name"]): [text for text in end["addresses"] if ":" in text] for end in every}
    for overlay in network.get("overlays", ()):
        yield f"# {overlay['name']}: {described(overlay)}"
        for side, end in enumerate(overlay["ends"]):
            yield from _created(overlay, end, side)
            yield from (f"ip -n {end['node']} address add {each} dev {end['name']}" for each in end["addresses"])
    for node in network["nodes"]:
        for vrf in node.get("vrfs", ()):
            yield f"ip -n {node['name']} link add {vrf['name']} up type vrf table {vrf['table']}"
            for version in ("", " -6"):
                last = f"unreachable default metric {LAST} table {vrf['table']}"
                yield f"ip -n {node['name']}{version} route add {last}"
            for name in vrf["interfaces"]:
                yield f"ip -n {node['name']} link set {name} master {vrf['name']}"
                for text in addresses[node["name"], name]:  # the port was down for a moment, and lost them
                    yield f"ip -n {node['name']} address replace {text} dev {name}"
        for route in node["routes"]:
            yield f"ip -n {node['name']} route replace {_route(route)}"
        if node.get("multicast"):
            yield f"# {node['name']} forwards multicast: a program such as smcrouted adds its entries"


def _created(overlay: _Plain, end: _Plain, side: int) -> Iterator[str]:
    node, name, kind, number = end["node"], end["name"], overlay["kind"], overlay.get("number", 0)
    below = overlay["below"][side]
    ip = f"ip -n {node} link"
    if kind == "bond":
        probe = Duration.of(overlay["probe"]) if "probe" in overlay else None
        peer = next((text.split("/")[0] for text in overlay["ends"][1 - side]["addresses"] if ":" not in text), "")
        watch = f"arp_interval {probe.ns // 10**6} arp_ip_target {peer}" if probe else "miimon 100"
        if overlay["mode"] == "802.3ad":
            watch += f" lacp_rate fast xmit_hash_policy {overlay.get('hash', 'layer2')}"
        yield f"{ip} add {name} address {end['mac']} type bond mode {overlay['mode']} {watch}"
        for wire in below:
            yield f"{ip} set {wire} down"
            yield f"{ip} set {wire} master {name}"
    elif kind == "vlan":
        yield f"{ip} add link {below[0]} name {name} type vlan id {number}"
    else:
        local, remote = overlay["outer"][side], overlay["outer"][1 - side]
        own = {"gre": f" key {number}" if number else "", "vxlan": f" id {number} dstport 4789"}.get(kind, "")
        yield f"{ip} add {name} type {kind}{own} local {local} remote {remote} ttl 64"
    yield f"{ip} set {name} mtu {Size.of(end['mtu']).bytes} up"


def _route(route: _Plain) -> str:
    """Return a route in the words of `ip route`."""
    said: str = route["to"] + (f" table {route['table']}" if "table" in route else "")
    if "hops" not in route:
        said += (f" via {route['via']}" if route["via"] else "") + f" dev {route['interface']}"
    said += "".join(f" {key} {route[key]}" for key in ("metric", "initcwnd", "initrwnd") if key in route)
    said += "".join(f" {key} {Size.of(route[key]).bytes}" for key in ("mtu", "advmss") if route[key])
    for hop in route.get("hops", ()):
        said += f" nexthop via {hop['via']} dev {hop['interface']} weight {hop['weight']}"
    return said
