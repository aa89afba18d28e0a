"""Measure how a trial's cost grows with its flows and with its rate, and draw it.

    python -m bench.growth FILE.json           measures, and keeps the figures
    python -m bench.growth FILE.json --draw FILE.svg

Cost is CPU time of one `lab run`, from its start to its verdict, all its processes included. The flows of a trial share
one link of a gigabit and carry a second of it together; for the rates, one transfer fills its link for 200 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from bench.trials import LAB, cpu
from lab.errors import LabError

FLOWS = (1, 10, 100, 1000)
RATES = ("10 Mbit/s", "100 Mbit/s", "1 Gbit/s", "10 Gbit/s", "100 Gbit/s")
RUNS = 3
TOTAL = 116_000_000  # bytes of payload that a gigabit carries in a second

_FLOWS = Template('''"""$count flows share a link of a gigabit.

Source: arithmetic.
"""

from lab import metric
from lab.spec.experiment import Absolute, Arm, Experiment, Reported
from lab.units import Duration, Size
from lab.guest.workload import Arrivals

EXPERIMENT = Experiment(
    topology="symmetric-10g",
    workload=Arrivals(count=$count, size=Size($size), interval=Duration.of("1 us"), even=True),
    metric=metric.completion_time(),
    tolerance=Absolute("1 min", because="only what the trial costs matters"),
    arms=(Arm("all", Reported("1 s", "they take about a second"), links={"path": {"rate": "1 Gbit/s"}}),),
)
''')
_RATE = Template('''"""A transfer over a link of $rate.

Source: arithmetic.
"""

from lab import metric
from lab.spec.experiment import Absolute, Arm, Experiment, Reported
from lab.units import Duration
from lab.guest.workload import Bulk

EXPERIMENT = Experiment(
    topology="symmetric-10g",
    workload=Bulk(duration=Duration.of("200 ms")),
    metric=metric.transfer_time(),
    tolerance=Absolute("1 min", because="only what the trial costs matters"),
    arms=(Arm("all", Reported("200 ms", "as long as it sends"), links={"path": {"rate": "$rate"}}),),
)
''')

Costs = Mapping[str, Sequence[float]]  # seconds of CPU of each run, by flows or rate


def measure(scratch: Path, runs: int = RUNS) -> dict[str, Costs]:
    """Return what trials cost, by their flows and by their rate. Raises LabError when one fails."""
    flows = {str(count): _FLOWS.substitute(count=count, size=TOTAL // count) for count in FLOWS}
    rates = {rate: _RATE.substitute(rate=rate) for rate in RATES}
    return {
        "flows": {name: _costs(scratch, f"flows-{name}", text, runs) for name, text in flows.items()},
        "rates": {name: _costs(scratch, f"rate-{index}", rates[name], runs) for index, name in enumerate(rates)},
    }


def _costs(scratch: Path, name: str, text: str, runs: int) -> list[float]:
    experiment = scratch / f"{name}.py"
    experiment.write_text(text)
    return [_cost(experiment, scratch / "results") for _ in range(runs)]


def _cost(experiment: Path, results: Path) -> float:
    shutil.rmtree(results, ignore_errors=True)
    before = cpu()
    argv = [str(LAB), "run", str(experiment), "--results", str(results), "--jobs", "1"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"{experiment.stem} failed: {done.stdout.strip()} {done.stderr.strip()}")
    return round(cpu() - before, 3)


def draw(costs: Mapping[str, Costs], path: Path) -> None:
    """Draw both as an SVG whose text is text; the same figures give the same bytes."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    with mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "growth", "font.size": 11, "font.family": "sans-serif"}
    ):
        figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
        _panel(axes[0], costs["flows"], "flows that share 1 Gbit/s, a second in all")
        _panel(axes[1], costs["rates"], "rate of one flow's link, 200 ms of it")
        axes[0].set_ylabel("seconds of CPU")
        figure.savefig(path, format="svg", metadata={"Date": None, "Title": "What a trial costs, by flows and by rate"})
        pyplot.close(figure)


def _panel(axes: Any, costs: Costs, label: str) -> None:
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

    middle = [sorted(runs)[len(runs) // 2] for runs in costs.values()]
    at = range(len(middle))
    axes.plot(at, middle, marker="o", color="#0072b2")
    for place, value in zip(at, middle, strict=True):
        axes.annotate(f"{value:.2g}", (place, value), textcoords="offset points", xytext=(-4, 7), ha="center")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xticks(list(at), [name.replace(" ", "\n") for name in costs])
    axes.set_xlabel(label)
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.margins(x=0.1, y=0.2)


def main() -> int:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", type=Path, metavar="FILE.json")
    parser.add_argument("--draw", type=Path, metavar="FILE.svg", help="draw the figures that are there")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    if options.draw:
        draw(json.loads(options.figures.read_text()), options.draw)
        return 0
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="bench-", dir="build") as scratch:
        try:
            costs = measure(Path(scratch), options.runs)
        except LabError as error:
            print(f"bench: {error}", file=sys.stderr)
            return error.exit_code
    options.figures.write_text(json.dumps(costs, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
