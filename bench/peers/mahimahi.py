"""Run a transfer in mahimahi: mm-link with a trace of one chance for each frame, inside mm-delay."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shlex import join

from bench.peers.peer import Peer, program
from bench.peers.transfer import FRAME, Transfer

# mahimahi refuses to run as root, and its programs are setuid root. It needs forwarding in the namespace of each, but a
# new namespace has the machine's setting. So the script in mm-delay waits until its namespace is set.
OUTSIDE = """set -e
forward=/proc/sys/net/ipv4/ip_forward
cp trace link /tmp
echo 1 >$forward
{receive} &
setpriv --reuid 65534 --regid 65534 --clear-groups {delay} sh /tmp/link &
until [ -s /tmp/inner ]; do sleep 0.01; done
nsenter --net=/proc/$(cat /tmp/inner)/ns/net sh -c "echo 1 >$forward"
wait
"""
LINK = """echo $$ >/tmp/inner
until grep -q 1 /proc/sys/net/ipv4/ip_forward; do sleep 0.01; done
exec {link} /tmp/trace /tmp/trace --uplink-queue=droptail --uplink-queue-args=bytes={queue} -- sh -c '{send}'
"""


def command(transfer: Transfer, folder: Path) -> list[str]:
    """Return the command of a script, and write its files: a trace of the frames of one second, and the link."""
    frames = round(transfer.gigabits * 1e9 / 8 / FRAME)
    (folder / "trace").write_text("".join(f"{1 + 1000 * frame // frames}\n" for frame in range(frames)))
    send = " ".join(transfer.send("$MAHIMAHI_BASE"))
    (folder / "link").write_text(LINK.format(link=program("mm-link"), queue=transfer.buffer, send=send))
    delay = f"{program('mm-delay')} {transfer.delay_ms}" if transfer.delay_ms else ""
    return ["sh", "-c", OUTSIDE.format(receive=join(transfer.receive()), delay=delay)]


def version() -> str | None:
    """Return the version of Debian's package, "unknown" without one, or None if mahimahi is missing."""
    if not all(map(program, ("mm-link", "mm-delay", "setpriv", "nsenter"))):
        return None
    asked = ["dpkg-query", "--show", "--showformat=${Version}", "mahimahi"]
    if not program(asked[0]):
        return "unknown"
    return subprocess.run(asked, capture_output=True, text=True).stdout or "unknown"


MAHIMAHI = Peer(
    "mahimahi",
    root=True,
    install="a package of your distribution, or the steps of http://mahimahi.mit.edu",
    version=version,
    command=command,
)
