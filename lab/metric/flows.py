"""Measure workloads that ran side by side (`Flows`): each workload on its own, and the division of the network.

Times are in seconds since the first flow started. Without times, a figure describes the long run (`lab.spec.steady`). A
flow's goodput counts the bytes that its receiver has received, from tcp_info samples (`lab.guest.probe.TcpInfo`) at
either end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from msgspec import structs

from lab.guest import outputs
from lab.guest.trial import Trial
from lab.metric import tcp_info
from lab.metric.arrays import Floats, Ints, np
from lab.metric.tools import Way
from lab.record.record import Output, Record, RecordError
from lab.spec.metric import Measure, MetricError, measures
from lab.spec.steady import Course, OverTime
from lab.units import Duration, Rate, Value


class _Part(Record):
    """Presents one of a trial's workloads as if this workload had run alone.

    The workload's own outputs have their usual names, next to the outputs that all workloads share. `port` identifies
    the workload's packets.
    """

    def __init__(self, whole: Record, name: str) -> None:
        super().__init__(whole.folder)
        self._whole, self._name = whole, name
        self.port = flows_of(whole)[name]["port"]

    @property
    def trial(self) -> Trial:
        """The trial's inputs, with this workload as the only one."""
        trial = self._whole.trial
        own = next(flow["workload"] for flow in trial.workload["flows"] if flow["name"] == self._name)
        return structs.replace(trial, workload=own)

    @property
    def outputs(self) -> dict[str, Output]:
        """The files that the workload left behind, and the files that all workloads share."""
        start, found = f"{self._name}/", self._whole.outputs
        shared = {name: output for name, output in found.items() if "/" not in name}
        return shared | {name.removeprefix(start): each for name, each in found.items() if name.startswith(start)}

    def path(self, name: str) -> Path:
        """Return the path of the output `name`: the workload's own, else the shared output.

        Raises RecordError if there is no such output.
        """
        own = f"{self._name}/{name}"
        return self._whole.path(own if own in self._whole.outputs else name)


@dataclass(frozen=True)
class Shares:
    """Holds the number of bytes that each flow's receiver had received, over time, by flow name."""

    starts: Mapping[str, float]  # in seconds, like all times here
    taken: Mapping[str, tuple[Floats, Ints]]  # (times, bytes)

    def goodput(self, name: str, start: float, end: float) -> float:
        """Return a flow's goodput between two times, in bits per second: 0 before it starts and after it ends.

        Raises MetricError if the samples end before `end`.
        """
        if end > self.end:
            raise MetricError(f"the flows were sampled for {self.end:.3g} s, not until {end:g} s")
        times, taken = self.taken[name]
        low, high = np.interp((start, end), times, taken, left=0.0)
        return float(8 * (high - low) / (end - start))

    def goodputs(self, start: float, end: float) -> Floats:
        """Return each flow's goodput, in the order of the flows."""
        return np.array([self.goodput(name, start, end) for name in self.taken])

    def over_time(self, name: str, bin_seconds: float) -> tuple[Floats, Floats]:
        """Return (starts of bins, bits per second in each) until the flow's last sample."""
        times, taken = self.taken[name]
        edges = np.arange(0.0, float(times[-1]) + bin_seconds / 2, bin_seconds)
        return edges[:-1], 8 * np.diff(np.interp(edges, times, taken, left=0.0)) / bin_seconds

    @property
    def end(self) -> float:
        """Return the time of the last sample."""
        return max(float(times[-1]) for times, _ in self.taken.values())

    @property
    def all_end(self) -> float:
        """Return the earliest time of a flow's last sample, until which all flows ran."""
        return min(float(times[-1]) for times, _ in self.taken.values())


@measures()
def of_flow(name: str, metric: Measure) -> Measure:
    """Measure one of several workloads with a metric for a workload that runs alone."""
    return lambda record: metric(part_of(record, name))


@measures("bit/s")
def flow_goodput(name: str, start: float | None = None, end: float | None = None) -> Measure:
    """Measure the goodput of one flow."""
    return OverTime(lambda record: _course(record, "bit/s", lambda all_, *when: all_.goodput(name, *when)), start, end)


@measures("1", most=1)
def flow_share(name: str, start: float | None = None, end: float | None = None) -> Measure:
    """Measure one flow's share of the goodput of all flows."""

    def share(shares: Shares, low: float, high: float) -> float:
        total = float(shares.goodputs(low, high).sum())
        if not total:
            raise MetricError(f"no flow carried data between {low:g} and {high:g} s")
        return shares.goodput(name, low, high) / total

    return OverTime(lambda record: _course(record, "1", share), start, end)


