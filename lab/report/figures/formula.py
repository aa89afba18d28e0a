"""Show the formula window / RTT in a table, with sliders for buffer and round trip."""

from __future__ import annotations

from html import escape
from math import log2

from lab.model import base_rtt, goodput_line_rate
from lab.model.window import scaling_ratio
from lab.report import html, wording
from lab.report.drawing import draw
from lab.report.html import Html
from lab.report.tested import TestedClaim
from lab.units import Value

_BUFFERS = (16, 27)  # powers of two: 64 KiB to 128 MiB
_TRIPS = (1, 300)  # ms
_HEAD = ("Rule of the kernel", "Window", "Goodput")
_HALF = 0.5  # the share of the buffer that was the window before 6.6, by default


@draw("the formula")
def formula(claim: TestedClaim, arm: str) -> Html:
    """Return the window and goodput of an arm's receive buffer, with the rules before and since Linux 6.6.

    The page's script has sliders for buffer and round trip. Without the script, the table shows the arm's own values.
    """
    scenario = claim.scenario_of(claim.arms(arm)[0])
    buffer, trip = scenario.rcvbuf_max, base_rtt(scenario).number
    line = goodput_line_rate(scenario).number
    rows = []
    for rule, share in (("before Linux 6.6: half", _HALF), ("since then: measured", scaling_ratio(scenario) / 256)):
        window = share * buffer
        goodput = min(8 * window / trip, line)
        cells = (f"{rule} ({share:.3g})", f"{window:,.0f} B", wording.figure(Value(goodput, "bit/s")))
        row = html.cells(_HEAD, cells)
        rows.append(f'<tr role="row" data-share="{share}">{row}</tr>')
    sliders = (
        f'<label>Receive buffer <input type="range" min="{_BUFFERS[0]}" max="{_BUFFERS[1]}" step="0.01" '
        f'value="{log2(buffer):.2f}"> <output name="buffer">{buffer:,} B</output></label> '
        f'<label>Round trip <input type="range" min="{_TRIPS[0]}" max="{_TRIPS[1]}" value="{1e3 * trip:.0f}"> '
        f'<output name="trip">{1e3 * trip:.0f} ms</output></label>'
    )
    said = (
        "Window / RTT, once slow start is over: what a receive buffer gives over this link, "
        f"which carries {escape(wording.figure(Value(line, 'bit/s')))} of payload."
    )
    return Html(
        f'<figure class="formula" data-line="{line}"><form hidden>{sliders}</form>',
        html.rowed(_HEAD, rows),
        f"<figcaption>{said}</figcaption></figure>",
    )
