"""Draw exchanges of small writes: the messages' latencies, their packets, and the waits within a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from statistics import median
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from lab.metric import Segments, connection_of, counts_of, latencies
from lab.metric.arrays import Bools
from lab.model import exchange
from lab.model.small_writes import messages_of
from lab.report import drawing
from lab.report.drawing import (
    ARMS,
    IDLE,
    INK,
    MUTED,
    PREDICTED,
    REPORTED,
    SMALL,
    Label,
    axes,
    draw,
    heading,
    labels,
    picture,
)
from lab.report.html import Html
from lab.report.tested import TestedCase, TestedClaim

_WIDE = 8  # the axis is logarithmic if the longest time is more than this many times the shortest
_ENDS = ((min, 0.002), (max, 0.99))  # the axis runs from the least to the largest of the arms' quantiles
_WAYS = {  # way of writing -> its name
    "plain": "Nagle's rule",
    "nodelay": "TCP_NODELAY",
    "cork": "TCP_CORK",
    "writev": "writev()",
    "one-buffer": "one buffer",
}
_WAIT = 0.3  # share of a message's time: a longer gap is drawn as a wait
_SLOPE = 0.4  # rows by which an arrow falls; its text is above its start
_RUN = 4  # the longest run of equal packets that is drawn in full
_KINDS = (  # of packets, with their field of a measured and of a predicted exchange
    ("client: data", "client_data", "data", ARMS[0]),
    ("server: answer", "server_data", None, ARMS[2]),
    ("server: pure ACK", "server_acks", "acks", ARMS[1]),
)


@draw("message latencies")
def message_latencies(claim: TestedClaim, *arms: str) -> Html:
    """Draw the share of messages that were answered within a given time, one curve per arm with its median.

    Times predicted or claimed for a whole exchange are marked as time per message.
    """
    shown = claim.arms(*arms)
    found = [np.sort(latencies(each.ran)) * 1e3 for each in shown]
    figure, (panel,) = axes(size=(6.1, 0.3 * len(shown) + 2.6))
    low, high = (bound(np.quantile(times, share) for times in found) for bound, share in _ENDS)
    wide = high > _WIDE * low
    if wide:
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_xlim(*((low / 1.3, high * 1.3) if wide else (0.97 * low, 1.03 * high)))
    said = [f"{name}: {np.median(times):.4g} ms" for name, times in zip(_names(shown), found, strict=True)]
    ends: list[Label] = []
    for each, times, text, colour in zip(shown, found, said, (*ARMS, MUTED, INK), strict=False):
        panel.step(times, np.arange(1, len(times) + 1) / len(times), where="post", color=colour, linewidth=2)
        ends.append(Label(0.6 - 0.1 * len(ends), text, colour))
        _mark(claim, panel, each)
    panel.set(ylim=(0, 1.02), xlabel="time from a message's first write to its answer, ms", ylabel="share of messages")
    labels(panel, ends, room=0.1)
    alt = f"Message latencies, median: {'; '.join(said)}"
    caption = "The share of messages that were answered within a time, with the median of each arm."
    if any(each.result.predicted for each in shown):
        caption += " Dashed: predicted per message; dotted: the time claimed, divided by its 10,000 messages."
    return picture(claim, "message-latencies", figure, alt, caption, shown, of_first=True)


def _names(shown: Sequence[TestedCase]) -> list[str]:
    """Return each arm's way of writing as its label, if these ways differ. The arm's own name may describe a ratio."""
    ways = [str(getattr(each.case.workload, "way", "")) for each in shown]
    return [_WAYS.get(way, way) for way in ways] if len(set(ways)) == len(shown) > 1 else [each.label for each in shown]


def _mark(claim: TestedClaim, panel: Axes, each: TestedCase) -> None:
    """Mark the predicted and the claimed time of the exchange, per message."""
    messages = messages_of(claim.scenario_of(each)).count
    for value, colour, style in (
        (each.result.predicted, PREDICTED, drawing.DASHED),
        (each.claimed, REPORTED, drawing.DOTTED),
    ):
        if value and value.unit == "s":
            at = 1e3 * value.number / messages
            panel.axvline(at, color=colour, linestyle=style, linewidth=1.3, zorder=3)
            if colour == REPORTED:
                heading(panel, f"{each.whose}: {at:.4g} ms", colour)


@draw("packets per message")
def message_packets(claim: TestedClaim, *arms: str) -> Html:
    """Draw the median number of packets per message on the wire, one group per arm: data, answer, and pure ACKs."""
    shown = claim.arms(*arms)
    rows = []
    for each in shown:
        counts = counts_of(each.ran, each.case.path[0])
        expected = exchange(claim.scenario_of(each))
        for name, field, predicted, colour in _KINDS:
            number = float(np.median(getattr(counts, field)))
            rows.append((each, name, number, median(getattr(expected, predicted)) if predicted else None, colour))
    figure, (panel,) = axes(size=(6.1, 0.3 * len(rows) + 0.4 * len(shown) + 0.7))
    place, ticks = 0.0, []
    for index, (each, name, number, predicted, colour) in enumerate(rows):
        if index % len(_KINDS) == 0:
            place += 1.0
            panel.annotate(each.label, (0, place), va="center", fontweight="bold", annotation_clip=False)
        place += 1.0
        panel.barh(place, number, height=0.7, color=colour)
        end = max(number, predicted or 0)
        panel.annotate(f"{number:g}", (end, place), (5, 0), textcoords="offset points", va="center", color=colour)
        if predicted is not None:
            panel.plot([predicted, predicted], [place - 0.46, place + 0.46], color=PREDICTED, linewidth=2)
        ticks.append((place, name))
    panel.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    panel.set_ylim(place + 0.6, 0.4)
    panel.set_xlim(0, 1.12 * max(1.0, *(number for _, _, number, _, _ in rows)))
    panel.set_xlabel("packets per message")
    panel.grid(False, axis="y")
    panel.grid(True, axis="x")
    panel.tick_params(axis="y", length=0)
    alt = "Packets per message: " + "; ".join(f"{each.label}, {name}: {number:g}" for each, name, number, *_ in rows)
    caption = "Packets per message (median). Strokes across the bars: predicted."
    return picture(claim, "message-packets", figure, alt, caption, shown, of_first=True)


@draw("the packets of one message")
def message_sequence(claim: TestedClaim, arm: str, message: int = 10) -> Html:
    """Draw the packets of one message between client and server, one below the other, with the client's times."""
    each = claim.arms(arm)[0]
    scenario = claim.scenario_of(each)
    there, back = (way.delay.seconds * 1e3 for way in (scenario, scenario.reversed()))
    length = messages_of(scenario).size
    connection = connection_of(each.ran, each.case.path[0])
    client, server = connection.forward, connection.back
    first, last = 1 + message * length, 1 + (message + 1) * length
    start = int(client.time_ns[np.flatnonzero(client.data & (client.seq == first))[0]])
    end = int(server.time_ns[np.flatnonzero(server.data & (server.ack == last))[0]])
    own, answers = (client.seq >= first) & (client.seq < last), server.ack > first
    wait = _WAIT * (end - start) / 1e6
    arrows = [_Arrow(at, nr, at + there, text, True, data) for at, nr, text, data in _within(client, own, start, end)]
    arrows += [
        _Arrow(at - back, nr, at, text, False, data) for at, nr, text, data in _within(server, answers, start, end)
    ]
    arrows = [drawn for run in _runs(sorted(arrows), wait) for drawn in _shortened(run)]
    figure, (panel,) = axes(size=(6.1, 0.4 * len(arrows) + 1.5))
    place, before = 0.0, arrows[0].sent
    for arrow in arrows:
        place += 1.0
        if arrow.sent - before > wait:
            panel.axhspan(place - 0.25, place + 0.95, color=IDLE, linewidth=0)
            panel.annotate(f"no packet for {arrow.sent - before:.2f} ms", (0.5, place + 0.35), ha="center", va="center")
            place += 1.7
        _draw(panel, arrow, place)
        before = arrow.arrived
    for x, name in ((0, "client"), (1, "server")):
        panel.axvline(x, color=INK, linewidth=1.2)
        panel.annotate(name, (x, 0.2), ha="center", va="bottom", fontweight="bold", annotation_clip=False)
    panel.set(xlim=(-0.25, 1.12), ylim=(place + 0.9, 0.2))
    panel.axis("off")
    alt = "Packets of a message: " + "; ".join(f"{_time(arrow.at)} {arrow.text}" for arrow in arrows)
    caption = (
        f"{escape(each.label)}: the packets of one message, with the times at which the client sent or saw them. "
        "Sequence and acknowledgement numbers count from the start of the connection."
    )
    return picture(claim, f"message-sequence.{each.case.arm}", figure, alt, caption, [each], of_first=True)


