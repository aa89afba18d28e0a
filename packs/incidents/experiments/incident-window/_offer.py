"""Accept one connection on `port`, and send it so many bytes."""

import socket
import sys

with socket.create_server(("", int(sys.argv[1]))) as listener:
    accepted, _ = listener.accept()
    with accepted:
        accepted.sendall(bytes(int(sys.argv[2])))
