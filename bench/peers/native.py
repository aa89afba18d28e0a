"""Measure what a frame costs in the kernel of this machine: a veth pair without super-packets, and a token bucket.

The bucket's rate is too high to delay a frame. So it does the work of a queue on each, and the CPU is never idle.
"""

from __future__ import annotations

import json
from shlex import join

from bench.peers.transfer import PAYLOAD, Transfer

LIMIT = Transfer("native", "frames without a limit of rate", 100, 4, 0, (0.5, 3.5), "cubic")
SCRIPT = """set -e
ip netns add a
ip netns add b
ip link add a0 netns a type veth peer name b0 netns b
for host in a b; do
    ip netns exec $host ethtool --offload ${{host}}0 tso off gso off gro off >/dev/null
    tc -netns $host qdisc add dev ${{host}}0 root tbf rate {gigabits}gbit burst 1mb limit 10mb
    ip -netns $host link set ${{host}}0 up
done
ip -netns a address add 10.0.0.1/24 dev a0
ip -netns b address add 10.0.0.2/24 dev b0
ip netns exec b {receive} &
ip netns exec a {send}
wait
"""


def command() -> list[str]:
    """Return the command of a script that transfers for `LIMIT`."""
    values = {"receive": join(LIMIT.receive()), "send": join(LIMIT.send("10.0.0.2")), "gigabits": LIMIT.gigabits}
    return ["sh", "-c", SCRIPT.format(**values)]


def per_frame(text: str, cpu: float) -> float:
    """Return the seconds of CPU that a frame takes in its run, with its share of acknowledgements and system calls."""
    figures = next(json.loads(line) for line in text.splitlines() if line.startswith('{"slots"'))
    return float(PAYLOAD * cpu / sum(figures["slots"]))
