"""Draw a page's claims as one dot plot of measured over claimed figures, with a row for each claim.

The plot consists of the page's own text and boxes, so it fits every width, works with screen readers, and prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import inf, log

from lab.report import evidence, html, wording
from lab.report.claim import Claim
from lab.report.html import Html
from lab.report.quantity import of_number, quantity
from lab.report.tested import TestedCase
from lab.verdict import Kind

_LIMITS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0)  # ratios at which an axis may end; an arrow is beyond
_WITHOUT_FIGURE: tuple[Kind, ...] = (
    "not testable as stated",
    "measured",
    "invalid",
    "skipped",
)  # verdicts without a figure
_HEADS = "".join(f"<span>{head}</span>" for head in ("Claim", "Claimed", "Measured ÷ claimed", "Measured", "Packets"))
PACKETS = "packets"  # the anchor of the plot, whose last column links to the packets
_MOST_SEEDS = 60  # points of a row that can be told apart
_MIDDLE, _HALF = 50.0, 44.0  # per cent of the row: the place of "as claimed", and the reach of the axis from there


@dataclass(frozen=True)
class _Row:
    """Holds one claim's row: the case that decides its verdict, and the witnesses of the same figure."""

    claim: Claim
    decides: TestedCase
    witnesses: tuple[TestedCase, ...]

    def ratios(self, bounds: bool = False) -> list[float]:
        """Return measured over claimed figures for case and witnesses: only for `bounds`, or for all other figures."""
        shown = (each for each in (self.decides, *self.witnesses) if bool(each.result.bound) == bounds)
        return [ratio for each in shown if (ratio := _ratio(each)) is not None]


def dots(claims: Iterable[Claim]) -> Html:
    """Return the plot. A claim without a figure has a row with its verdict and the reason.

    A claim that was not run has no row.
    """
    shown = list(claims)
    drawn = {row.claim.name: row for row in _rows(shown)}
    rows = list(drawn.values())
    if not rows:
        return Html("")
    found = [ratio for row in rows for ratio in row.ratios()]  # a bound may be far away, and need not be visible
    limit = _limit(found or [ratio for row in rows for ratio in row.ratios(bounds=True)])
    ticks = "".join(
        f'<span class="{kind}" style="left:{_place(ratio, limit):.4g}%">{text}</span>'
        for ratio, (kind, text) in _ticks(limit).items()
    )
    if not found and not any(row.ratios(bounds=True) for row in rows):
        return _list(shown, drawn, limit)  # yes or no everywhere, so that there is no axis
    keys = ['<span class="dot"></span> measured', "1×: as claimed"]
    if any(row.witnesses for row in rows):
        keys.append('<span class="dot witness"></span> with what explains it')
    if any(_ratio(row.decides) == 0 for row in rows):
        keys.append('<span class="dot zero"></span> 0 measured')
    if any("beyond" in _shape(ratio, limit) for row in rows if (ratio := _ratio(row.decides)) is not None):
        keys.append('<span class="dot beyond"></span> measured, beyond the scale')
    if any("beyond" in shape for row in rows for shape, _ in _marks(row.witnesses, limit)):
        keys.append('<span class="dot beyond witness"></span> with what explains it, beyond the scale')
    if any(_seeds(row.decides, limit) for row in rows):
        keys.append('<span class="seed"></span> a trial (n: how many)')
    if any(_interval(row.decides, limit) for row in rows):
        keys.append('<span class="interval"></span> interval of the mean or median')
    if any("cut" in _interval(row.decides, limit) for row in rows):
        keys.append('<span class="interval cut high"></span> an interval that goes on beyond the scale')
    if any(_band(row.decides, limit) for row in rows):
        keys.append('<span class="band"></span> agrees with the claim')
    return Html(
        _list(shown, drawn, limit).text,
        f'<div class="axis" aria-hidden="true"><span class="ticks">{ticks}</span></div>',
        f'<p class="key" aria-hidden="true">{" ".join(f"<span>{key}</span>" for key in keys)}</p>',
    )


