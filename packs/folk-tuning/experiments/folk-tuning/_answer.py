"""Accept one connection on `port`, and answer each byte with `size` bytes."""

import socket
import sys

port, size = int(sys.argv[1]), int(sys.argv[2])
with socket.create_server(("", port)) as listener:
    accepted, _ = listener.accept()
    with accepted:
        while accepted.recv(1):
            accepted.sendall(bytes(size))
