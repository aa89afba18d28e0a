"""The table of docs/evidence.md: `python -m tests.mutation.table` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.mutation.defects import DEFECTS, Defect


def rows() -> Iterator[str]:
    """Its lines, defect by defect."""
    yield "| in | defect | caught by |"
    yield "|---|---|---|"
    yield from (f"| {each.family} | {each.name} | {_caught(each)} |" for each in DEFECTS)


def _caught(defect: Defect) -> str:
    """Return the claims that catch a defect in each way, or those that ran with it, and why they do not catch it."""
    if defect.missed:
        return f"none of {_names(defect.missed)}: {defect.because}"
    by: dict[str, list[str]] = {}
    for claim, shown in defect.caught.items():
        by.setdefault(shown, []).append(claim)
    return "; ".join(f"{_names(claims)}: *{shown}*" for shown, claims in by.items())


def _names(claims: Iterable[str]) -> str:
    return ", ".join(claim.partition("/")[2] for claim in claims)


if __name__ == "__main__":
    print("\n".join(rows()))
