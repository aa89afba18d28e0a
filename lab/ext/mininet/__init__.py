"""Run unmodified Mininet scripts, and Mininet's own command, in a guest without root: `lab mininet`, `lab mn`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("mininet", "mn"),
    section="Networks",
    examples={
        "mininet": (
            "lab mininet bufferbloat.py --bw 10 --delay 20",
            "lab mininet --seed 2 --out runs/2 topology.py",
            "lab mininet --compare-wires bufferbloat.py --queue 50",
        ),
        "mn": (
            "lab mn --topo tree,2 --link tc,bw=10 --test pingall+iperf",
            "lab mn shared-bottleneck",
            "lab mn shared-bottleneck -c pingall",
        ),
    },
    functions=("mininet", "mn", "compare_wires"),
    hooks={"run of mininet": "recorded:described", "report": "listing:write_all"},
)
