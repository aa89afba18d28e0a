"""Compute a law's sensitivity to each input: d ln figure / d ln input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log

from msgspec import structs

from lab.guest.network import Direction
from lab.model.scenario import ModelError, Scenario
from lab.spec.prediction import Prediction
from lab.units import Duration, Rate

_STEP = 0.01
_LEAST = 0.005  # smaller values are rounding

_Change = Callable[[Direction, float], Direction]


def _rate(hop: Direction, factor: float) -> Direction:
    return structs.replace(hop, rate=Rate(round(hop.rate.bps * factor))) if hop.rate else hop


def _delay(hop: Direction, factor: float) -> Direction:
    return structs.replace(hop, delay=Duration(round(hop.delay.ns * factor)))


def _loss(hop: Direction, factor: float) -> Direction:
    return structs.replace(hop, loss=min(1.0, hop.loss * factor))


_INPUTS: Mapping[str, _Change] = {"rate": _rate, "delay": _delay, "loss": _loss}


def sensitivities(prediction: Prediction, scenario: Scenario) -> dict[str, float]:
    """Return, for each input, the figure's change in per cent if the input changes by one per cent on all links.

    The result omits inputs that do not affect the figure, and inputs that cannot change in either direction without
    leaving the law's range. A simulation takes too long, so only closed forms are evaluated.
    """
    found = {}
    for name, change in _INPUTS.items() if prediction.kind in ("law", "replay") else ():
        try:
            up, down = (prediction(_changed(scenario, change, 1 + step)).number for step in (_STEP, -_STEP))
        except ModelError:
            continue
        if up > 0 and down > 0 and abs(slope := log(up / down) / log((1 + _STEP) / (1 - _STEP))) >= _LEAST:
            found[name] = round(slope, 2)
    return found


def _changed(scenario: Scenario, change: _Change, factor: float) -> Scenario:
    forward, reverse = (tuple(change(hop, factor) for hop in way) for way in (scenario.forward, scenario.reverse))
    flows = tuple(replace(flow, scenario=_changed(flow.scenario, change, factor)) for flow in scenario.flows)
    return replace(scenario, forward=forward, reverse=reverse, flows=flows)
