"""Make what our own workloads share: a TCP socket of either IP version, and a server's one connection."""

from __future__ import annotations

import resource
import socket
from pathlib import Path

from lab.testbed import WorkloadError

__all__ = ["MARGIN_SECONDS", "accept", "control_congestion", "make_room", "stream"]

OTHER_FILES = 64  # that a process has open beside its connections, at most
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


def make_room(connections: int) -> None:
    """Let the process have so many connections at once: usually it may open 1,024 files.

    Raises WorkloadError when it may not have more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if wanted <= soft:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{connections:,} connections need as many open files, not {hard:,}: {error}") from None


def control_congestion(sock: socket.socket, congestion: str) -> None:
    """Give the connection this congestion control. Raises WorkloadError where the kernel lacks it."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    except FileNotFoundError:
        there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        raise WorkloadError(f"this kernel has no congestion control '{congestion}', but {', '.join(there)}") from None
