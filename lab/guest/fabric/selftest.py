"""Check whether the kernel has each module of a wire: `python -m lab.guest.fabric.selftest`, as root of a namespace.

The module creates a wire in its own namespaces, and removes it. If a part is missing, the module prints the part's name
and exits with 1.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab.guest.fabric import device, qdisc
from lab.guest.fabric.namespace import Namespace
from lab.guest.fabric.netlink import Netlink, NetlinkError
from lab.guest.network import Direction, Interface, Offloads, Shaper
from lab.units import Duration, Rate, Size

RATE, MTU = Rate.of("1 Gbit/s"), Size(1500)
WAY = Direction(RATE, Duration.of("1 ms"), Duration(0), 0.0, 0.0, 0.0, MTU, 1000, Shaper.PATH)
END = Interface("parts", "eth0", "02:00:00:00:00:01", MTU, (), Offloads())


def missing() -> str:
    """Return the kernel module that is missing, or "" if no module is missing.

    Raises NetlinkError or NamespaceError for any other reason.
    """
    with _namespace("parts") as outer, _namespace("parts-wire") as inner:
        with inner.entered():
            netlink = Netlink()
        with outer.entered():
            outside = Netlink()
        with netlink, outside:
            steps: tuple[tuple[str, Callable[[], None]], ...] = (
                ("veth", lambda: device.veth(netlink, "w0", END, outer)),
                ("sch_netem", lambda: device.add_qdisc(netlink, "w0", qdisc.netem(WAY, 0))),
                ("sch_tbf", lambda: device.add_qdisc(outside, END.name, qdisc.tbf(RATE, MTU, 100))),
                (
                    "sch_ingress, cls_matchall, cls_bpf or act_mirred",
                    lambda: device.redirect(netlink, "w0", "w0", longest=MTU),
                ),
            )
            for part, step in steps:
                try:
                    step()
                except NetlinkError as error:
                    if error.code not in (errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL):
                        raise
                    return part
    return ""


@contextmanager
def _namespace(name: str) -> Iterator[Namespace]:
    space = Namespace.create(name)
    try:
        yield space
    finally:
        space.remove()


if __name__ == "__main__":
    if lacking := missing():
        sys.stdout.write(f"it lacks {lacking}\n")
    sys.exit(bool(lacking))
