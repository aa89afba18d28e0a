"""Connect to `server` and `port`, and print as JSON after how many seconds that ended, and how."""

import json
import socket
import sys
import time

start = time.monotonic()
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])))
    end = "connected"
except OSError as error:
    end = str(error.strerror)
json.dump({"seconds": time.monotonic() - start, "end": end}, sys.stdout)
