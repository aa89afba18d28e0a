"""Grade what an arm explains: by whether anything was fitted or assumed to make it explain.

An arm with a cause is a witness, and does not count for the verdict. That its figure agrees with the article's is a
condition for a cause to hold, and no proof of it: what was put in decides the grade.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["Cause", "Consistent", "Demonstrated", "Refutes"]


@dataclass(frozen=True)
class Demonstrated:
    """Explains with nothing fitted: the arm changes what the sentence names, and brings the figure back by it."""

    says: str
    grade: ClassVar[str] = "demonstrated"
    terms: ClassVar[str] = ""
    between: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        _said(self.says)


@dataclass(frozen=True)
class Consistent:
    """Explains with something fitted to a figure of the article, or assumed about its machines.

    `between` names two arms whose figures must lie on either side of the article's, where none can give it exactly.
    """

    says: str
    fitted: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    grade: ClassVar[str] = "consistent"

    def __post_init__(self) -> None:
        _said(self.says)
        if not self.fitted and not self.assumed:
            raise ValueError("a consistent cause says what was fitted or assumed; without either, it is demonstrated")
        if len(self.between) not in (0, 2):
            raise ValueError("a figure lies between two arms: between=('one', 'the other')")

    @property
    def terms(self) -> str:
        """What was fitted, and what was assumed."""
        count = len(self.fitted)
        fitted = [f"{count} parameter{'s' if count > 1 else ''} fitted: {', '.join(self.fitted)}"] if count else []
        return "; ".join([*(fitted or ["nothing fitted"]), *(f"assumed: {each}" for each in self.assumed)])


@dataclass(frozen=True)
class Refutes:
    """Refutes another explanation with nothing fitted: under it the arm would give the figure, and does not."""

    says: str
    grade: ClassVar[str] = "refutes"
    terms: ClassVar[str] = ""
    between: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        _said(self.says)


Cause = Demonstrated | Consistent | Refutes


def _said(says: str) -> None:
    if not says.strip():
        raise ValueError("a cause needs a sentence")
