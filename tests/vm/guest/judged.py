"""Whether a `lab run --json` ended with a verdict to trust.

In virtual time the claim is reproduced. In real time a machine may be too slow for it, as an emulated one is, and the
lab has to say so: "invalid", of trials that ran to their end on the network asked for, with what was seen.
"""

import json
import sys
from pathlib import Path

from lab.guest import outputs
from lab.record.store import Store
from lab.verdict import fidelity


def main(answer: Path, results: Path) -> None:
    """Raises AssertionError."""
    records = {record.address: record for record in Store(results)}
    (claim,) = json.loads(answer.read_text())["claims"]
    print(f"{claim['claim']} on {claim['kernel']}: {claim['verdict']} {claim['reason']}".rstrip())
    trials = [records[address] for each in claim["results"] for address in each["trials"]]
    assert trials
    assert not [record for record in trials if record.invalid], "the network was not the one that was asked for"
    if claim["verdict"] != "reproduced":
        assert (claim["verdict"], claim["clock"]) == ("invalid", "real")
        assert any(fidelity.faults(record.json(outputs.FIDELITY)) for record in trials), (
            "nothing was seen that spoilt it"
        )


main(Path(sys.argv[1]), Path(sys.argv[2]))
