"""Flent's own plots, drawn by Flent from the data file that it left."""

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
_FILE = "plot.png"  # by its ending, Flent chooses a way to draw that needs no display


@draw("Flent's plot")
def flent_plot(claim: TestedClaim, arm: str, plot: Plot = "totals") -> Html:
    """The plot that `flent -p PLOT` makes of the arm's data file."""
    shown = claim.arms(arm)
    figure, about = _plotted(shown[0], plot)
    mpl.rcParams["savefig.bbox"] = "tight"  # with its legends, which are beside the axes
    name = shown[0].case.workload.test
    alt = f"Flent's plot '{plot}' of {name}: {about}"
    caption = f"Flent's own {about.lower()} of <code>{name}</code>, arm <code>{arm}</code>, from its data file."
    return picture(claim, f"flent-{arm}-{plot}", figure, alt, caption, shown)


def _plotted(tested: TestedCase, plot: Plot) -> tuple[Any, str]:
    """Flent's figure, and what it says of this kind of plot."""
    from flent import plotters, resultset  # takes half a second, and pages without such a plot need it not
    from flent.settings import load

    assert tested.record is not None
    file = str(flent_file(tested.record))
    results = [resultset.load(file)]
    delay = f"{tested.case.workload.delay.seconds:g}"  # which the file does not say
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
