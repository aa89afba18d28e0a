"""Read all that `server` sends at `port` into a receive buffer of so many bytes, and print as JSON how long it took."""

import json
import socket
import sys
import time

with socket.socket() as sock:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[3]))
    start = time.monotonic()
    sock.connect((sys.argv[1], int(sys.argv[2])))
    total = 0
    while piece := sock.recv(1 << 16):
        total += len(piece)
    json.dump({"seconds": time.monotonic() - start, "bytes": total}, sys.stdout)
