"""Run claims with the lab that is first in PYTHONPATH, and print what became of each, as JSON.

`python outcome.py STORE KERNEL CLAIM...` gives {claim: {"verdict", "expected", "reason", "off"}}: `off` names the arms
whose prediction is further from the measurement than its accuracy. Where a trial failed, the status is 1.
"""

from __future__ import annotations

import json
import sys

import lab


def main(store: str, kernel: str, *claims: str) -> int:
    """Return the exit status."""
    found = lab.run(*claims, kernel=kernel, results=store)
    for error in found.errors:
        print(error, file=sys.stderr)
    outcomes = {
        claim.id: {
            "verdict": claim.verdict.kind,
            "expected": claim.judged.declared.experiment.expect,
            "reason": claim.verdict.reason,
            "off": sorted({result.arm for result in claim.judged.result.model_is_off}),
        }
        for claim in found
    }
    print(json.dumps(outcomes))
    return 1 if found.errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
