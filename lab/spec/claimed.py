"""Describe where a claim's figure comes from: the article prints it, or it follows from the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lab.guest.typed import Declared
from lab.spec.quoted import contradiction
from lab.spec.tolerance import Figure
from lab.units import Value


@dataclass(frozen=True)
class Reported(Declared):
    """Holds a figure that the article prints, with the words around it, so that a reader can find the passage.

    Raises ValueError if the words have quantities of the figure's dimension, such as rates, and none is the figure.
    """

    figure: Figure
    quote: str
    part: str = ""  # of the claim's sentence, if it states several things
    word: ClassVar[str] = "reported"
    whose: ClassVar[str] = "article"  # the figure's name in drawings

    def __post_init__(self) -> None:
        super().__post_init__()
        Value.of(self.figure)
        _said(self.quote, "a reported figure needs the words that report it: Reported(figure, '...')")
        if wrong := contradiction(self.value, self.quote):
            raise ValueError(wrong)

    @property
    def value(self) -> Value:
        """The figure as a number with its unit."""
        return Value.of(self.figure)

    @property
    def source(self) -> str:
        """The source of the figure, for a reader: the quotation."""
        return f"“{self.quote}”"


@dataclass(frozen=True)
class Implied(Declared):
    """Holds a figure that the article does not print, and its derivation from the text."""

    figure: Figure
    how: str
    part: str = ""
    word: ClassVar[str] = "implied"
    whose: ClassVar[str] = "implied"

    def __post_init__(self) -> None:
        super().__post_init__()
        Value.of(self.figure)
        _said(self.how, "an implied figure needs its derivation from the text: Implied(figure, '...')")

    @property
    def value(self) -> Value:
        """The figure as a number with its unit."""
        return Value.of(self.figure)

    @property
    def source(self) -> str:
        """The source of the figure, for a reader: the derivation from the text."""
        return self.how


Claimed = Reported | Implied


@dataclass(frozen=True)
class Untestable(Declared):
    """Names a part of the sentence that no trial can test, and the reason."""

    part: str
    because: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _said(self.part, "an untestable part needs its words: Untestable('the part', because='...')")
        _said(self.because, "an untestable part needs a reason: because='...'")


@dataclass(frozen=True)
class ModelMiss(Declared):
    """Names an arm whose prediction is known to miss its accuracy, and the reason.

    Known misses work like `expect` for verdicts: a run is as expected if exactly these predictions miss.
    """

    arm: str
    because: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _said(self.arm, "a miss needs its arm: ModelMiss('arm', because='...')")
        _said(self.because, "a miss needs a reason: because='...'")


def _said(text: str, otherwise: str) -> None:
    if not text.strip():
        raise ValueError(otherwise)
