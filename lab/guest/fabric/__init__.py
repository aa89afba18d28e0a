"""Build networks from namespaces and wires, and read back every setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.errors import InputError, MachineError

if TYPE_CHECKING:
    from lab.guest.fabric.fabric import Fabric

__all__ = ["FABRICS", "choose"]

FABRICS = ("netlink", "mininet")  # the usual one first


def choose(name: str) -> type[Fabric]:
    """Import and return the fabric with this name.

    Raises InputError if there is no such fabric, and MachineError if Mininet is missing.
    """
    match name:
        case "netlink":
            from lab.guest.fabric.fabric import Fabric

            return Fabric
        case "mininet":
            try:
                from lab.guest.fabric.mininet import MininetFabric
            except ImportError as error:
                raise MachineError(f"Mininet cannot be imported ({error}): sudo apt-get install mininet") from None
            return MininetFabric
    raise InputError(f"--fabric {name}: it is {' or '.join(FABRICS)}")
