"""Accept one connection on `port`, and keep it open."""

import signal
import socket
import sys

with socket.create_server(("", int(sys.argv[1]))) as listener:
    accepted, _ = listener.accept()
    with accepted:
        signal.pause()
