"""Ask `server` on `port` for `size` bytes five times, pause ten seconds, and print as JSON how long the next took."""

import json
import socket
import sys
import time

server, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with socket.create_connection((server, port)) as sock:

    def ask() -> float:
        """Return the seconds that the answer took."""
        start, left = time.monotonic(), size
        sock.sendall(b"?")
        while left:
            left -= len(sock.recv(left))
        return time.monotonic() - start

    for _ in range(5):
        ask()
    time.sleep(10)
    json.dump({"seconds": ask()}, sys.stdout)
