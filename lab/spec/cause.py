"""Grade an arm's explanation, depending on whether any parameter was fitted or any fact was assumed.

An arm with an explanation is a witness and does not affect the verdict. The figure of a witness must agree with the
article's figure. Because agreement alone does not prove the explanation, the inputs decide the grade.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lab.guest.typed import Declared


class _Explained(Declared):
    """Checks that an explanation has its sentence."""

    says: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.says.strip():
            raise ValueError("a cause needs a sentence")


class _Unfitted(_Explained):
    """Explains without fitted parameters and assumptions."""

    terms: ClassVar[str] = ""
    between: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Demonstrated(_Unfitted):
    """Explains without fitted parameters: the arm makes the change in the sentence, and gives the article's figure."""

    says: str
    grade: ClassVar[str] = "demonstrated"


@dataclass(frozen=True)
class Consistent(_Explained):
    """Explains with a parameter fitted to one of the article's figures, or an assumption about the article's machines.

    `between` names two arms. Use it if no arm can give the article's figure exactly: the article's figure must then be
    between the figures of these two arms.
    """

    says: str
    fitted: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    grade: ClassVar[str] = "consistent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.fitted and not self.assumed:
            raise ValueError("a consistent cause needs fitted=... or assumed=...; without either, use Demonstrated")
        if len(self.between) not in (0, 2):
            raise ValueError("a figure lies between two arms: between=('one', 'the other')")

    @property
    def terms(self) -> str:
        """The fitted parameters and the assumptions."""
        count = len(self.fitted)
        fitted = [f"{count} parameter{'s' if count > 1 else ''} fitted: {', '.join(self.fitted)}"] if count else []
        return "; ".join([*(fitted or ["nothing fitted"]), *(f"assumed: {each}" for each in self.assumed)])


@dataclass(frozen=True)
class Refutes(_Unfitted):
    """Refutes an explanation without fitted parameters: under it, the arm would give the figure, but does not."""

    says: str
    grade: ClassVar[str] = "refutes"


Cause = Demonstrated | Consistent | Refutes
