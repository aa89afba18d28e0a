"""Declare what kind of prediction a function makes: a law, a simulation or a definition.

A *law* is a closed form, as one writes it on paper: a textbook's, an RFC's, or a bound in a kernel's source. A
*simulation* replays a kernel's rules event by event, and names the law for the same figure. A *definition* cannot
fail: the metric counts by the same rule. A function without a declaration is a prediction, too, but says nothing of
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import WRAPPER_ASSIGNMENTS
from typing import Any, Literal

from lab.units import Value

__all__ = ["Kind", "Prediction", "Predictor", "declared", "definition", "law", "simulation"]

Predictor = Callable[[Any], Value]  # takes what the prediction is about: the path, and what runs on it
Kind = Literal["law", "simulation", "definition", "undeclared"]


@dataclass(frozen=True, repr=False)
class Prediction:
    """Computes a figure, and tells what the figure rests on. It is called like the function that it was made of."""

    function: Predictor
    kind: Kind
    formula: str = ""  # a law's, as one writes it on paper
    source: str = ""  # where the formula stands; what a simulation replays
    law: Prediction | None = None  # beside a simulation: the closed form for the same figure
    because: str = ""  # why a definition cannot fail, or why there is no law beside a simulation

    def __post_init__(self) -> None:
        for name in WRAPPER_ASSIGNMENTS:  # so that help() shows the function's own text
            if hasattr(self.function, name):
                vars(self)[name] = getattr(self.function, name)

    def __call__(self, about: Any) -> Value:
        """Return the figure. Raises ModelError where the model does not cover such a path."""
        return self.function(about)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def name(self) -> str:
        """Return the function's name; that of its type, where it has none of its own."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def basis(self) -> str:
        """Return in a few words what the figure rests on."""
        match self.kind:
            case "law":
                return f"{self.formula} ({self.source})"
            case "simulation":
                return f"a replay of {self.source}"
            case "definition":
                return self.because
            case "undeclared":
                return "a function that declares neither formula nor source"

    def plain(self) -> dict[str, str | None]:
        """Return it as JSON shows it, null for what its kind does not have; a law by its name."""
        said = {"formula": self.formula, "source": self.source, "because": self.because}
        law = self.law.name if self.law else None
        return {"name": self.name, "kind": self.kind, **{key: text or None for key, text in said.items()}, "law": law}


def law(*, formula: str, source: str) -> Callable[[Predictor], Prediction]:
    """Declare a closed form, and where it stands."""
    return lambda function: Prediction(function, "law", formula=formula, source=source)


def simulation(*, of: str, law: Prediction | None = None, no_law: str = "") -> Callable[[Predictor], Prediction]:
    """Declare a replay of rules, and the law for the same figure.

    Raises ValueError unless either a law is named, or the reason why there is none.
    """
    if (law is None) is not bool(no_law):
        raise ValueError("a simulation names the law for its figure, or says why there is none (no_law)")
    return lambda function: Prediction(function, "simulation", source=of, law=law, because=no_law)


def definition(*, because: str) -> Callable[[Predictor], Prediction]:
    """Declare a figure that is so by definition, and why."""
    return lambda function: Prediction(function, "definition", because=because)


def declared(function: Predictor) -> Prediction:
    """Return the prediction that the function is, or one whose kind nobody has declared."""
    return function if isinstance(function, Prediction) else Prediction(function, "undeclared")
