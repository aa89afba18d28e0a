"""Put a congestion control into a study's flows: under judgement, or as the rival.

A flow under judgement is called "judged", or has a name that starts with "judged-". The rival is called "rival".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from msgspec import structs

from lab.base import ethernet
from lab.guest.network import Direction, Network
from lab.guest.task import Traffic
from lab.guest.workload import Flow, Flows
from lab.spec.arms import Arm
from lab.spec.loaded import LoadedExperiment
from lab.units import Duration, Rate, Value

JUDGED, RIVAL = "judged", "rival"
BOTTLENECK = "bottleneck"  # the link that changes on changed paths
PATHS = ("half the rate", "twice the rate", "half the delay", "twice the delay", "half the buffer", "twice the buffer")


def is_judged(flow: Flow) -> bool:
    """Return whether the flow's congestion control is under judgement."""
    return flow.name == JUDGED or flow.name.startswith(f"{JUDGED}-")


def mistake(study: LoadedExperiment, rival: bool = False) -> str:
    """Return why the judge cannot use a study, with the remedy, or "". With `rival`, it also needs a rival."""
    workload = study.experiment.workload
    parts = workload.flows if isinstance(workload, Flows) else ()
    changing = [flow for flow in parts if is_judged(flow) or (rival and flow.name == RIVAL)]
    if not any(map(is_judged, changing)):
        return f"no flow is under judgement; give its workload, a Flows, a flow with the name '{JUDGED}'"
    if rival and not any(flow.name == RIVAL for flow in changing):
        return f"no flow is the rival; give its workload a flow with the name '{RIVAL}'"
    for flow in changing:
        if not hasattr(flow.workload, "congestion"):
            kind = type(flow.workload).__name__
            return f"flow '{flow.name}' is a {kind}, which takes no congestion control; use a Bulk"
    if not any(link.name == BOTTLENECK for link in study.topology.network.links):
        return f"its topology has no link '{BOTTLENECK}'; give the link that limits the flows this name"
    return ""


def with_control(workload: Traffic, control: str, rival: str = "") -> Traffic:
    """Return the flows with `control` under judgement, and with `rival`, if given, for the rival."""
    assert isinstance(workload, Flows)
    return structs.replace(workload, flows=tuple(_changed(flow, control, rival) for flow in workload.flows))


def _changed(flow: Flow, control: str, rival: str) -> Flow:
    wanted = control if is_judged(flow) else rival if flow.name == RIVAL else ""
    return structs.replace(flow, workload=structs.replace(flow.workload, congestion=wanted)) if wanted else flow


def study_of(study: LoadedExperiment, control: str, samples: int, paths: bool = False) -> LoadedExperiment:
    """Return the study with `control` under judgement as its only arm, and `samples` seeds.

    With `paths`, each changed path is a further arm with one seed.
    """
    arm = Arm(control, workload=with_control(study.experiment.workload, control))
    arms = [arm, *(_changed_paths(study, arm) if paths else ())]
    return _with_arms(study, tuple(arms), samples)


def mixture_of(study: LoadedExperiment, control: str, rivals: tuple[str, ...], samples: int) -> LoadedExperiment:
    """Return the study of mixtures: an arm for each rival."""
    workload = study.experiment.workload
    arms = (Arm(f"{control}-against-{rival}", workload=with_control(workload, control, rival)) for rival in rivals)
    return _with_arms(study, tuple(arms), samples)


def _with_arms(study: LoadedExperiment, arms: tuple[Arm, ...], samples: int) -> LoadedExperiment:
    return replace(study, experiment=replace(study.experiment, arms=arms, samples=samples), any_control=True)


def _changed_paths(study: LoadedExperiment, arm: Arm) -> Iterator[Arm]:
    """Yield an arm for each change of the bottleneck that its queue allows."""
    link = bottleneck(study)
    for path in PATHS:
        share, _, what = path.partition(" the ")
        factor = Fraction(1, 2) if share == "half" else Fraction(2)
        if (changes := _changes(link, what, factor)) is not None:
            yield replace(arm, name=path_arm(arm.name, path), links={BOTTLENECK: changes}, samples=1)


def path_arm(control: str, path: str) -> str:
    """Return the name of the arm of a changed path."""
    return f"{control}-{path.replace(' ', '-')}"


def _changes(link: Direction, what: str, factor: Fraction) -> dict[str, object] | None:
    if what == "rate" and link.rate:
        return {"rate": Rate(int(link.rate.bps * factor))}
    if what == "delay":
        return {"delay": Duration(int(link.delay.ns * factor))}
    if what == "buffer" and (limit := _limit(link)):
        return {"forward": {"queue": {"kind": "pfifo", "limit": max(1, int(limit * factor))}}}
    return None


def bottleneck(study: LoadedExperiment) -> Direction:
    """Return the study's bottleneck, in the direction of the data."""
    return forward(study.cases()[0].network)


def forward(network: Network) -> Direction:
    """Return a network's bottleneck, in the direction of the data."""
    return next(each.forward for each in network.links if each.name == BOTTLENECK)


def buffer_time(link: Direction) -> Value | None:
    """Return the time that a full buffer takes to drain; None for an AQM."""
    limit = _limit(link)
    if not limit or not link.rate:
        return None
    return Value(limit * 8 * (link.mtu.bytes + ethernet.AROUND) / link.rate.bps, "s")


def _limit(link: Direction) -> int | None:
    """Return the number of packets that a tail-drop queue holds, else None."""
    if link.queue is None or link.queue.kind != "pfifo":
        return None
    limit = dict(link.queue.parameters)["limit"]
    assert isinstance(limit, int)
    return limit
