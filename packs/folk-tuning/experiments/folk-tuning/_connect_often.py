"""Connect to `server` and `port` fifty times a second, `count` times, and print as JSON how many of them got a port."""

import json
import socket
import sys
import time

server, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
begun, connected = time.monotonic(), 0
for number in range(count):
    time.sleep(max(0.0, begun + number / 50 - time.monotonic()))
    try:
        socket.create_connection((server, port)).close()
    except OSError:
        continue
    connected += 1
json.dump({"connections": connected}, sys.stdout)
