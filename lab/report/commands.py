"""Convert a trial's network to shell commands that build a similar network with iproute2, tc, ethtool and sysctl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from lab.base import ethernet
from lab.report import overlays
from lab.units import Duration, Size

_Plain = Mapping[str, Any]

_WORDS = ("diffserv", "isolation", "ack_filter")  # cake's options that have a value without a name
_CHANCES = ("loss", "duplicate", "reorder")


def commands(network: _Plain, qdiscs: Sequence[_Plain]) -> str:
    """Return the commands for a network in plain form. `qdiscs` are the wires' qdiscs, as the trial read them back."""
    return "\n".join([*_hosts(network), *_links(network), *_wires(network, qdiscs), *_settings(network)])


def _hosts(network: _Plain) -> Iterator[str]:
    yield "# each host and each link is a network namespace"
    for each in (*network["nodes"], *network["links"]):
        yield f"ip netns add {each['name']}"


def _links(network: _Plain) -> Iterator[str]:
    for number, link in enumerate(network["links"]):
        yield f"# link {link['name']}: a veth pair to each end"
        for side, end in zip("ab", link["ends"], strict=True):
            node, name = end["node"], end["name"]
            peer = f"peer name w{number}{side} netns {link['name']}"
            yield f"ip link add {name} netns {node} address {end['mac']} mtu {_bytes(end['mtu'])} type veth {peer}"
            yield from (f"ip -n {node} address add {address} dev {name}" for address in end["addresses"])
            yield f"ip -n {node} link set {name} up"
            yield f"ip -n {link['name']} link set w{number}{side} up"
            offloads = " ".join(f"{key} {'on' if on else 'off'}" for key, on in sorted(end["offloads"].items()))
            yield f"ip netns exec {node} ethtool -K {name} {offloads}"
            if end["gso_max_segs"]:
                yield f"ip -n {node} link set {name} gso_max_segs {end['gso_max_segs']}"
            if waits := Duration.of(end.get("gro_flush_timeout", "0 ns")).ns:
                for file, value in (
                    ("gro_flush_timeout", waits),
                    ("napi_defer_hard_irqs", end["napi_defer_hard_irqs"]),
                ):
                    yield f"ip netns exec {node} sh -c 'echo {value} > /sys/class/net/{name}/{file}'"


def _wires(network: _Plain, qdiscs: Sequence[_Plain]) -> Iterator[str]:
    """Yield the commands for each direction: frames that enter on one side leave on the other, through the wire's
    qdiscs.
    """
    staged = {(each["node"], each["interface"]) for each in qdiscs if each["interface"].startswith("q")}
    for each in qdiscs:
        way, leaves = each["node"], each["interface"]
        if (way, leaves) in staged:
            yield from _queue(network, way, leaves, each["direction"])
            continue
        if leaves[-1] in "ab" and leaves.startswith("w"):
            enters = leaves[:-1] + ("a" if leaves.endswith("b") else "b")
            inward, outward = f"q{leaves[1:]}", f"p{leaves[1:]}"
            yield f"# {way}, {each['direction']}"
            yield from _beyond_tc(network, each)
            if (way, inward) in staged:
                yield f"ip link add {inward} netns {way} type veth peer name {outward} netns {way}"
                yield from (f"ip -n {way} link set {end} up" for end in (inward, outward))
                yield from _redirect(way, enters, inward)
                enters = outward
            yield from _redirect(way, enters, leaves)
        if (table := _direction(network, each).get("distribution", {})).get("table"):
            yield f"# {table['name']}: tc needs this table as a file of its own, {table['name']}.dist (tc-netem(8))"
        if "delays" in each["options"]:
            yield from _by_destination(network, way, leaves, each)
            continue
        netem = each["kind"] == "netem"
        said = _netem(_own(network, each)) if netem else _tbf(each["options"], _mtu(network, way, leaves))
        yield f"tc -n {way} qdisc add dev {leaves} root {each['kind']} {said}"