def _list(shown: Sequence[Claim], drawn: Mapping[str, _Row], limit: float) -> Html:
    """Return the rows below their heads. `drawn` holds the claims with a figure, by name."""
    return Html(
        f'<div class="axis heads" id="{PACKETS}" aria-hidden="true">{_HEADS}</div>',
        '<ol class="dots" aria-label="Measured over claimed, claim by claim">',
        *(
            _drawn(drawn[claim.name], limit) if claim.name in drawn else _told(claim)
            for claim in shown
            if claim.name in drawn or claim.verdict.kind != "skipped"
        ),
        "</ol>",
    )


def places(claims: Iterable[Claim]) -> dict[str, float]:
    """Return the place of each claim's measured figure on the plot's axis, by name, from 0 (left) to 1 (right).

    0.5 is the claimed figure. A claim without a ratio has no place.
    """
    found = _decided(claims)
    limit = _limit(found.values())
    return {name: _place(ratio, limit) / 100 for name, ratio in found.items()}


def end_of_axis(claims: Iterable[Claim]) -> float:
    """Return the ratio of measured to claimed figure at the right end of the axis of `places`."""
    return _limit(_decided(claims).values())


def _decided(claims: Iterable[Claim]) -> dict[str, float]:
    """Return measured over claimed figure of each claim with both, by name."""
    return {row.claim.name: ratio for row in _rows(claims) if (ratio := _ratio(row.decides)) is not None}


def _rows(claims: Iterable[Claim]) -> Iterator[_Row]:
    for claim in claims:
        counted = [each for each in claim.tested if each.result.counts and each.result.measured]
        if counted:
            decides = max(counted, key=lambda each: _weight(claim, each))
            known = () if claim.grade == "open" else claim.tested  # an open cause has no explanation to show
            witnesses = [each for each in known if _explains(each) and _same_figure(each, decides)]
            yield _Row(claim, decides, tuple(witnesses))


def _weight(claim: Claim, each: TestedCase) -> tuple[bool, bool]:
    """Return a rank: whether the case's verdict decides the claim's verdict, and whether the case has a ratio."""
    kind = each.result.verdict.kind if each.result.verdict else "skipped"
    wanted = "not reproduced" if claim.verdict.kind == "partly" else claim.verdict.kind
    return kind == wanted, _ratio(each) is not None


def _explains(each: TestedCase) -> bool:
    cause = each.result.explains
    return cause is not None and cause.grade != "refutes" and bool(each.result.bears_out)


def _same_figure(each: TestedCase, other: TestedCase) -> bool:
    return each.claimed is not None and each.claimed == other.claimed and each.case.point == other.case.point


def _ratio(each: TestedCase) -> float | None:
    """Return measured over claimed figure: 0 without a measurement, infinity if only the claimed figure is zero.

    An event, which happened or not, has no ratio.
    """
    measured, claimed = each.result.measured, each.claimed
    if measured is None or claimed is None or min(measured.number, claimed.number) < 0:
        return None
    if wording.is_yes_or_no(each.result):
        return None
    if claimed.number == 0:
        return inf if measured.number else 1.0
    return measured.number / claimed.number


def _limit(ratios: Iterable[float]) -> float:
    """Return the smallest end of the axis that shows all ratios, else the largest end."""
    furthest = max((max(ratio, 1 / ratio) for ratio in ratios if 0 < ratio < inf), default=1.0)
    return next((limit for limit in _LIMITS if furthest <= limit), _LIMITS[-1])


def _ticks(limit: float) -> dict[float, tuple[str, str]]:
    """Return the axis's ratios in order, each with its CSS class and its text. A narrow screen has no inner ticks."""
    inner = [each for each in _LIMITS if 1.15 * log(each) < log(limit) and log(each) > 0.3 * log(limit)][-1:]
    found = {1.0: ("middle", "1×")}
    for kind, each in [*(("tick", each) for each in inner), ("end", limit)]:
        found |= {each: (kind, f"{each:g}×"), 1 / each: (kind, f"{1 / each:.2g}×")}
    return dict(sorted(found.items()))


