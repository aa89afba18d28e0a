"""Say where a claim's figure comes from: the article prints it, or what the article says implies it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lab.spec.tolerance import Figure
from lab.units import Value

__all__ = ["Claimed", "Implied", "Reported", "Untestable"]


@dataclass(frozen=True)
class Reported:
    """Holds a figure that the article prints, and the words around it, by which a reader finds it there."""

    figure: Figure
    quote: str
    part: str = ""  # of the claim's sentence, where that says several things
    word: ClassVar[str] = "reported"
    whose: ClassVar[str] = "article"  # what drawings call the figure

    def __post_init__(self) -> None:
        Value.of(self.figure)
        _said(self.quote, "a reported figure needs the words that report it: Reported(figure, '...')")

    @property
    def value(self) -> Value:
        """The figure as a number with its unit."""
        return Value.of(self.figure)

    @property
    def source(self) -> str:
        """Where the figure comes from, for a reader: the quotation."""
        return f"“{self.quote}”"


@dataclass(frozen=True)
class Implied:
    """Holds a figure that the article does not print, and how it follows from what the article says."""

    figure: Figure
    how: str
    part: str = ""
    word: ClassVar[str] = "implied"
    whose: ClassVar[str] = "implied"

    def __post_init__(self) -> None:
        Value.of(self.figure)
        _said(self.how, "an implied figure needs how it follows from what is said: Implied(figure, '...')")

    @property
    def value(self) -> Value:
        """The figure as a number with its unit."""
        return Value.of(self.figure)

    @property
    def source(self) -> str:
        """Where the figure comes from, for a reader: how it follows."""
        return self.how


Claimed = Reported | Implied


@dataclass(frozen=True)
class Untestable:
    """Names a part of the sentence that no trial can test as it stands, and says why none can."""

    part: str
    because: str

    def __post_init__(self) -> None:
        _said(self.part, "what is not testable needs a name: Untestable('the part', because='...')")
        _said(self.because, "what is not testable needs its reason: because='...'")


def _said(text: str, otherwise: str) -> None:
    if not text.strip():
        raise ValueError(otherwise)
