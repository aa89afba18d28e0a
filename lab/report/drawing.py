"""Set the style of figures, and embed them in a page as a reproducible SVG and as a PNG."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any, Concatenate, Literal, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lab.errors import InputError, LabError
from lab.report import values
from lab.report.colophon import kernels
from lab.report.html import Html, badge, folded, prose
from lab.report.tested import NotRun, TestedCase, TestedClaim
from lab.report.wording import ranges, summed, typeset
from lab.spec.case import CaseKey

_P = ParamSpec("_P")

# Hues distinct for all kinds of colour vision, and dark enough for text on white: tests/report/test_palette.py.
ARMS = ("#2060d7", "#c84800", "#0a5b4a", "#5a3a00", "#4f1f8f")
REPORTED = "#97677b"
PREDICTED = INK = "#1a1a1a"
MUTED = "#5d5d5d"
PAPER = "#fefefe"  # the background of a label that covers a line
IDLE = "#efefef"  # the background of a time in which nothing happens
_GRID = "#e2e2e2"
# On a page, the style sheet sets these colours, with different ones for a dark screen.
_VARIABLES = {
    **{colour: f"arm-{number}" for number, colour in enumerate(ARMS, 1)},
    REPORTED: "said",
    INK: "ink",
    MUTED: "muted",
    PAPER: "paper",
    IDLE: "idle",
    _GRID: "grid",
}
DASHED, DOTTED = (0, (5, 3)), (0, (1, 1.5))  # strokes of predicted and of claimed figures
SMALL = 11  # points: the smallest text that is readable when a phone shrinks the figure

_SIZE = (6.1, 3.2)  # inches
_PLACE = re.compile(r' (?:d|x|y)="[^"]*"')
_FINER = re.compile(r"(?<=\.\d\d)\d+|\n")  # less than a hundredth of a unit, which no screen shows
_UNIT = re.compile(r"(?<=\d) (?=[^\W\d]|%)")  # the space between a figure and its unit, at which no line may break
_HEADING = 60  # the most characters in a line of a panel's name
_LABEL = 26  # the most characters in a label's line, so that the plot keeps enough room
_SHARP = 1.5  # the pixels of a PNG per pixel on the screen
_WIDTH_OF_PNG = slice(16, 20)  # the bytes with the width
_MANY = 4  # with more trials, a caption folds their list
_RC: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    # The first font comes with matplotlib, so that every machine draws the same. A page without it uses a similar one.
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": 11.5,
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "path.simplify_threshold": 0.5,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "replab",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@dataclass(frozen=True)
class Label:
    """Describes a text to the right of a line that ends at `y`."""

    y: float
    text: str
    colour: str


class Picture(Html):
    """Holds a figure with its caption.

    A notebook receives the figure as HTML, and as PNG with the figure's name in the metadata.
    """

    def __init__(
        self,
        name: str,
        svg: bytes,
        rasterise: Callable[[], bytes],
        alt: str,
        caption: str,
        foreign: bool = False,
        csv: str = "",
        values: str = "",
    ) -> None:
        """Create the figure from its SVG, with its data as CSV, and as `values` for the page's script.

        `rasterise` returns the PNG, which takes as long to draw as the SVG and is often not needed. A `foreign` figure,
        which another program drew, keeps its own colours.
        """
        self.name = name
        self.svg = svg
        self.rasterise = rasterise
        self.alt = alt
        self.caption = caption
        self.csv = csv
        shown = _framed(svg, alt) if foreign else _inlined(svg, name, alt)
        plain = escape(values, quote=False).replace("'", "&#x27;")  # JSON has many double quotes
        data = f" data-values='{plain}'" if values else ""
        super().__init__(f'<figure id="{escape(name)}"{data}>{shown}', f"<figcaption>{caption}</figcaption></figure>")

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG."""
        return self.rasterise()

    def save(self, path: Path | str) -> None:
        """Write the figure as PNG or SVG, depending on the name's suffix. Raises InputError for any other suffix."""
        forms = {".png": "png", ".svg": "svg"}
        if Path(path).suffix not in forms:
            raise InputError(f"{path} has another format; use a name that ends in {' or '.join(forms)}")
        Path(path).write_bytes(getattr(self, forms[Path(path).suffix]))

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        png = base64.b64encode(self.png).decode()
        return {"text/html": self.text, "image/png": png}, {"figure": self.name, "csv": self.csv}


