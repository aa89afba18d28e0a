"""Accept connections on `port`, one after the other, and close each once its client has."""

import socket
import sys

with socket.create_server(("", int(sys.argv[1])), backlog=100) as listener:
    while True:
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(1)
