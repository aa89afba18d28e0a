"""Ask `server` at `port` with keepalive on, and print as JSON whether an answer came within an hour."""

import json
import socket
import sys
import time

with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as sock:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.settimeout(3600)
    start = time.monotonic()
    sock.sendall(b"?")
    try:
        answers, end = len(sock.recv(1)), "answered"
    except OSError as error:
        answers, end = 0, error.strerror or str(error)
    json.dump({"answers": answers, "seconds": time.monotonic() - start, "end": end}, sys.stdout)
