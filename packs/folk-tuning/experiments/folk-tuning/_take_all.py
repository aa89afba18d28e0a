"""Accept one connection on `port`, read a megabyte, and answer with one byte."""

import socket
import sys

with socket.create_server(("", int(sys.argv[1]))) as listener:
    accepted, _ = listener.accept()
    with accepted:
        left = 10**6
        while left and (read := len(accepted.recv(left))):
            left -= read
        if not left:
            accepted.sendall(b"!")
