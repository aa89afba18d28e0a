"""Measure workloads that ran side by side (`lab.workload.Flows`): each by itself, and how they shared the network.

Times are in seconds since the first of them started. What a flow got is what its receiver took, by samples of tcp_info
(`lab.probe.TcpInfo`) at either end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from lab import outputs
from lab.metric import tcp_info
from lab.metric.arrays import Floats, Ints, np
from lab.metric.flow import MetricError
from lab.metric.metrics import Metric, Way
from lab.record.record import Output, Record, RecordError
from lab.record.trial import Trial
from lab.units import Rate, Value

__all__ = [
    "Shares",
    "convergence_time",
    "flow_goodput",
    "flow_share",
    "flows_of",
    "jain_index",
    "of_flow",
    "part_of",
    "shares_of",
    "total_goodput",
    "utilisation",
]


class Part(Record):
    """Shows one of several workloads of a trial as if it had run by itself.

    Its own outputs have their usual names, and what was watched is that of all; `port` tells whose packets are its own.
    """

    def __init__(self, whole: Record, name: str) -> None:
        super().__init__(whole.folder)
        self._whole, self._name = whole, name
        self.port = flows_of(whole)[name]["port"]

    @property
    def trial(self) -> Trial:
        """The trial's inputs, with this one for its workload."""
        trial = self._whole.trial
        own = next(flow["workload"] for flow in trial.workload["flows"] if flow["name"] == self._name)
        return structs.replace(trial, workload=own)

    @property
    def outputs(self) -> dict[str, Output]:
        """The files that its workload left, and those of all."""
        start, found = f"{self._name}/", self._whole.outputs
        shared = {name: output for name, output in found.items() if "/" not in name}
        return shared | {name.removeprefix(start): each for name, each in found.items() if name.startswith(start)}

    def path(self, name: str) -> Path:
        """Return the path of the output `name`: its own, or that of all. Raises RecordError when there is neither."""
        own = f"{self._name}/{name}"
        return self._whole.path(own if own in self._whole.outputs else name)


@dataclass(frozen=True)
class Shares:
    """Shares are what flows got over time: of each, by its name, the bytes that its receiver had taken by then."""

    starts: Mapping[str, float]  # in seconds, as all times here
    taken: Mapping[str, tuple[Floats, Ints]]  # (times, bytes)

    def goodput(self, name: str, start: float, end: float) -> float:
        """Return the bits per second that a flow got between two times: 0 before it starts, and once it has ended.

        Raises MetricError when nothing was sampled until then.
        """
        if end > self.end:
            raise MetricError(f"the flows were sampled for {self.end:.3g} s, not until {end:g} s")
        times, taken = self.taken[name]
        low, high = np.interp((start, end), times, taken, left=0.0)
        return float(8 * (high - low) / (end - start))

    def goodputs(self, start: float, end: float) -> Floats:
        """Return what each flow got, in their order."""
        return np.array([self.goodput(name, start, end) for name in self.taken])

    def over_time(self, name: str, bin_seconds: float) -> tuple[Floats, Floats]:
        """Return (starts of bins, bits per second in each) until the flow's last sample."""
        times, taken = self.taken[name]
        edges = np.arange(0.0, float(times[-1]) + bin_seconds / 2, bin_seconds)
        return edges[:-1], 8 * np.diff(np.interp(edges, times, taken, left=0.0)) / bin_seconds

    @property
    def end(self) -> float:
        """Return when the last sample was taken."""
        return max(float(times[-1]) for times, _ in self.taken.values())

    @property
    def all_end(self) -> float:
        """Return when the first of the flows had ended, by its last sample."""
        return min(float(times[-1]) for times, _ in self.taken.values())


def of_flow(name: str, metric: Metric) -> Metric:
    """Measure one of several workloads by the metric that it would have by itself."""
    return lambda record: metric(part_of(record, name))


def flow_goodput(name: str, start: float, end: float) -> Metric:
    """Measure the goodput of one flow between two times."""
    return lambda record: Value(shares_of(record).goodput(name, start, end), "bit/s")


def flow_share(name: str, start: float, end: float) -> Metric:
    """Measure the share of all goodput that one flow got between two times."""

    def measure(record: Record) -> Value:
        shares = shares_of(record)
        total = shares.goodputs(start, end).sum()
        if not total:
            raise MetricError(f"no flow got anything between {start:g} and {end:g} s")
        return Value(shares.goodput(name, start, end) / float(total), "1")

    return measure


