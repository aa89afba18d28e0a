"""Show a claim in the terminal: the answer, the figures, the reason, a small plot, and the packets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from lab.app import stored
from lab.app.options import Folder
from lab.ext.show import bars
from lab.ext.show.recorded import DIGITS
from lab.ext.show.viewer import show_packets
from lab.report import text

if TYPE_CHECKING:
    from lab.report.claim import Claim
    from lab.report.claims import Claims

_MOST = 6  # addresses of a claim's trials


def render(claims: Claims) -> RenderableType:
    """Return the claims, one below the other. The claims of a whole article follow the article's answer."""
    return Group(*_parts(claims))


def _parts(claims: Claims) -> Iterator[RenderableType]:
    article = claims[0].judged.declared.article
    if len(claims) > 1 and article.headline:
        yield Text(article.headline, style="bold")
        yield Padding(text.marked(article.answer), (0, 0, 1, 0))
    ran = [claim for claim in claims if claim.records or len(claims) == 1]
    for number, claim in enumerate(ran):
        if number:
            yield Text("")
        yield from _claim(claim)
    if len(ran) < len(claims):
        yield Text("")
        yield Text.assemble(("Not run", "bold"), f" (`lab run {article.name}` runs them)")
        yield from (Text(f"  {claim.id}") for claim in claims if claim not in ran)


def _claim(claim: Claim) -> Iterator[RenderableType]:
    yield text.marked(claim.judged.declared.claim, "bold")
    yield _why(claim) if claim.verdict.kind not in ("measured", "skipped") else Text("")
    if claim.kernels:
        yield Text(text.unmarked(claim.kernels.text))
    yield Text("")
    yield text.block(claim.judged.result)
    yield bars.bars(claim)
    if claim.records:
        yield _addresses(claim)


def _why(claim: Claim) -> Text:
    """Return the reason for the verdict, or the grade of the explanation, a colon, and the explanation."""
    said = text.unmarked(claim.why)
    if claim.grade and said.startswith(f"{claim.grade} "):
        return Text.assemble((f"Why ({claim.grade}): ", "bold"), said.removeprefix(f"{claim.grade} "))
    return Text.assemble(("Why: ", "bold"), said)


def _addresses(claim: Claim) -> Text:
    """Return the first digits of the trials' addresses, which `lab show` takes and a paper can cite."""
    found = [record.address[:DIGITS] for record in claim.records]
    more = f" and {len(found) - _MOST} more (`lab show {claim.id} --json`)" if len(found) > _MOST else ""
    return Text.assemble(("Trials: ", "bold"), f"{', '.join(found[:_MOST])}{more}")


def packets(claim: str, arm: str | None, results: Folder) -> int:
    """Show an arm's capture (default: the first arm with a capture), and return the viewer's exit status.

    Raises InputError if no trial of the arm left a capture, and MachineError if no program can show the capture.
    """
    return show_packets(stored.capture_file(claim, arm, results))
