"""Accept one connection on `port`, read the question, work for so many seconds, and answer."""

import socket
import sys
import time

with socket.create_server(("", int(sys.argv[1]))) as listener:
    accepted, _ = listener.accept()
    with accepted:
        accepted.recv(1)
        time.sleep(float(sys.argv[2]))
        accepted.sendall(b"!")
        accepted.recv(1)