@measures("bit/s")
def total_goodput(start: float | None = None, end: float | None = None) -> Measure:
    """Measure the goodput of all flows together."""
    return OverTime(lambda record: _course(record, "bit/s", _total), start, end)


@measures("1")
def utilisation(link: str, start: float | None = None, end: float | None = None, way: Way = "forward") -> Measure:
    """Measure the goodput of all flows as a share of a link's rate. A full link gives 0.941, because headers take the
    rest.
    """

    def course(record: Record) -> Course:
        rate = _rate(record, link, way)
        return _course(record, "1", lambda shares, *when: _total(shares, *when) / rate)

    return OverTime(course, start, end)


@measures("1", most=1)
def jain_index(start: float | None = None, end: float | None = None) -> Measure:
    """Measure how evenly goodput was shared: (sum x)^2 / (n sum x^2), which is 1 if all flows have equal goodput.

    Source: Jain, Chiu and Hawe (1984).
    """
    return OverTime(
        lambda record: _course(record, "1", lambda shares, *when: _jain(shares.goodputs(*when))), start, end
    )


@measures("s", by="median")
def convergence_time(index: float = 0.95, window: float = 1.0) -> Measure:
    """Measure the time, in seconds, from the last flow's start until Jain's index over `window` seconds first reaches
    `index`.

    If the index does not reach `index` while all flows run, the figure is the length of that time, as a lower bound.
    Raises MetricError if the flows do not all run for `window` seconds.
    """

    def measure(record: Record) -> Value:
        shares = shares_of(record)
        last = max(shares.starts.values())
        for end in np.arange(last + window, shares.all_end, window / 10):
            if _jain(shares.goodputs(end - window, end)) >= index:
                return Value(float(end) - last, "s")
        shared = shares.all_end - last
        if shared <= window:
            raise MetricError(f"all flows ran together for {shared:.3g} s, which is not more than {window:g} s")
        return Value(shared, "s", shared, inf)

    return measure


def part_of(record: Record, name: str) -> Record:
    """Return the record of one of several workloads, as if the workload had run alone.

    Raises MetricError if the workload did not run.
    """
    if name not in flows_of(record):
        raise MetricError(f"no flow '{name}'; use one of {', '.join(flows_of(record))}")
    return _Part(record, name)


def flows_of(record: Record) -> dict[str, dict[str, int]]:
    """Return the port and the start of every flow, in the order of their declaration.

    Raises MetricError if the trial ran only one workload.
    """
    if record.trial.workload["kind"] != "flows":
        raise MetricError("the trial ran a single workload, not flows")
    begun: dict[str, dict[str, int]] = record.json(outputs.FLOWS)
    return {flow["name"]: begun[flow["name"]] for flow in record.trial.workload["flows"]}


def busy_ns(record: Record) -> tuple[int, int] | None:
    """Return (start, end), in ns, of the time in which all flows with a duration ran; None if no flow has a
    duration.
    """
    if record.trial.workload["kind"] != "flows":
        return None
    begun = flows_of(record)
    lasts = {flow["name"]: flow["workload"].get("duration") for flow in record.trial.workload["flows"]}
    spans = [(begun[name]["start_ns"], Duration.of(each).ns) for name, each in lasts.items() if each]
    return (max(start for start, _ in spans), min(map(sum, spans))) if spans else None


def shares_of(record: Record) -> Shares:
    """Return the shares of all TCP flows that were sampled.

    Raises MetricError if no probe sampled a flow.
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
        raise MetricError("no flow was sampled; add probes=(TcpInfo(node='receiver'),) for the flows that end there")
    return Shares({name: (begun[name]["start_ns"] - zero) / 1e9 for name in found}, found)


def _course(record: Record, unit: str, figure: Callable[[Shares, float, float], float]) -> Course:
    """Return a figure of the flows' shares over the time in which all flows ran."""
    shares = shares_of(record)
    begin, end = max(shares.starts.values()), shares.all_end
    return Course(begin, end, unit, lambda low, high: figure(shares, low, high))


def _total(shares: Shares, start: float, end: float) -> float:
    return float(shares.goodputs(start, end).sum())


def _samples(record: Record) -> list[tcp_info.Samples]:
    names = [name for name in record.outputs if outputs.is_tcp_info(name)]
    return [each for name in sorted(names) for each in tcp_info.read(record.path(name))]


def _taken(samples: list[tcp_info.Samples], zero: int) -> tuple[Floats, Ints] | None:
    """Return (times, bytes) of the flow's largest connection, from the end that counted more bytes."""
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
    if any(change.get("rate") for change in found[way].get("changes", ())):
        raise MetricError(f"the rate of link '{link}', {way}, changes: there is no rate to compare with")
    return Rate.of(found[way]["rate"]).bps
