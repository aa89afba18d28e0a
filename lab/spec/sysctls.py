"""Check sysctl names against the default kernel's list, which `make sysctls` stores in sysctls.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from lab.spec.errors import instead, suggestion

LIST = Path(__file__).with_name("sysctls.txt")
_ALWAYS = ("all", "default", "lo")  # the names that each namespace has in place of an interface
_OF_INTERFACE = re.compile(r"(net\.ipv[46]\.(?:conf|neigh)\.)([^.]+)(\..+)")


@cache
def known() -> frozenset[str]:
    """Return the names of a namespace's sysctls on the default kernel. `*` stands for an interface."""
    return frozenset(LIST.read_text(encoding="ascii").split())


def mistakes(names: Iterable[str], interfaces: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each name that the default kernel does not have, with a message, for a network with these `interfaces`.

    As in sysctl(8), a name has '/' for a dot in an interface's name: net.ipv4.conf.eth0/10.rp_filter.
    """
    there = list(dict.fromkeys([*_ALWAYS, *interfaces]))
    for name in names:
        match = _OF_INTERFACE.fullmatch(name)
        form = f"{match[1]}*{match[3]}" if match else name
        if form not in known():
            like = known() if match is None else (each.replace("*", match[2]) for each in known())
            listed = "; `lab shell two-hosts -c 'find /proc/sys/net'` lists them"
            yield name, f"unknown sysctl '{name}'{suggestion(name, like) or listed}"
        elif match and match[2].replace("/", ".") not in there:
            known_here = [each.replace(".", "/") for each in there]
            yield name, f"sysctl '{name}': unknown interface '{match[2]}'{instead(match[2], known_here)}"
