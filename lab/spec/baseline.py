"""Pin the sysctls that every experiment starts from, so that no result depends on the machine.

As in packetdrill, these sysctls are only defaults: a topology, an arm or a host can override them. The lab sets them
before a namespace has interfaces, so that every interface starts with the `default` values.
"""

from __future__ import annotations

from collections.abc import Mapping

HOST: Mapping[str, str] = {
    # Kernels derive the buffer maxima from the memory that they boot with. These are the maxima of a large machine.
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    # Kernels may be configured with a different default.
    "net.ipv4.tcp_congestion_control": "cubic",
    # Otherwise a second connection would start with what the kernel remembers of the first one's path.
    "net.ipv4.tcp_no_metrics_save": "1",
    # These decide the header's length and the window: kernel defaults, pinned because predictions read them.
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_sack": "1",
    # Duplicate address detection makes an address unusable for a second or two.
    "net.ipv6.conf.default.accept_dad": "0",
    # No router advertises here; solicitations would be stray packets in every capture.
    "net.ipv6.conf.default.router_solicitations": "0",
}

ROUTER: Mapping[str, str] = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}

# For a node whose links all have too small an MTU for IPv6. The node then sends no stray IPv6 packets.
IPV4_ONLY: Mapping[str, str] = {"net.ipv6.conf.default.disable_ipv6": "1"}

WINDOW = int(HOST["net.ipv4.tcp_rmem"].split()[2])  # bytes: no receiver of this baseline advertises more