class LivePicture(Picture):
    """Holds a picture outside a report. Jupyter shows the PNG, and the caption separately.

    In an untrusted notebook, for example from another person, Jupyter would show only the words of an HTML drawing. The
    drawing would also be dark on a dark theme.
    """

    def _ipython_display_(self) -> None:
        from IPython.display import display

        png = base64.b64encode(self.png).decode()
        width = round(int.from_bytes(self.png[_WIDTH_OF_PNG]) / _SHARP)
        shown = {"figure": self.name, "image/png": {"width": width}}
        display({"image/png": png, "text/plain": self.alt}, raw=True, metadata=shown)
        display({"text/html": self.caption, "text/plain": repr(Html(self.caption))}, raw=True)


def _framed(svg: bytes, alt: str) -> str:
    """Return the drawing as a separate image."""
    data = base64.b64encode(svg).decode()
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alt)}">'


def _inlined(svg: bytes, name: str, alt: str) -> str:
    """Return the drawing as a part of the page, with searchable text and the page's colours."""
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    used = set(re.findall(r"""(?:url\(#|href="#)([^)"]+)""", text))
    text = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}.{found[1]}"' if found[1] in used else "", text)
    text = _PLACE.sub(lambda found: _FINER.sub("", found[0]), text)
    text = re.sub(r"url\(#", f"url(#{name}.", text)
    text = re.sub(r'href="#', f'href="#{name}.', text)
    text = re.sub("|".join(_VARIABLES), lambda found: f"var(--{_VARIABLES[found[0]]}, {found[0]})", text)
    text = re.sub(r' (?:width|height)="[^"]*pt"', "", text, count=2)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1).strip()


def draw(
    kind: str,
) -> Callable[[Callable[Concatenate[TestedClaim, _P], Html]], Callable[Concatenate[TestedClaim, _P], Html]]:
    """Return a decorator: the figure function shows a sentence if its data is missing. `kind` names the figure."""

    def wrap(function: Callable[Concatenate[TestedClaim, _P], Html]) -> Callable[Concatenate[TestedClaim, _P], Html]:
        @wraps(function)
        def figure(claim: TestedClaim, /, *args: _P.args, **kwargs: _P.kwargs) -> Html:
            try:
                with mpl.rc_context():
                    mpl.rcdefaults()  # undo the user's settings
                    mpl.rcParams.update(_RC)
                    return function(claim, *args, **kwargs)
            except NotRun as error:
                return Html(f'<p class="missing">{badge("skipped")} {kind}: {prose(str(error))}</p>')
            except LabError as error:
                return Html(f'<p class="missing">No figure of {kind}: {prose(str(error))}</p>')

        return figure

    return wrap


def axes(
    panels: int = 1, size: tuple[float, float] = _SIZE, share: bool = True, **settings: Any
) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of one or more panels, one above the other. With `share`, the panels share the horizontal
    axis.
    """
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    made = figure.subplots(panels, 1, squeeze=False, sharex=share and panels > 1, **settings)
    return figure, [row[0] for row in made]


def heading(panel: Axes, text: str, colour: str = INK) -> None:
    """Write a panel's name above it, in lines that the figure does not cut."""
    lines = (fill(_UNIT.sub("\N{NO-BREAK SPACE}", line), _HEADING) for line in text.splitlines())
    panel.set_title("\n".join(lines), color=colour, loc="left", fontsize=SMALL)


