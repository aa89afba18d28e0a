"""Show Flent's own plots, drawn by Flent from its data file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import Any, Literal

import matplotlib as mpl

from lab.metric import flent_file
from lab.report.drawing import draw, picture
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_Plot = Literal["totals", "ping", "ping_cdf", "download", "download_average", "box_totals"]
_FILE = "plot.png"  # with this suffix, Flent draws without a display


@draw("Flent's plot")
def flent_plot(claim: TestedClaim, *arms: str, plot: _Plot = "totals") -> Html:
    """Return the plot that `flent -p PLOT` draws from the arms' data files, with one `-i` for each file."""
    shown = claim.arms(*arms)
    figure, about = _plotted(shown, plot)
    mpl.rcParams["savefig.bbox"] = "tight"  # to include its legends, which are outside the axes
    name = _declared(shown[0]).test
    alt = f"Flent's plot '{plot}' of {name}: {about}"
    whose = escape(" and ".join(each.label for each in shown))
    caption = f"Flent's own {about.lower()} of <code>{name}</code>, {whose}, from what it stored."
    return picture(claim, f"flent-{'-'.join(arms)}-{plot}", figure, alt, caption, shown, foreign=True, of_first=True)


def _declared(tested: TestedCase) -> Any:
    """Return the case's workload, a `lab.guest.workload.Flent`."""
    return tested.case.workload


def _plotted(shown: Sequence[TestedCase], plot: _Plot) -> tuple[Any, str]:
    """Return Flent's figure, and Flent's description of this kind of plot."""
    from flent import plotters, resultset  # takes half a second, and most pages do not need it
    from flent.settings import load

    results, files = [], []
    for each in shown:
        assert each.record is not None
        files += ["-i", str(flent_file(each.record))]
        results.append(resultset.load(files[-1]))
        results[-1].set_label(each.case.arm if each.case.relative_to else each.label)
    delay = f"{_declared(shown[0]).delay.seconds:g}"  # the file does not have it
    settings = load(["-r", "/dev/null", "--no-annotation", *files, "-p", plot, "-o", _FILE, "-d", delay])
    settings.update(results[0].meta())
    settings.load_test(informational=True)
    plotters.init_matplotlib(_FILE, False, True)
    mpl.rcParams.update(plotters.MATPLOTLIB_STYLES)  # again, because the settings for an earlier figure were undone
    plotter = plotters.new(settings, results=results)
    plotter.init()
    plotter.plot(results)
    plotter.fallback_layout = True  # since matplotlib 3.11, Flent's own layout does not move the second axis
    plotter.output = io.BytesIO()  # saving adds legends and titles
    plotter.save(results)
    return plotter.figure, settings.PLOTS[plot]["description"]
