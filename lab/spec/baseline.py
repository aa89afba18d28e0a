"""Pin the sysctls that every experiment starts from, so that no result depends on whose machine it ran on.

They work as packetdrill's do: what a topology, an arm or a host sets overrides them. They are set before a namespace
has interfaces, so that every interface starts with its `default`.
"""

from __future__ import annotations

from collections.abc import Mapping

HOST: Mapping[str, str] = {
    # Kernels derive the buffer maxima from the memory they boot with; these are a well-equipped machine's.
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    # Kernels may be configured with another default.
    "net.ipv4.tcp_congestion_control": "cubic",
    # A path remembered from an earlier connection would make the second one start differently.
    "net.ipv4.tcp_no_metrics_save": "1",
    # These decide the header's length and the window: kernel defaults, pinned because predictions read them.
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_sack": "1",
    # Duplicate address detection keeps an address unusable for a second or two.
    "net.ipv6.conf.default.accept_dad": "0",
    # Nobody advertises routes here; solicitations would be stray packets in every capture.
    "net.ipv6.conf.default.router_solicitations": "0",
}

ROUTER: Mapping[str, str] = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}

# For a node whose links are all too narrow for IPv6, so that it sends no stray IPv6 packets either.
IPV4_ONLY: Mapping[str, str] = {"net.ipv6.conf.default.disable_ipv6": "1"}

WINDOW = int(HOST["net.ipv4.tcp_rmem"].split()[2])  # bytes: no receiver of this baseline advertises more
