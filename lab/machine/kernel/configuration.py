"""Read a kernel's configuration (the text of its .config) for trial records and for models."""

from __future__ import annotations

import re

_TUNNELS = ("NET_IPIP", "NET_IPGRE", "IPV6_SIT", "IPV6_TUNNEL")


def hz(configuration: str) -> int | None:
    """Return CONFIG_HZ in ticks per second; None if the text is not a kernel configuration."""
    found = re.search(r"^CONFIG_HZ=(\d+)$", configuration, re.MULTILINE)
    return int(found.group(1)) if found else None


def max_header(configuration: str, ours: bool = False) -> int:
    """Return MAX_HEADER (include/linux/netdevice.h): the bytes that an skb reserves for link and tunnel headers.

    With `ours`, the kernel has the lab's patches, one of which reserves nothing for tunnels.
    """
    builtin = set(re.findall(r"^CONFIG_(\w+)=y$", configuration, re.MULTILINE))
    enabled = builtin | set(re.findall(r"^CONFIG_(\w+)=m$", configuration, re.MULTILINE))
    if "HYPERV_NET" in builtin:
        link = 128
    elif "WLAN" in builtin or "AX25" in enabled:
        link = 128 if "MAC80211_MESH" in builtin else 96
    else:
        link = 32
    tunnel = 48 if not ours and any(name in enabled for name in _TUNNELS) else 0
    return link + tunnel
