"""Write the reference figures of the pack congestion-judge, from a store: `python -m tools.references RESULTS`.

`make references` first runs the pack. The figures are those of the pack's seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from lab import app as api
from lab.errors import LabError
from lab.ext.cc import cases
from lab.spec import shipped
from lab.verdict.judged import JudgedClaim

__all__ = ["lines"]

_HEAD = """\
# The figures of well-known congestion controls in each case, seed by seed from seed 1 on, in base units.
# `make references` writes this file. The scales in scores.yaml do not depend on it.
"""


def lines(judged: Iterable[JudgedClaim]) -> Iterator[str]:
    """Yield the kernel, and the figures of each case. Raises LabError if a case lacks a figure."""
    claims = {claim.declared.id: claim for claim in judged}
    versions = {claim.kernel["version"] for claim in claims.values() if claim.kernel}
    yield f"kernel: {', '.join(sorted(versions))}"
    for case in cases.load().cases:
        results = [each for each in claims[case.name].result.results if each.figure == case.figure]
        if missing := [each.arm for each in results if each.measured is None]:
            raise LabError(f"{case.name} has no figure of {missing[0]}; run `lab run {cases.PACK}`")
        figures = (f"{each.arm}: [{', '.join(f'{number:.5g}' for number in each.sample.numbers)}]" for each in results)
        yield f"{case.name}: {{{', '.join(figures)}}}"


if __name__ == "__main__":
    try:
        found = api.load(cases.PACK, results=Path(sys.argv[1]))
        text = _HEAD + "\n".join(lines(claim.judged for claim in found)) + "\n"
        (shipped.packs()[cases.PACK] / cases.REFERENCES).write_text(text)
    except LabError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
