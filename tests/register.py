"""What counts in the shipped claims, as their registers hold it and as their files declare it.

`python -m tests.register` enters claims that no register has yet. It changes no claim that one has: what counts is
frozen with the article, and a later change is a move in the article's history.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ruamel.yaml import YAML

from lab.spec import find, shipped
from lab.spec.case import Case
from lab.spec.history import Entry
from lab.spec.loaded import LoadedExperiment
from lab.spec.metric import described

FILE = "register.yaml"
_NOT_GIVEN = re.compile(r", \w+=None\b|\b\w+=None, |\b\w+=None(?=\))")
_HEAD = """\
# What counts in each claim, frozen with the article. No line of this file changes: a change of what counts is an entry
# in history.yaml, with moves that say what was and what is now. tests/spec/test_register.py holds this.
"""


def declared(claim: LoadedExperiment) -> dict[str, str]:
    """The claim's reading, its parts that are not testable, and one line for each case that has a figure."""
    lines = {"reading": claim.claim}
    lines |= {f"not testable: {each.part}": each.because for each in claim.experiment.untestable}
    for case in claim.cases():
        if case.claimed:
            lines[f"{case.arm} at {case.point}" if case.point else case.arm] = _line(case)
    return lines


def registered(folder: Path) -> dict[str, dict[str, str]]:
    """What the folder's register holds: claim -> line by line."""
    path = folder / FILE
    return dict(YAML(typ="safe").load(path.read_text())) if path.exists() else {}


def moved(lines: Mapping[str, str], history: Iterable[Entry]) -> dict[str, str]:
    """The registered lines after all moves of the claim's history. Raises ValueError where a move does not fit."""
    now = dict(lines)
    for entry in history:
        for move in entry.moves:
            if now.get(move.what) != move.was:
                raise ValueError(f"{entry.date}, {move.what}: was {now.get(move.what)!r}, not {move.was!r}")
            if move.now is None:
                del now[move.what]
            else:
                now[move.what] = move.now
    return now


def given(line: str) -> str:
    """A registered line without the metric's arguments that were not given: later metrics may have more of them."""
    return _NOT_GIVEN.sub("", line)


def _line(case: Case) -> str:
    assert case.claimed
    assert case.tolerance
    said = [case.explains.grade if case.explains else "counts"]
    said.append(f"{case.tolerance.sign}{case.claimed.value} {case.claimed.word}")
    said.append(str(case.tolerance))
    said.append(described(case.metric).call() + (f", over that of {case.relative_to}" if case.relative_to else ""))
    said += [f"part '{case.claimed.part}'"] if case.claimed.part else []
    said += [str(case.drawn)] if case.drawn else []
    return "; ".join(said)


def main() -> None:
    """Enter the claims that no register has, those of the packs that are shipped among them."""
    yaml = YAML()
    yaml.width = 4096
    for claim in (*find.find(), *find.find(shipped.packs())):
        folder = claim.path.parent
        known = registered(folder)
        if claim.path.stem not in known:
            known[claim.path.stem] = declared(claim)
            with (folder / FILE).open("w") as file:
                file.write(_HEAD)
                for name, lines in sorted(known.items()):
                    file.write("\n")
                    yaml.dump({name: lines}, file)


if __name__ == "__main__":
    main()
