"""Provide the common parts of the lab's own workloads: TCP sockets of either IP version, connections and pauses."""

from __future__ import annotations

import resource
import socket
import time
from pathlib import Path

from lab.guest.testbed import WorkloadError

__all__ = ["MARGIN_SECONDS", "accept", "control_congestion", "make_room", "pause", "pause_until", "stream"]

OTHER_FILES = 64  # the most files that a process has open besides its connections
MARGIN_SECONDS = 60.0  # beyond a workload's own time: queued data drains in it, even on the slowest path of any claim


def stream(ip: int, nodelay: bool = False) -> socket.socket:
    """Return a TCP socket over IPv4 or IPv6."""
    made = socket.socket(socket.AF_INET6 if ip == 6 else socket.AF_INET, socket.SOCK_STREAM)
    if nodelay:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def accept(ip: int, port: int, nodelay: bool = False) -> socket.socket:
    """Return the first connection to `port`, and stop listening."""
    with stream(ip, nodelay) as listener:  # the accepted connection inherits its TCP_NODELAY
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", port))
        listener.listen(1)
        sock, _ = listener.accept()
    return sock


def pause(seconds: float) -> None:
    """Sleep for this time. Return at once if the time is zero.

    Before 7.2, a sleep of zero time takes the timer slack on Linux, 50 us (commit b40c927345a9).
    """
    if seconds > 0:
        time.sleep(seconds)


def pause_until(moment_ns: float) -> None:
    """Sleep until CLOCK_MONOTONIC shows `moment_ns`. Return at once if this time has passed."""
    pause((moment_ns - time.monotonic_ns()) / 1e9)


def make_room(connections: int) -> None:
    """Allow the process `connections` connections at once. The usual limit is 1,024 open files.

    Raises WorkloadError if the limit cannot be raised.
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
    """Set the congestion control of the connection.

    Raises WorkloadError if the kernel does not have this congestion control.
    """
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    except FileNotFoundError:
        there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        raise WorkloadError(f"this kernel has no congestion control '{congestion}', but {', '.join(there)}") from None