class _Arrow(NamedTuple):
    """Describes a packet's arrow in the drawing. Times are in ms since the message's first packet.

    In virtual time, packets may be sent at the same moment. In that case, the order in the capture shows which packet
    came first.
    """

    sent: float
    packet: int  # index in the capture
    arrived: float
    text: str
    forward: bool
    data: int  # bytes
    stands_for: int = 1  # packets

    @property
    def at(self) -> float:
        """Return when the client sent or received the packet."""
        return self.sent if self.forward else self.arrived


def _within(segments: Segments, wanted: Bools, start: int, end: int) -> Iterator[tuple[float, int, str, int]]:
    """Yield (ms since `start`, index in the capture, text, bytes of data) for each wanted packet in this time."""
    for index in np.flatnonzero(wanted & (segments.time_ns >= start) & (segments.time_ns <= end)):
        payload, seq = int(segments.payload[index]), int(segments.seq[index])
        numbers = f"seq {seq}:{seq + payload}, ack {segments.ack[index]}" if payload else f"ack {segments.ack[index]}"
        said = f"{payload:,} B ({numbers})" if payload else f"ACK ({numbers})"
        yield (int(segments.time_ns[index]) - start) / 1e6, int(segments.packet[index]), said, payload


def _runs(arrows: Sequence[_Arrow], wait: float) -> Iterator[list[_Arrow]]:
    """Yield runs of packets in one direction with equal lengths, without a gap of `wait` ms between them."""
    run: list[_Arrow] = []
    for arrow in arrows:
        if run and ((arrow.forward, arrow.data) != (run[-1].forward, run[-1].data) or arrow.at - run[-1].at > wait):
            yield run
            run = []
        run.append(arrow)
    yield run