def _beyond_tc(network: _Plain, wire: _Plain) -> Iterator[str]:
    """Yield a comment for each setting of a direction that these commands do not make."""
    direction = _direction(network, wire)
    if trace := direction.get("trace"):
        yield f"# the trace {trace['file']!a} decides when a frame leaves: tc has no qdisc for this"
    ends = next((link["ends"] for link in network["links"] if link["name"] == wire["node"]), ())
    if ends and _bytes(direction["mtu"]) < max(_bytes(end["mtu"]) for end in ends):
        yield f"# a packet of more than {direction['mtu']} is lost"
    for change in direction.get("changes", ()):
        yield f"# a change, which tc does not make by itself: {', '.join(_said(change))}"


def _said(change: _Plain) -> Iterator[str]:
    """Yield a change's settings in words."""
    yield f"at {change['at']}"
    for key, value in change.items():
        if key == "loss":
            yield f"loss {100 * value:g}%"
        elif key == "shared":
            yield "in both directions at once"
        elif key != "at" and value is not None:
            yield f"{key.replace('_', ' ')} {value}"


def _own(network: _Plain, wire: _Plain) -> _Plain:
    """Return the options of a wire's netem, with the jitter that tc needs for a distribution of this name."""
    direction = _direction(network, wire)
    if "distribution" not in direction:
        return dict(wire["options"])
    return {**wire["options"], "jitter": direction["jitter"], "distribution": direction["distribution"]["name"]}


def _direction(network: _Plain, wire: _Plain) -> _Plain:
    """Return the direction of a wire, or an empty mapping for a network card."""
    links = (each for each in network["links"] if each["name"] == wire["node"])
    return next((each[wire["direction"]] for each in links), {})


def _by_destination(network: _Plain, link: str, interface: str, wire: _Plain) -> Iterator[str]:
    """Yield the commands for a netem for each delay, and for the filters that choose one by the destination."""
    tc = f"tc -n {link}"
    delays = wire["options"]["delays"]
    yield f"{tc} qdisc add dev {interface} root handle 1: prio bands {max(2, len(delays))} priomap {' '.join('0' * 16)}"
    for number, delay in enumerate(delays, 1):
        said = _netem({**_own(network, wire), "delay": delay})
        yield f"{tc} qdisc add dev {interface} parent 1:{number} netem {said}"
    direction = next(each[wire["direction"]] for each in network["links"] if each["name"] == link)
    for number, each in enumerate(direction["delays"], 1):
        kind = "ipv6" if ":" in each["to"] else "ip"
        chosen = f"flower dst_ip {each['to']} classid 1:{delays.index(each['delay']) + 1}"
        yield f"{tc} filter add dev {interface} parent 1: protocol {kind} prio {number} {chosen}"


def _redirect(node: str, enters: str, leaves: str) -> Iterator[str]:
    yield f"tc -n {node} qdisc add dev {enters} ingress"
    yield f"tc -n {node} filter add dev {enters} ingress matchall action mirred egress redirect dev {leaves}"


def _queue(network: _Plain, link: str, interface: str, way: str) -> Iterator[str]:
    """Yield the commands for the queue in front of a direction's wire, below a class that releases frames one by
    one.
    """
    direction = next(each[way] for each in network["links"] if each["name"] == link)
    tc = f"tc -n {link}"
    place = "root"
    queue = direction["queue"]
    if queue["kind"] in ("tbf", "htb"):
        yield from _bucket(tc, interface, direction)
        return
    if direction["rate"]:
        rate = f"rate {_tight(direction['rate'])} overhead {ethernet.OVERHEAD} burst 1 cburst 1"
        yield f"{tc} qdisc add dev {interface} root handle 1: htb default 1"
        yield f"{tc} class add dev {interface} parent 1: classid 1:1 htb {rate}"
        place = "parent 1:1"
    yield " ".join([f"{tc} qdisc add dev {interface} {place} {queue['kind']}", *map(_option, queue["parameters"])])


def _bucket(tc: str, interface: str, direction: _Plain) -> Iterator[str]:
    """Yield the commands for a token bucket, which counts whole frames if it has the direction's rate."""
    given = dict(direction["queue"]["parameters"])
    limit = given.pop("limit", 1000)
    if "rate" not in given:
        given = {"rate": direction["rate"], "overhead": f"{ethernet.OVERHEAD} B", **given}
    if direction["queue"]["kind"] == "tbf":
        given |= {} if "latency" in given else {"limit": limit}
        yield " ".join([f"{tc} qdisc add dev {interface} root tbf", *map(_option, given.items())])
        return
    yield f"{tc} qdisc add dev {interface} root handle 1: htb default 1"
    options = " ".join(map(_option, given.items()))
    yield f"{tc} class add dev {interface} parent 1: classid 1:1 htb {options}"
    yield f"{tc} qdisc add dev {interface} parent 1:1 pfifo limit {limit}"


