"""List the examples in the help of each command."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "list": ("lab list", "lab list tcp-bottleneck", "lab list bufferbloat"),
    "check": ("lab check", "lab check experiments/mine/first.py"),
    "run": (
        "lab run tcp-bottleneck/window-plateau",
        "lab run --build tcp-timestamps",
        "lab run --kernel 6.1,7.2 tcp-bottleneck",
    ),
    "report": ("lab report", "lab report mine/first", "lab report -o pages tcp-bottleneck"),
    "kernel build": ("lab kernel build", "lab kernel build 6.12", "lab kernel build --file tcp_cubic.c"),
    "kernel fetch": ("lab kernel fetch 6.1", "lab kernel fetch ./bzImage"),
    "kernel take": ("lab kernel take claims.tar.zst",),
    "kernel list": ("lab kernel list",),
    "kernel prune": ("lab kernel prune", "lab kernel prune --keep 1 --remove"),
    "kernel baseline": ("lab kernel baseline before", "lab kernel baseline before tcp-nodelay --kernel 6.12"),
    "userland build": ("lab userland build", "lab userland build programs"),
    "userland lock": ("lab userland lock --keep",),
    "schema": ("lab schema > topologies/schema.json", "lab schema run"),
}
