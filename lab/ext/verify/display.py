"""Show the results of `lab verify`."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lab.errors import InputError
from lab.ext.verify.verification import Verification

_COLOURS = {"differs": "red", "damaged": "red", "not repeated": "magenta"}


def part(text: str) -> float:
    """Return the share that a text like '5%' means. Raises InputError."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = 0.0
    if not 0 < percent <= 100:
        raise InputError(f"--sample {text} is not a share; write a percentage of the trials, like 5%")
    return percent / 100


def render(found: Verification) -> RenderableType:
    """Return a line for each trial that should be identical but differs, and a summary of all trials."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for trial in found.checked:
        if trial.outcome in _COLOURS:
            said = Text(f"{trial.outcome}: {trial.detail}", _COLOURS[trial.outcome])
            table.add_row(trial.address[:12], trial.trial, said)
    counts = Counter(trial.outcome for trial in found.checked)
    real, left = counts.pop("real time", 0), counts.pop("not picked", 0)
    same, promised = counts["identical"], counts.total()
    parts = []
    if promised:
        parts.append(f"all {same} trials identical" if same == promised else f"{same} of {promised} identical")
    if left:
        parts.append(f"{left} hashed again but not run")
    if real:
        parts.append(f"{real} ran in real time, in which no two runs are the same")
    said = Text("; ".join(parts), "bold")
    return Group(table, said) if table.rows else said
