"""Run a transfer in Mininet, with its own rate limit and delay. The module is also the program that does so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.peers.peer import Peer
from bench.peers.transfer import Transfer, named
from lab.guest.mininet import make_importable


def command(transfer: Transfer, _: Path) -> list[str]:
    """Return this module's command."""
    return [sys.executable, "-m", __name__, transfer.name]


def version() -> str | None:
    """Return Mininet's version, or None if it is missing."""
    make_importable()
    try:
        from mininet.net import VERSION
    except ImportError:
        return None
    return str(VERSION)


def main(transfer: Transfer) -> None:
    """Transfer between two hosts on one link, and print what both ends saw."""
    make_importable()
    from mininet.link import TCLink
    from mininet.net import Mininet

    net = Mininet(link=TCLink, controller=None)
    sender, receiver = net.addHost("a"), net.addHost("b")
    delay = {"delay": f"{transfer.delay_ms}ms"} if transfer.delay_ms else {}
    net.addLink(sender, receiver, bw=1000 * transfer.gigabits, max_queue_size=10_000, **delay)
    net.start()
    receiving = receiver.popen(transfer.receive(), stdout=subprocess.PIPE, text=True)
    sending = sender.popen(transfer.send(receiver.IP()), stdout=subprocess.PIPE, text=True)
    for each in (sending, receiving):
        print(each.communicate()[0])
    net.stop()


MININET = Peer(
    "Mininet",
    root=True,
    install="sudo apt-get install mininet",
    version=version,
    command=command,
)

if __name__ == "__main__":
    main(named(sys.argv[1]))
