"""Take what comes to a UDP port, and read nothing of it: `_sink.py PORT`."""

import signal
import socket
import sys

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.bind(("", int(sys.argv[1])))
    signal.pause()
