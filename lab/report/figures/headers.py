"""Count the headers of data segments by length."""

from __future__ import annotations

from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from lab.model import largest_payload
from lab.model.line import packet
from lab.report.drawing import ARMS, MUTED, PAPER, PREDICTED, REPORTED, SMALL, axes, draw, heading, picture
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_ETHERNET = (("preamble", 8), ("Ethernet", 14))  # bytes before a packet
_BEHIND = (("FCS", 4), ("gap", 12))  # bytes after it
_IP = {4: 20, 6: 40}  # version -> bytes of the header
_Parts: TypeAlias = tuple[tuple[str, int], ...]  # name, bytes
_SHORTENED = 60  # bytes: the drawn length of the payload
_LENGTHS = range(20, 61, 4)  # bytes: all lengths that TCP's data offset can express


@draw("header lengths")
def header_lengths(claim: TestedClaim) -> Html:
    """Draw the number of data segments per TCP header length, one panel per arm."""
    shown = claim.run
    figure, panels = axes(len(shown), size=(6.1, 1.6 * len(shown) + 0.4), sharey=True)
    most = max(each.traffic.segments for each in shown)
    for each, panel, colour in zip(shown, panels, ARMS, strict=False):
        counts = each.traffic.header_lengths
        panel.bar(list(counts), list(counts.values()), width=2.4, color=colour)
        for length, count in counts.items():
            panel.annotate(f"{count:,} segments", (length + 1.6, count / 2), color=colour, va="center")
        _mark(panel, each, most)
        panel.set(xlim=(17, 62), ylim=(0, 1.5 * most), ylabel="segments")
        heading(panel, _setting(claim, each))
        panel.yaxis.set_major_formatter(EngFormatter(sep=""))
    panels[-1].set_xlabel("TCP header of a data segment, bytes")
    panels[-1].set_xticks(_LENGTHS)
    alt = "; ".join(f"{each.label}: segments by header bytes {dict(each.traffic.header_lengths)}" for each in shown)
    caption = "Data segments by the length of their TCP header. All are counted, not a sample."
    return picture(claim, "header-lengths", figure, alt, caption, shown, of_first=True)


@draw("a frame")
def frame(claim: TestedClaim, *arms: str) -> Html:
    """Draw the parts of a full segment's frame, one panel per arm, to scale except for the payload."""
    shown = claim.arms(*arms)
    frames: dict[_Parts, list[str]] = {}
    for each in shown:
        frames.setdefault(_parts(claim, each), []).append(each.label)
    figure, panels = axes(len(frames), size=(6.1, 1.15 * len(frames) + 0.3))
    said = []
    for (parts, names), panel in zip(frames.items(), panels, strict=True):
        payload = dict(parts)["payload"]
        whole = sum(size for _, size in parts)
        at = 0
        for index, (name, size) in enumerate(parts):
            drawn = _SHORTENED if name == "payload" else size
            colour = ARMS[0] if name == "payload" else ARMS[1] if name == "TCP" else MUTED
            panel.barh(0, drawn, left=at, height=0.5, color=colour, edgecolor=PAPER, linewidth=1.5)
            text = f"{name} {size:,}" + (" (shortened)" if name == "payload" else "")
            above = index % 2 == 0
            place, side = (at + drawn / 2, 0.34 if above else -0.34), "bottom" if above else "top"
            panel.annotate(text, place, ha="center", va=side, color=colour, fontsize=SMALL, annotation_clip=False)
            at += drawn
        share = f"{payload:,} of {whole:,} bytes are payload: {100 * payload / whole:.2f} %"
        panel.set(xlim=(0, at), ylim=(-0.8, 0.8))
        heading(panel, f"{', '.join(names)}: {share}")
        panel.axis("off")
        said.append(f"{', '.join(names)}: {share}; {', '.join(f'{name} {size}' for name, size in parts)}")
    caption = "The bytes of a full segment's frame on the wire, to scale except for the payload, which is shortened."
    return picture(claim, "frame", figure, "; ".join(said), caption, shown)


def _parts(claim: TestedClaim, each: TestedCase) -> _Parts:
    """Return the parts of a full segment's frame, in order."""
    scenario = claim.scenario_of(each)
    payload = int(largest_payload(scenario).number)
    headers = (("IP", _IP[scenario.ip]), ("TCP", packet(scenario).bytes - _IP[scenario.ip] - payload))
    return (*_ETHERNET, *headers, ("payload", payload), *_BEHIND)


def _mark(panel: Axes, each: TestedCase, top: float) -> None:
    """Mark the predicted and the claimed length, if the claim is about lengths."""
    for value, name, colour, height in (
        (each.result.predicted, "predicted", PREDICTED, 1.14 * top),
        (each.claimed, each.whose, REPORTED, 1.36 * top),
    ):
        if value and value.unit == "B":
            panel.plot([value.number], [height], marker="v", color=colour, markersize=5, clip_on=False)
            text = f"{name} {value.number:g} B"
            panel.annotate(text, (value.number + 1.6, height), color=colour, va="center", annotation_clip=False)


def _setting(claim: TestedClaim, each: TestedCase) -> str:
    """Return the sysctls that the arm sets, or the arm's name if the arm sets no sysctls."""
    arm = next(arm for arm in claim.judged.declared.experiment.arms if arm.name == each.case.arm)
    return ", ".join(f"{name} = {value}" for name, value in arm.sysctls.items()) or each.label
