"""Give the host's routes this initial window, accept one connection on `port`, send `size` bytes at once, and close."""

import socket
import subprocess
import sys

port, size, window = sys.argv[1:]
for route in subprocess.run(["ip", "route"], check=True, capture_output=True, text=True).stdout.splitlines():
    subprocess.run(["ip", "route", "change", *route.split(), "initcwnd", window], check=True)
with socket.create_server(("", int(port))) as listener:
    accepted, _ = listener.accept()
    with accepted:
        accepted.sendall(bytes(int(size)))
