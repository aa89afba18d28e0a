"""Show Flent's own plots, drawn by Flent from the data file that it left."""

from __future__ import annotations

import io
from typing import Any, Literal

import matplotlib as mpl

from lab.metric import flent_file
from lab.report.drawing import draw, picture
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

__all__ = ["flent_plot"]

Plot = Literal["totals", "ping", "ping_cdf", "download", "download_average", "box_totals"]
_FILE = "plot.png"  # this ending makes Flent choose a way to draw that needs no display


@draw("Flent's plot")
def flent_plot(claim: TestedClaim, arm: str, plot: Plot = "totals") -> Html:
    """Show the plot that `flent -p PLOT` makes of the arm's data file."""
    shown = claim.arms(arm)
    figure, about = _plotted(shown[0], plot)
    mpl.rcParams["savefig.bbox"] = "tight"  # includes its legends, which are outside the axes
    name = _declared(shown[0]).test
    alt = f"Flent's plot '{plot}' of {name}: {about}"
    caption = f"Flent's own {about.lower()} of <code>{name}</code>, arm <code>{arm}</code>, from its data file."
    return picture(claim, f"flent-{arm}-{plot}", figure, alt, caption, shown, foreign=True)


def _declared(tested: TestedCase) -> Any:
    """Return the workload of the case, a `lab.workload.Flent`."""
    return tested.case.workload


def _plotted(tested: TestedCase, plot: Plot) -> tuple[Any, str]:
    """Return Flent's figure, and what Flent says of this kind of plot."""
    from flent import plotters, resultset  # takes half a second, and pages without such a plot need it not
    from flent.settings import load

    assert tested.record is not None
    file = str(flent_file(tested.record))
    results = [resultset.load(file)]
    delay = f"{_declared(tested).delay.seconds:g}"  # the file does not say it
    settings = load(["-r", "/dev/null", "-i", file, "-p", plot, "-o", _FILE, "-d", delay])
    settings.update(results[0].meta())
    settings.load_test(informational=True)
    plotters.init_matplotlib(_FILE, False, True)
    mpl.rcParams.update(plotters.MATPLOTLIB_STYLES)  # again: what it set for an earlier figure is undone
    plotter = plotters.new(settings, results=results)
    plotter.init()
    plotter.plot(results)
    plotter.fallback_layout = True  # its own leaves the second axis where it was, since matplotlib 3.11
    plotter.output = io.BytesIO()  # saving adds legends and titles
    plotter.save(results)
    return plotter.figure, settings.PLOTS[plot]["description"]
