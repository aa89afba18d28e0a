"""How figures look, and their way into a page: an SVG that is the same on every run, and a PNG beside it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from html import escape
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lab.errors import LabError
from lab.report.html import Html, badge, folded, prose
from lab.report.tested import NotRun, TestedCase, TestedClaim

__all__ = ["ARMS", "INK", "MUTED", "PREDICTED", "REPORTED", "Label", "Picture", "axes", "draw", "labels", "picture"]

_P = ParamSpec("_P")

# Okabe and Ito's palette, told apart by all kinds of colour vision; the fourth darker, the fifth added.
ARMS = ("#0072B2", "#D55E00", "#009E73", "#A66F00", "#3D2B8C")
REPORTED = "#A6467A"  # their reddish purple, darker, so that text in it can be read on white
PREDICTED = INK = "#1a1a1a"
MUTED = "#6b6b6b"

_SIZE = (6.1, 3.2)  # inches
_MANY = 4  # trials that are more than a caption should list
_RC: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 10.5,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.8,
    "path.simplify_threshold": 0.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "replab",
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@dataclass(frozen=True)
class Label:
    """A text at the right of a line that ends at `y`."""

    y: float
    text: str
    colour: str


class Picture(Html):
    """A figure with its caption. A notebook gets it as HTML, and as PNG with its name in the metadata."""

    def __init__(self, name: str, svg: bytes, png: bytes, alt: str, caption: str) -> None:
        self.name = name
        self.svg = svg
        self.png = png
        data = base64.b64encode(svg).decode()
        super().__init__(
            f'<figure id="{escape(name)}"><img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">',
            f"<figcaption>{caption}</figcaption></figure>",
        )

    def save(self, path: Path | str) -> None:
        """Writes the figure: as SVG or, to a name that ends in .png, as PNG."""
        Path(path).write_bytes(self.png if Path(path).suffix == ".png" else self.svg)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        png = base64.b64encode(self.png).decode()
        return {"text/html": self.text, "image/png": png}, {"figure": self.name}


def draw(
    kind: str,
) -> Callable[[Callable[Concatenate[TestedClaim, _P], Html]], Callable[Concatenate[TestedClaim, _P], Html]]:
    """Makes a figure function show a sentence where its record is missing or lacks what it draws; `kind` names it."""

    def wrap(function: Callable[Concatenate[TestedClaim, _P], Html]) -> Callable[Concatenate[TestedClaim, _P], Html]:
        @wraps(function)
        def figure(claim: TestedClaim, /, *args: _P.args, **kwargs: _P.kwargs) -> Html:
            try:
                with mpl.rc_context():
                    mpl.rcdefaults()  # whatever the user has set
                    mpl.rcParams.update(_RC)
                    return function(claim, *args, **kwargs)
            except NotRun as error:
                return Html(f'<p class="missing">{badge("skipped")} {kind}: {prose(str(error))}</p>')
            except LabError as error:
                return Html(f'<p class="missing">No figure of {kind}: {prose(str(error))}</p>')

        return figure

    return wrap


def axes(panels: int = 1, size: tuple[float, float] = _SIZE, **settings: Any) -> tuple[Figure, Sequence[Axes]]:
    """A figure of one or more panels above each other."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    made = figure.subplots(panels, 1, squeeze=False, sharex=panels > 1, **settings)
    return figure, [row[0] for row in made]


def labels(target: Axes, wanted: Iterable[Label], room: float = 0.075) -> None:
    """Texts at the right end of lines, kept `room` (of the axes' height) apart."""
    low, high = target.get_ylim()
    ordered = sorted(wanted, key=lambda label: label.y)
    places = [(label.y - low) / (high - low) for label in ordered]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + room)
    ceiling = 0.97
    for index in reversed(range(len(places))):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - room
    for place, label in zip(places, ordered, strict=True):
        target.annotate(
            label.text, (1.01, place), xycoords="axes fraction", va="center", color=label.colour, annotation_clip=False
        )


def picture(
    claim: TestedClaim, kind: str, figure: Figure, alt: str, caption: str, shown: Sequence[TestedCase]
) -> Picture:
    """The figure as a page has it: `alt` for those who do not see it, `caption` as HTML, and the trials it shows."""
    name = f"{claim.id.replace('/', '.')}.{kind}"
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=160, metadata={"Software": None})
    traced = f'{caption} <div class="trace">{_trace(claim, shown)} <a href="figures/{name}.png">PNG</a></div>'
    return Picture(name, svg.getvalue(), png.getvalue(), alt, traced)


def _trace(claim: TestedClaim, shown: Sequence[TestedCase]) -> str:
    """Which trials a figure shows, on which kernel and with which seed."""
    records = {each.record.address: each.record for each in shown if each.record}
    links = ", ".join(claim.trial_link(record) for record in records.values())
    trial = next(iter(records.values())).trial
    where = f"kernel {escape(trial.kernel['version'])}, seed {trial.seed}."
    if len(records) > _MANY:
        return folded(f"{len(records)} trials", links) + where.capitalize()
    return f"Trial{'s' if len(records) > 1 else ''} {links}; {where}"
