"""Connect to SERVER and PORT by Multipath TCP, or accept there; send SIZE bytes, and read until the other end closes.

As mptcp_connect -j does, an end waits for 200 ms after its first 100 bytes, in which a second subflow can join. It
prints, as JSON, after how many seconds it had read everything. The end that accepts closes last, so that it has.
"""

import json
import socket
import sys
import threading
import time

server, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
accepts = server == "listen"


def send(sock: socket.socket) -> None:
    """Send all, with the wait."""
    sock.sendall(bytes(100))
    time.sleep(0.2)
    sock.sendall(bytes(size - 100))
    if not accepts:
        sock.shutdown(socket.SHUT_WR)


with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as first:
    if accepts:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        first.bind(("", port))
        first.listen(1)
    else:
        first.connect((server, port))
    sock = first.accept()[0] if accepts else first  # who listened goes on: another subflow joins by the port
    start = time.monotonic()
    sender = threading.Thread(target=send, args=(sock,))
    sender.start()
    while sock.recv(1 << 16):
        pass
    json.dump({"seconds": time.monotonic() - start}, sys.stdout)
    sys.stdout.flush()
    sender.join()
    sock.close()