def _option(parameter: Sequence[Any]) -> str:
    key, value = parameter
    if isinstance(value, bool):
        return str(key) if value else f"no{key}"
    if key in _WORDS:
        return quote(str(value))
    return f"{key} {_bytes(value) if str(value).endswith('B') else quote(_tight(value))}"


def _mtu(network: _Plain, node: str, interface: str) -> int:
    """Return the MTU of a host's interface."""
    ends = (end for link in network["links"] for end in link["ends"])
    mine = (end for end in ends if (end["node"], end["name"]) == (node, interface))
    return _bytes(next(mine)["mtu"])


def _tbf(options: _Plain, mtu: int) -> str:
    """Return the tbf options for a network card, with a burst of two frames."""
    overhead = _bytes(options["overhead"])
    burst = 2 * (mtu + ethernet.HEADER + overhead)
    return f"rate {_tight(options['rate'])} burst {burst} limit {_bytes(options['limit'])} overhead {overhead}"


def _netem(options: _Plain) -> str:
    said = []
    delay, jitter = _tight(options["delay"]), _tight(options["jitter"])
    if delay != "0ns" or jitter != "0ns":
        correlated = options.get("jitter_correlation")
        alike = f" {_share(correlated)}" if correlated else ""
        said.append(f"delay {delay}" + (f" {jitter}{alike}" if jitter != "0ns" else ""))
        said += [f"distribution {quote(options['distribution'])}"] if "distribution" in options else []
    more = {"loss": "", "duplicate": "", "reorder": ""}
    if correlation := options.get("loss_correlation"):
        more["loss"] = f" {_share(correlation)}"
    if gap := options.get("reorder_gap"):
        more["reorder"] = f" gap {gap}"
    said += [f"{key} {_share(options[key])}{more[key]}" for key in _CHANCES if options[key]]
    if burst := options.get("burst_loss"):
        said.append(f"loss gemodel {' '.join(map(_share, burst))}")
    if corrupt := options.get("corrupt"):
        said.append(f"corrupt {_share(corrupt)}")
    if slot := options.get("slot"):
        said.append(_slot(*slot))
    if options["rate"]:
        said.append(f"rate {_tight(options['rate'])} {_bytes(options['overhead'])}")
    said.append(f"limit {options['limit']}")
    chances = (*(options[key] for key in _CHANCES), options.get("burst_loss"), options.get("corrupt"))
    if options.get("seed") and (jitter != "0ns" or any(chances) or (slot and slot[0] != slot[1])):
        said.append(f"seed {int(options['seed'], 16)}")
    return " ".join(said)


def _slot(least: str, most: str, packets: int, size: int) -> str:
    """Return a slot for tc. Its zeros mean any number."""
    limits = "".join(f" {name} {value}" for name, value in (("packets", packets), ("bytes", size)) if value)
    return f"slot {_tight(least)} {_tight(most)}{limits}"


def _share(share: float) -> str:
    """Return a share in tc's form: 0.01 as 1%."""
    return f"{100 * share:g}%"


def _bytes(size: str) -> int:
    """Return a size in plain form as a number of bytes."""
    return Size.of(size).bytes


def _tight(value: object) -> str:
    """Return a quantity in tc's form: 100 ms as 100ms, 1 Gbit/s as 1gbit."""
    return str(value).replace(" ", "").replace("bit/s", "bit").replace("Gbit", "gbit").replace("Mbit", "mbit")


def _settings(network: _Plain) -> Iterator[str]:
    for node in network["nodes"]:
        if node["sysctls"]:
            yield f"# {node['name']}"
        for key, value in sorted(node["sysctls"].items()):
            yield f"ip netns exec {node['name']} sysctl -w {key}={quote(str(value))}"
    yield from overlays.commands(network)