def total_goodput(start: float, end: float) -> Metric:
    """Measure the goodput of all flows together between two times."""
    return lambda record: Value(float(shares_of(record).goodputs(start, end).sum()), "bit/s")


def utilisation(link: str, start: float, end: float, way: Way = "forward") -> Metric:
    """Measure what all flows' goodput takes of a link's rate: a full link has 0.941, since headers take the rest."""

    def measure(record: Record) -> Value:
        total = shares_of(record).goodputs(start, end).sum()
        return Value(float(total) / _rate(record, link, way), "1")

    return measure


def jain_index(start: float, end: float) -> Metric:
    """Measure how evenly goodput was shared between two times: (sum x)^2 / (n sum x^2), 1 where all got the same.

    Source: Jain, Chiu and Hawe (1984).
    """
    return lambda record: Value(_jain(shares_of(record).goodputs(start, end)), "1")


def convergence_time(index: float = 0.95, window: float = 1.0) -> Metric:
    """Measure the seconds from the last start until Jain's index, over a window, is first at least this.

    The metric raises MetricError when it never was while all flows ran.
    """

    def measure(record: Record) -> Value:
        shares = shares_of(record)
        last = max(shares.starts.values())
        for end in np.arange(last + window, shares.all_end, window / 10):
            if _jain(shares.goodputs(end - window, end)) >= index:
                return Value(float(end) - last, "s")
        raise MetricError(f"Jain's index over {window:g} s never was {index:g}")

    return measure


def part_of(record: Record, name: str) -> Record:
    """Return what one of several workloads left, as if it had run by itself. Raises MetricError when it did not run."""
    if name not in flows_of(record):
        raise MetricError(f"no flow '{name}': there is {', '.join(flows_of(record))}")
    return Part(record, name)


def flows_of(record: Record) -> dict[str, dict[str, int]]:
    """Return the port and the start of every flow, in the order in which they were declared.

    Raises MetricError when the trial ran only one workload.
    """
    if record.trial.workload["kind"] != "flows":
        raise MetricError("the trial ran one workload alone, and no flows")
    begun: dict[str, dict[str, int]] = record.json(outputs.FLOWS)
    return {flow["name"]: begun[flow["name"]] for flow in record.trial.workload["flows"]}


def shares_of(record: Record) -> Shares:
    """Return what the flows got that carried data over TCP and were sampled.

    Raises MetricError when no probe sampled any.
    """
    begun = flows_of(record)
    zero = min(flow["start_ns"] for flow in begun.values())
    sampled = _samples(record)
    taken = {
        name: _taken([each for each in sampled if flow["port"] in (each.local_port, each.remote_port)], zero)
        for name, flow in begun.items()
    }
    found = {name: each for name, each in taken.items() if each is not None}
    if not found:
        raise MetricError("no flow was sampled: probes=(TcpInfo(node='receiver'),) samples those that end there")
    return Shares({name: (begun[name]["start_ns"] - zero) / 1e9 for name in found}, found)


def _samples(record: Record) -> list[tcp_info.Samples]:
    names = [name for name in record.outputs if outputs.is_tcp_info(name)]
    return [each for name in sorted(names) for each in tcp_info.read(record.path(name))]


def _taken(samples: list[tcp_info.Samples], zero: int) -> tuple[Floats, Ints] | None:
    """Return (times, bytes) of the flow's largest connection, as the end with the fuller account saw it."""
    counts = [(each, each[name].astype(np.int64)) for each in samples for name in ("bytes_received", "bytes_acked")]
    if not counts:
        return None
    best, taken = max(counts, key=lambda each: int(each[1].max()))
    return (best.time_ns - zero) / 1e9, taken


def _jain(goodputs: Floats) -> float:
    squares = float((goodputs**2).sum())
    return float(goodputs.sum()) ** 2 / (len(goodputs) * squares) if squares else 0.0


def _rate(record: Record, link: str, way: Way) -> int:
    links: list[dict[str, Any]] = record.trial.network["links"]
    found = next((each for each in links if each["name"] == link), None)
    if found is None or not found[way]["rate"]:
        raise RecordError(f"the network has no link '{link}' with a rate {way}")
    return Rate.of(found[way]["rate"]).bps
