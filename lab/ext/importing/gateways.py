"""Give routers the addresses that other nodes' routes name, if the file does not have the routers' configurations."""

from __future__ import annotations

import ipaddress
from typing import Any

from lab.ext.importing.domains import FrameDomains
from lab.ext.importing.found import Device, FoundNetwork


def give_gateways(network: FoundNetwork) -> None:
    """Give each next hop that no device has to the router at the other end of the link, if it has no address there."""
    owned = {address.split("/")[0] for device in network.devices.values() for address in device.addresses}
    domains = FrameDomains(network)
    own: dict[str, list[Device]] = {}
    for device in network.devices.values():
        if device.addresses:
            own.setdefault(device.space, []).append(device)
    for space in network.spaces.values():
        for route in space.routes:
            for via in [hop.via for hop in route.hops if hop.via and hop.via not in owned]:
                for device in own.get(space.name, ()):
                    length = _length(device, ipaddress.ip_address(via))
                    router = _router(network, domains.around(device), ":" in via) if length else None
                    if router is not None:
                        router.addresses[f"{via}/{length}"] = route.where
                        owned.add(via)
                        break


def _length(device: Device, address: Any) -> int:
    """Return the prefix length of a device's subnet with this address; 0 if there is none."""
    own: list[Any] = [ipaddress.ip_interface(each).network for each in device.addresses]
    return next((each.prefixlen for each in own if each.version == address.version and address in each), 0)


def _router(network: FoundNetwork, around: list[Device], is_ipv6: bool) -> Device | None:
    """Return the only one of these devices that belongs to a node without configuration, and has no address."""
    ends = [each for each in around if each.kind != "bridge"]
    if len(ends) > 1:
        ends = [each for each in ends if network.spaces[each.space].about]
    free = [each for each in ends if not any((":" in address) == is_ipv6 for address in each.addresses)]
    return free[0] if len(free) == 1 else None
