"""Run unmodified Mininet scripts in a guest, in virtual time, and store a record of each run: `lab mininet`."""

from lab.app.extension import Extension

EXTENSION = Extension(
    commands=("mininet",),
    section="Networks",
    examples={
        "mininet": (
            "lab mininet bufferbloat.py --bw 10 --delay 20",
            "lab mininet --seed 2 --out runs/2 topology.py",
            "lab mininet --compare-wires bufferbloat.py --queue 50",
        )
    },
    functions=("mininet", "compare_wires"),
    hooks={"run of mininet": "recorded:described", "report": "listing:write_all"},
)
