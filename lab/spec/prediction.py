"""Declare the kind of a prediction: a law, a replay, a simulation or a definition.

A *law* is a closed form from a textbook or an RFC. A *replay* is a closed form with a kernel's own constants or
rounding, so it describes the intended behaviour of that kernel. A *simulation* replays a kernel's rules event by event,
and names the law for the same figure. A replay or a simulation agrees with the kernel only where it copies the kernel.
A *definition* cannot fail, because the metric counts with the same rule. A function without a declaration is also a
prediction, but its kind is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import WRAPPER_ASSIGNMENTS
from typing import Any, Literal, Protocol, runtime_checkable

from lab.units import Value

Predictor = Callable[[Any], Value]  # takes the subject of the prediction: the path, and what runs on it
Kind = Literal["law", "replay", "simulation", "definition", "undeclared"]
Odd = Literal["burst_loss", "changes", "corrupt"]  # settings of a link that only some laws cover


@runtime_checkable
class CheckedSubject(Protocol):
    """Describes a subject that can check whether a prediction covers it."""

    def check(self, prediction: Prediction) -> None:
        """Raise ModelError, with the reason, if the prediction does not cover the subject."""


@dataclass(frozen=True, repr=False)
class Prediction:
    """Computes a figure, and describes the figure's basis. Call a prediction like the function that it wraps."""

    function: Predictor
    kind: Kind
    formula: str = ""  # for a law or a replay, as written on paper
    source: str = ""  # the formula's source, or what a simulation replays
    law: Prediction | None = None  # for a simulation: the closed form for the same figure
    because: str = ""  # why a definition cannot fail, or why a simulation has no law
    long_run: bool = False  # whether a law is about the long run, so that its figure excludes the start
    accuracy: float | None = None  # the largest error to expect within a law's range, as a share of the measured figure
    covers: tuple[Odd, ...] = ()  # the settings with which its figure holds, of those that few predictions cover

    def __post_init__(self) -> None:
        for name in WRAPPER_ASSIGNMENTS:  # so that help() shows the function's own docstring
            if hasattr(self.function, name):
                vars(self)[name] = getattr(self.function, name)

    def __call__(self, about: Any) -> Value:
        """Return the figure. Raises ModelError if the model does not cover the path, and TypeError if the result is not
        a figure.
        """
        if isinstance(about, CheckedSubject):
            about.check(self)
        found: Any = self.function(about)
        if not isinstance(found, Value):
            raise TypeError(f"{self.name} returned {found!r}, which is not a Value")
        return found

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def name(self) -> str:
        """Return the function's name, or the name of its type if the function has no name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def basis(self) -> str:
        """Return the figure's basis in a few words."""
        match self.kind:
            case "law" | "replay":
                return f"{self.formula} ({self.source})"
            case "simulation":
                return f"a replay of {self.source}"
            case "definition":
                return self.because
            case "undeclared":
                return "a function that declares neither formula nor source"

    def plain(self) -> dict[str, str | None]:
        """Return the prediction as plain data for JSON.

        Fields that do not apply to its kind are None, and its law is a name.
        """
        said = {"formula": self.formula, "source": self.source, "because": self.because}
        law = self.law.name if self.law else None
        return {"name": self.name, "kind": self.kind, **{key: text or None for key, text in said.items()}, "law": law}


def law(
    *,
    formula: str,
    source: str,
    long_run: bool = False,
    accuracy: float | None = None,
    covers: tuple[Odd, ...] = (),
) -> Callable[[Predictor], Prediction]:
    """Return a decorator that declares a closed form, its source, and whether its figure is about the long run.

    `accuracy` is the largest error to expect within the law's range, as a share of the measured figure. `covers` names
    settings of links with which the law holds, of those that most laws do not cover.
    """
    return lambda function: Prediction(
        function, "law", formula=formula, source=source, long_run=long_run, accuracy=accuracy, covers=covers
    )


def replay(*, formula: str, source: str, covers: tuple[Odd, ...] = ()) -> Callable[[Predictor], Prediction]:
    """Return a decorator that declares a closed form with a kernel's own constants or rounding, and their source.

    `covers` is that of `law`.
    """
    return lambda function: Prediction(function, "replay", formula=formula, source=source, covers=covers)


def simulation(*, of: str, law: Prediction | None = None, no_law: str = "") -> Callable[[Predictor], Prediction]:
    """Return a decorator that declares a replay of a kernel's rules, and the law for the same figure.

    Raises ValueError unless the arguments contain either a law or the reason why there is no law.
    """
    if (law is None) is not bool(no_law):
        raise ValueError("a simulation needs the law for its figure, or the reason why there is none (no_law)")
    return lambda function: Prediction(function, "simulation", source=of, law=law, because=no_law)


def definition(*, because: str) -> Callable[[Predictor], Prediction]:
    """Return a decorator that declares a figure that is true by definition, and the reason."""
    return lambda function: Prediction(function, "definition", because=because)


def declared(function: Predictor) -> Prediction:
    """Return the function if it is a declared prediction, else a prediction of unknown kind."""
    return function if isinstance(function, Prediction) else Prediction(function, "undeclared")
