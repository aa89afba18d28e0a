"""Send datagrams, each a frame of 1538 bytes, whenever chance has it: `_poisson.py ADDRESS PORT LOAD SECONDS`.

LOAD is their share of 10 Mbit/s in the mean. Chance has its seed from the kernel, and so from the trial.
"""

import random
import socket
import sys
import time

ADDRESS, PORT, LOAD, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
DATA, FRAMES_A_NS = bytes(1472), LOAD * 10e6 / (8 * 1538) / 1e9

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    due: float = time.monotonic_ns()
    end = due + SECONDS * 1e9
    while (due := due + random.expovariate(FRAMES_A_NS)) < end:
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        sock.sendto(DATA, (ADDRESS, PORT))
