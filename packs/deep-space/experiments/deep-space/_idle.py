"""Connect to `server` and `port`, send nothing, and print as JSON how long the connection lived, and how it ended."""

import json
import socket
import sys
import time

with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as sock:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    start = time.monotonic()
    try:
        end = "closed" if sock.recv(1) == b"" else "answered"
    except OSError as error:
        end = str(error.strerror)
    json.dump({"seconds": time.monotonic() - start, "end": end}, sys.stdout)
