"""Drop ICMP of unreachable destinations, send a megabyte to `server` and `port`; print as JSON whether it arrived."""

import json
import socket
import subprocess
import sys

for rule in (
    "add table ip hole",
    "add chain ip hole into { type filter hook input priority filter; }",
    "add rule ip hole into icmp type destination-unreachable drop",
):
    subprocess.run(["nft", rule], check=True)
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as sock:
    sock.settimeout(60)
    try:
        sock.sendall(bytes(10**6))
        arrived = sock.recv(1) == b"!"
    except TimeoutError:
        arrived = False
subprocess.run(["nft", "delete table ip hole"], check=True)
json.dump({"arrived": int(arrived)}, sys.stdout)