def _shortened(run: Sequence[_Arrow]) -> list[_Arrow]:
    """Return a run's packets.

    For a long run, return the first packet, one entry for all packets in between, and the last.
    """
    if len(run) <= _RUN:
        return list(run)
    first, *between, last = run
    size = f"of {first.data:,} B" if first.data else "ACKs"
    return [first, between[0]._replace(text=f"… {len(between)} more {size} …", stands_for=len(between)), last]


def _time(ms: float) -> str:
    return f"{1e3 * ms:.0f} µs" if ms < 1 else f"{ms:.3f} ms"


def _draw(panel: Axes, arrow: _Arrow, place: float) -> None:
    left, right = (0, 1) if arrow.forward else (1, 0)
    colour = ARMS[1] if not arrow.data else ARMS[0] if arrow.forward else ARMS[2]
    line = "-" if arrow.stands_for == 1 else ":"
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "linestyle": line, "shrinkA": 0, "shrinkB": 0}
    panel.annotate("", (right, place + _SLOPE), (left, place), arrowprops=style)
    panel.annotate(arrow.text, (0.5, place), ha="center", va="bottom", color=colour)
    y = place if arrow.forward else place + _SLOPE
    panel.annotate(
        _time(arrow.at),
        (0, y),
        (-6, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        color=MUTED,
        fontsize=SMALL,
        annotation_clip=False,
    )
