"""Make what our own workloads share: a TCP socket of either IP version, and a server's one connection."""

from __future__ import annotations

import socket

__all__ = ["MARGIN_SECONDS", "accept", "stream"]

MARGIN_SECONDS = 60.0  # beyond a workload's own time: what is queued drains on the slowest path of any claim


def stream(ip: int, nodelay: bool = False) -> socket.socket:
    """Make a TCP socket over IPv4 or IPv6."""
    made = socket.socket(socket.AF_INET6 if ip == 6 else socket.AF_INET, socket.SOCK_STREAM)
    if nodelay:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def accept(ip: int, port: int, nodelay: bool = False) -> socket.socket:
    """Accept the first connection to `port`, and stop listening there."""
    with stream(ip, nodelay) as listener:  # what it accepts inherits its TCP_NODELAY
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", port))
        listener.listen(1)
        sock, _ = listener.accept()
    return sock