def labels(target: Axes, wanted: Iterable[Label], room: float = 0.075) -> None:
    """Write texts at the right ends of lines, `room` (as a share of the axes' height) apart for each line of text."""
    low, high = target.get_ylim()
    ordered = sorted(wanted, key=lambda label: label.y)
    texts = [fill(_UNIT.sub("\N{NO-BREAK SPACE}", label.text), _LABEL) for label in ordered]
    halves = [room * (1 + text.count("\n")) / 2 for text in texts]
    ends = [(label.y - low) / (high - low) for label in ordered]
    places = [*ends]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + halves[index - 1] + halves[index])
    ceiling = 0.97 + room / 2
    for index in reversed(range(len(places))):
        places[index] = min(places[index], ceiling - halves[index])
        ceiling = places[index] - halves[index]
    moved = [abs(place - end) > room / 2 for place, end in zip(places, ends, strict=True)]
    for place, end, is_moved, text, label in zip(places, ends, moved, texts, ordered, strict=True):
        line = {
            "arrowstyle": "-",
            "color": label.colour,
            "linewidth": 0.7,
            "relpos": (0, 0.5),
            "shrinkA": 0,
            "shrinkB": 0,
        }
        target.annotate(
            text,
            (1.0, end),
            (1.06 if any(moved) else 1.01, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            color=label.colour,
            annotation_clip=False,
            arrowprops=line if is_moved else None,
        )


def bound(
    panel: Axes, at: tuple[float, float], sign: str, colour: str, label: str, across: Literal["|", "_"] = "_"
) -> None:
    """Draw a figure that is a bound: a stroke, `across` the axis of the figures, and an arrow to the allowed side."""
    panel.plot(*([each] for each in at), across, color=colour, markersize=13, markeredgewidth=2, label=label)
    onwards(panel, at, sign.strip() in ("≥", ">"), colour, is_upright=across == "_", length=20)


def onwards(
    panel: Axes, at: tuple[float, float], is_up: bool, colour: str, is_upright: bool = False, length: float = 9
) -> None:
    """Draw an arrow from a point to larger figures, or to smaller ones: `length` points to the right, or upwards."""
    far = length if is_up else -length
    style = {"arrowstyle": "<|-", "color": colour, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    there = (0, far) if is_upright else (far, 0)
    panel.annotate("", at, there, textcoords="offset points", arrowprops=style, annotation_clip=False)


def picture(
    claim: TestedClaim,
    kind: str,
    figure: Figure,
    alt: str,
    caption: str,
    shown: Sequence[TestedCase],
    foreign: bool = False,
    of_first: bool = False,
) -> Picture:
    """Return a page's figure.

    `alt` is the alternative text, `caption` is HTML, and `shown` holds the cases in the figure. A `foreign` figure was
    drawn by another program, with its own colours. With `of_first`, it shows only the first trial of each case, and
    its caption has the figure of all trials.
    """
    name = f"{claim.id.replace('/', '.')}.{kind}"
    svg, style = io.BytesIO(), mpl.rcParams.copy()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})

    def rasterise() -> bytes:
        png = io.BytesIO()
        with mpl.rc_context(style):
            figure.savefig(png, format="png", dpi=160, facecolor="white", metadata={"Software": None})
        return png.getvalue()

    csv, seen = ("", "") if foreign else (values.as_csv(figure), values.as_json(figure))
    copies = ["png", *(["csv"] if csv else [])] if claim.in_report else []
    copy = "".join(f' <a href="figures/{name}.{kind}">{kind.upper()}</a>' for kind in copies)
    traced = f'{caption} <div class="trace">{_trace(claim, shown, of_first)}{copy}</div>'
    kind_of_picture = Picture if claim.in_report else LivePicture
    return kind_of_picture(name, svg.getvalue(), rasterise, typeset(alt), traced, foreign, csv, seen)


def _trace(claim: TestedClaim, shown: Sequence[TestedCase], of_first: bool) -> str:
    """Return the trials, the kernel and the seeds of a figure, with several seeds as 'seeds 1-10, n = 10'."""
    records = {each.record.address: each.record for each in shown if each.record}
    links = ", ".join(claim.trial_link(record) for record in records.values())
    several = {each.label: each.result for each in shown if each.record and len(each.result.sample.figures) > 1}
    seeds = _seeds(claim, {each.case.key for each in shown})
    if of_first and several:
        drawn = ranges(sorted({record.trial.seed for record in records.values()}))
        all_of = "; ".join(f"{prose(label)}: {prose(summed(result))}" for label, result in several.items())
        which = "the first trial of each arm" if len(shown) > 1 else "the first trial"
        seeds = f"seed {drawn}. Only {which} is drawn; all trials: {all_of}"
    where = f"{escape(kernels(records.values()))}, {seeds}."
    if len(records) > _MANY:
        return folded(f"{len(records)} trials", links) + where
    return f"Trial{'s' if len(records) > 1 else ''} {links}; {where}"


def _seeds(claim: TestedClaim, cases: Collection[CaseKey]) -> str:
    """Return the seeds of the cases' figures and, for several seeds, the number of trials per case."""
    trials = [record.trial for record in claim.records if record.trial.key in cases]
    seeds = sorted({trial.seed for trial in trials})
    if len(seeds) < 2:
        return f"seed {seeds[0]}"
    counts = sorted({sum(trial.key == key for trial in trials) for key in cases} - {0})
    return f"seeds {ranges(seeds)}, n = {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))}"
