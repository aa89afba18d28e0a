"""Find which devices get one another's frames: through links, bonds and bridges."""

from __future__ import annotations

from lab.ext.importing.found import Device, FoundNetwork

DEEPEST = 8  # VLANs over one another


def bridge_of(device: Device) -> Device | None:
    """Return the bridge that a device is a port of, itself or through its bond, or None."""
    master = device.master
    if master is not None and master.kind == "bond":
        master = master.master
    return master if master is not None and master.kind == "bridge" else None


def vrf_of(device: Device) -> Device | None:
    """Return the VRF of a device, or None."""
    return device.master if device.master is not None and device.master.kind == "vrf" else None


def standing(device: Device) -> Device:
    """Return the device itself, or the one that takes its place."""
    for _ in range(DEEPEST):
        if device.kind != "merged" or device.below is None:
            break
        device = device.below
    return device


class FrameDomains:
    """Finds the devices around a device. Bonds have to have their other ends already."""

    def __init__(self, network: FoundNetwork) -> None:
        self._members: dict[Device, list[Device]] = {}  # a bridge, a bond or a VRF -> what has been put into it
        self._domains: dict[Device, list[Device]] = {}  # a bridge -> all that its frames reach
        for device in network.devices.values():
            self.enslave(device, device.master)

    def enslave(self, device: Device, master: Device | None) -> None:
        """Put a device into a bridge, a bond or a VRF, or into none."""
        device.master = master
        if master is not None:
            self._members.setdefault(master, []).append(device)

    def ports(self, master: Device) -> list[Device]:
        """Return the devices in a bridge, a bond or a VRF."""
        return [each for each in dict.fromkeys(self._members.get(master, [])) if each.master is master]

    def around(self, device: Device) -> list[Device]:
        """Return the other devices that get the frames which a device sends: ends of links, and bridges."""
        far = _far(device)
        start = device if device.kind == "bridge" else bridge_of(far) if far is not None else None
        if start is None:
            return [] if far is None else [far]
        if start not in self._domains:
            domain: list[Device] = []
            waiting = [start]
            while waiting:
                bridge = waiting.pop()
                if bridge not in self._domains:
                    self._domains[bridge] = domain
                    domain.append(bridge)
                    ends = [end for end in map(_far, self.ports(bridge)) if end is not None]
                    domain += [each for each in ends if bridge_of(each) is None]
                    waiting += [each for each in map(bridge_of, ends) if each is not None]
        return [each for each in self._domains[start] if each is not device]


def _far(device: Device) -> Device | None:
    """Return the device at the other end of a link: the bond, if it is in one."""
    far = device.peer
    return far.master if far is not None and far.master is not None and far.master.kind == "bond" else far