def _place(ratio: float, limit: float) -> float:
    """Return a ratio's place on the axis, in per cent of the row. Ratios beyond the axis are placed at its end."""
    share = -inf if ratio <= 0 else inf if ratio == inf else log(ratio) / log(limit)
    return _MIDDLE + _HALF * max(-1.1, min(1.1, share))


def _drawn(row: _Row, limit: float) -> str:
    decides, figure = row.decides, wording.answer(row.decides.result, row.decides.result.measured)
    ratio, interval = _ratio(decides), _interval(decides, limit)
    marks = [_seeds(decides, limit)]
    marks += [f'<span class="{shape}" style="left:{at:.4g}%"></span>' for shape, at in _marks(row.witnesses, limit)]
    if ratio is not None:
        marks.append(f'<span class="{_shape(ratio, limit)}" style="left:{_place(ratio, limit):.4g}%"></span>')
    track = f'<span class="track" aria-hidden="true">{_band(decides, limit)}{interval}{"".join(marks)}</span>'
    if wording.is_yes_or_no(decides.result):
        track = '<span class="track bare" aria-hidden="true">yes or no</span>'
    return (
        f"<li>{_label(row.claim, _of(row))} "
        f'<span class="said">{html.sign(row.claim.verdict.kind)} {html.claimed(decides.result)}</span> '
        f"{track} "
        f'<span class="got"><strong>{figure}</strong>{_beside(decides, ratio)}{_about(decides)}</span>'
        f"{_packets(row.claim, decides)}{_untold(row)}</li>"
    )


def _told(claim: Claim) -> str:
    """Return the row of a claim without a figure: its verdict, and the reason."""
    parts = claim.judged.result.parts
    reason = parts[0][1].reason if len(parts) == 1 else claim.verdict.reason
    return f'<li>{_label(claim)} <span class="told">{html.sign(claim.verdict.kind)} {html.prose(reason)}</span></li>'


def _untold(row: _Row) -> str:
    """Return a line below the row's figures for each part of the sentence without a figure, with the reason."""
    return "".join(
        f' <span class="told">{html.sign(verdict.kind)} {html.prose(f"{name}: {verdict.reason}")}</span>'
        for name, verdict in row.claim.judged.result.parts
        if len(row.claim.judged.result.parts) > 1 and verdict.kind in _WITHOUT_FIGURE
    )


def _packets(claim: Claim, decides: TestedCase) -> str:
    """Return the row's link to the trial with the packets, or to the trial if it has no capture."""
    link = evidence.packets(claim, decides, claim.short)
    return f' <span class="packets-of">{link}</span>' if link else ""


def _label(claim: Claim, of: str = "") -> str:
    about = f' <span class="about">{of}</span>' if of else ""
    return f'<span class="label"><a href="#{escape(claim.name)}">{html.prose(claim.short)}</a>{about}</span>'


def _of(row: _Row) -> str:
    """Return the part of the sentence that the figure is about, if it is needed to read the row.

    If this part holds, but another part keeps the claim from being reproduced, the text also names the other part.
    """
    result, kind = row.decides.result, row.claim.verdict.kind
    part = result.claimed.part if result.claimed else ""
    bare = result.measured is not None and result.measured.unit == "1"
    if not part or (not bare and kind not in ("partly", "inconclusive")):
        return ""
    said = [html.prose(part)]
    if kind == "partly" and result.verdict and result.verdict.kind == "reproduced":
        settled = ("reproduced", *_WITHOUT_FIGURE)
        others = (each for each in row.claim.judged.result.parts if each[1].kind not in settled)
        said += [f"{html.sign(verdict.kind)} {html.prose(name)}" for name, verdict in others]
    return "; ".join(said)


