"""Connect to `server` and `port`, send a byte ten seconds later, and print as JSON when the connection has failed."""

import json
import socket
import sys
import time

with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as sock:
    time.sleep(10)
    start = time.monotonic()
    sock.sendall(b"?")
    try:
        end = "closed" if sock.recv(1) == b"" else "answered"
    except OSError as error:
        end = str(error.strerror)
    json.dump({"seconds": time.monotonic() - start, "end": end}, sys.stdout)
