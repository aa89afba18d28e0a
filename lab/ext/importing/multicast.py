"""Read static multicast routes, and declare the groups that they forward.

Sources: smcroute's manual pages smcroutectl(8) and smcroute(8).
"""

from __future__ import annotations

import ipaddress

from lab.ext.importing.domains import FrameDomains, standing
from lab.ext.importing.draft import Draft
from lab.ext.importing.found import FoundGroup, FoundNetwork
from lab.ext.importing.where import Where

_ADDING = ("add", "a", "-a")


def smcroute(network: FoundNetwork, words: list[str], where: Where, space: str) -> None:
    """Apply `smcroutectl add IIF SOURCE GROUP OIF...`. Raises ValueError for a route without a source."""
    at = next((number for number, word in enumerate(words) if word in _ADDING), None)
    if at is None:
        return  # joins, and the daemon itself
    came, rest = words[at + 1], words[at + 2 :]
    addresses = [each for each in rest if _is_address(each)]
    if len(addresses) != 2:
        raise ValueError("a route of a group needs a source and the group; a topology's groups have one source each")
    source, group = addresses
    out = tuple(each for each in rest if each not in addresses)
    network.groups.append(FoundGroup(space, came, str(ipaddress.ip_address(source)), group, out, where))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def declare_groups(made: Draft, network: FoundNetwork) -> None:
    """Add the file's multicast groups to a draft. Their receivers are the nodes at the ends of the routes."""
    owners = {
        address.split("/")[0]: device.space for device in network.devices.values() for address in device.addresses
    }
    routers: dict[str, set[str]] = {}  # group -> the namespaces that forward it
    for each in network.groups:
        routers.setdefault(each.group, set()).add(each.space)
    domains = FrameDomains(network)
    groups = made.data.setdefault("multicast", {})
    for each in network.groups:
        source = made.names.get(owners.get(each.source, ""))
        if source is None:
            network.leave(each.where, f"{each.group}: its source {each.source} is not in this file")
        elif groups.setdefault(each.group, {"source": source, "receivers": []})["source"] != source:
            network.leave(each.where, f"{each.group}: a topology's group has one source; use a group for each")
        else:
            made.sources.setdefault(("multicast", each.group), each.where)
            for name in each.out:
                device = network.device(each.space, name)
                ends = domains.around(standing(device)) if device is not None else []
                spaces = [end.space for end in ends if end.space not in routers[each.group] and end.kind != "bridge"]
                groups[each.group]["receivers"] += [
                    made.names[space]
                    for space in spaces
                    if made.names.get(space, source) not in (source, *groups[each.group]["receivers"])
                ]
    for group in [group for group, members in groups.items() if not members["receivers"]]:
        network.leave(made.sources["multicast", group], f"{group}: its routes lead to no node that could receive it")
        del groups[group]
    if not groups:
        del made.data["multicast"]
        for where, destination in network.group_routes:
            what = f"a route to {destination}: declare the group's source and receivers under multicast"
            network.leave(where, what)
