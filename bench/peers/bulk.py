"""Send or receive one TCP transfer, and print what was seen as a line of JSON. It uses the standard library alone.

`bulk.py receive PORT` counts the bytes of every tenth of a second, and the frames that came to this host.
`bulk.py send ADDRESS PORT SECONDS CONGESTION` measures the first round trip, and sends for so long.
"""

import json
import socket
import struct
import sys
import time
from contextlib import suppress

SLOT = 0.1  # seconds
PIECE = 1 << 18  # bytes
PATIENCE = 30.0  # seconds


def receive(port: int) -> dict[str, object]:
    """Accept one connection, and read it to its end."""
    with socket.create_server(("", port)) as listener:
        listener.settimeout(PATIENCE)  # so that a peer that does not start fails soon
        connection, _ = listener.accept()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(PATIENCE), 0))
    begun, before, slots, buffer = time.monotonic(), frames(), [0], bytearray(PIECE)
    while size := connection.recv_into(buffer):
        slot = int((time.monotonic() - begun) / SLOT)
        slots.extend([0] * (slot + 1 - len(slots)))
        slots[slot] += size
    connection.close()
    return {"slots": slots, "frames": frames() - before}


def frames() -> int:
    """Return how many packets this host's interfaces have received. Its kernel counts a super-packet as one."""
    with open("/proc/self/net/dev", encoding="ascii") as file:
        lines = [line.replace(":", " ").split() for line in file if ":" in line]
    return sum(int(line[2]) for line in lines if line[0] != "lo")


def send(address: str, port: int, seconds: float, congestion: str) -> dict[str, object]:
    """Connect as soon as there is a receiver, and send."""
    until = time.monotonic() + PATIENCE
    while True:
        sender = socket.socket()
        with suppress(OSError):  # missing, or not for this user: the answer has the name of the one that was used
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        begun = time.monotonic()
        try:
            sender.connect((address, port))
            break
        except OSError:
            sender.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    connected = time.monotonic()
    used = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
    piece = bytes(PIECE)
    while time.monotonic() - connected < seconds:
        sender.send(piece)
    sender.shutdown(socket.SHUT_WR)
    sender.recv(1)  # the receiver has everything: mahimahi ends its link with the sender, whatever is still on its way
    return {"rtt": connected - begun, "congestion": used}


def main(what: str, *words: str) -> None:
    """Do what the command line asks for."""
    seen = receive(int(words[0])) if what == "receive" else send(words[0], int(words[1]), float(words[2]), words[3])
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
