"""Connect to `server` and `port`, close first, and print as JSON for how many seconds TIME_WAIT lasts."""

import json
import socket
import sys
import time
from pathlib import Path

TIME_WAIT = "06"  # as /proc/net/tcp has it


def waits() -> bool:
    """Return whether a connection is in TIME_WAIT."""
    return any(line.split()[3] == TIME_WAIT for line in Path("/proc/net/tcp").read_text().splitlines()[1:])


socket.create_connection((sys.argv[1], int(sys.argv[2]))).close()
while not waits():
    time.sleep(0.01)
start = time.monotonic()
while waits():
    time.sleep(0.1)
json.dump({"seconds": time.monotonic() - start}, sys.stdout)