def _about(each: TestedCase) -> str:
    """Return what a figure without a unit counts, with the arms of a ratio, and the number of trials of a mean."""
    said = []
    if each.case.relative_to:
        title, base = each.case.title, each.case.relative_to.replace("-", " ")
        arms = title if " over " in title else f"{title} over {base}"
        said.append(f"times the {quantity(each.case.metric)} ({html.prose(arms)})")
    elif wording.is_yes_or_no(each.result):
        said.append(quantity(each.case.metric))
    elif each.result.measured is not None and each.result.measured.unit == "1":
        said.append(of_number(each.case.metric, each.result.measured.number))
    if len(each.result.sample.figures) > 1:
        said.append(f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{len(each.result.sample.figures)}")
    return f' <span class="about">{", ".join(said)}</span>' if said else ""


def _seeds(each: TestedCase, limit: float) -> str:
    """Return a small point for the figure of each trial, if there are several."""
    claimed, numbers = each.claimed, each.result.sample.numbers
    if claimed is None or claimed.number <= 0 or not 1 < len(numbers) <= _MOST_SEEDS:
        return ""
    places = dict.fromkeys(f"{_place(number / claimed.number, limit):.3g}" for number in numbers)
    return "".join(f'<span class="seed" style="left:{place}%"></span>' for place in places)


def _beside(each: TestedCase, ratio: float | None) -> str:
    """Return a figure's distance from the claimed figure, or the figure's interval if the verdict is inconclusive."""
    kind = each.result.verdict.kind if each.result.verdict else "reproduced"
    interval = wording.interval(each.result.measured).partition(" (")[0]
    if kind == "inconclusive" and interval:
        return f" <small>({interval})</small>"
    has_times = ratio is not None and 0 < ratio < inf and kind != "reproduced"
    return f" ({_times(ratio)})" if ratio is not None and has_times else ""


def _shape(ratio: float, limit: float) -> str:
    """Return the CSS classes of the dot: a ring without a measurement, an arrow if the ratio is beyond the axis."""
    if ratio == 0:
        return "dot zero"
    return "dot beyond" if ratio > limit else "dot beyond low" if ratio * limit < 1 else "dot"


def _marks(witnesses: Sequence[TestedCase], limit: float) -> list[tuple[str, float]]:
    """Return the CSS classes and the place of each witness's mark, without duplicates."""
    ratios = [ratio for each in witnesses if (ratio := _ratio(each)) is not None]
    marks = ((_shape(ratio, limit), round(_place(ratio, limit), 1)) for ratio in ratios)
    return list(dict.fromkeys((f"{shape} witness", place) for shape, place in marks))


def _band(each: TestedCase, limit: float) -> str:
    """Return a box over all ratios that agree with the claim. The box is a line if only the figure itself agrees."""
    claimed = each.claimed
    if claimed is None or each.case.tolerance is None or claimed.number <= 0:
        return ""
    low, high = (_place(bound / claimed.number, limit) for bound in each.case.tolerance.bounds(claimed))
    return f'<span class="band" style="left:{low:.4g}%;width:{high - low:.4g}%"></span>'


def _interval(each: TestedCase, limit: float) -> str:
    """Return a line over the measurement's interval, as ratios, or "" without an interval.

    An end beyond the axis is an arrow head.
    """
    claimed, measured = each.claimed, each.result.measured
    if claimed is None or claimed.number <= 0 or measured is None or measured.low is None or measured.high is None:
        return ""
    ratios = [bound / claimed.number for bound in (measured.low, measured.high)]
    low, high = (_place(ratio, limit) for ratio in ratios)
    cut = [name for name, is_cut in (("low", ratios[0] * limit < 1), ("high", ratios[1] > limit)) if is_cut]
    kind = " ".join(["interval", *(["cut", *cut] if cut else [])])
    return f'<span class="{kind}" style="left:{low:.4g}%;width:{high - low:.4g}%"></span>'


def _times(ratio: float) -> str:
    """Return a ratio as a factor, as on the axis: 2.2×, 0.86×, 1.003×."""
    return f"{ratio:.2g}×" if abs(ratio - 1) >= 0.095 else f"{ratio:.3f}×"
