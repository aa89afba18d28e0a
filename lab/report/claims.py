"""Handle several claims in a notebook or a terminal: find them by name, filter, list and draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lab.errors import InputError, LabError
from lab.record.record import Record
from lab.report.claim import Claim
from lab.report.html import Html
from lab.report.summary import summary
from lab.verdict import Kind

__all__ = ["Claims"]


@dataclass(frozen=True, repr=False)
class Claims:
    """Claims are judged claims in order, and the errors that their trials ended with, if they were run just now.

    They show themselves: as a table in a notebook, as text in a terminal.
    """

    claims: tuple[Claim, ...]
    errors: tuple[LabError, ...] = ()

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    def __getitem__(self, name: str | int) -> Claim:
        """Return a claim by its place, its id or the claim's part of that.

        Raises InputError, which says what there is, when no claim or several claims match.
        """
        if isinstance(name, int):
            return self.claims[name]
        found = [claim for claim in self if claim.id == name] or [claim for claim in self if claim.name == name]
        if len(found) != 1:
            known = ", ".join(claim.id for claim in found or self) or "none"
            raise InputError(
                f"{'several claims are' if found else 'no claim is'} called '{name}' here; there is {known}"
            )
        return found[0]

    @property
    def records(self) -> tuple[Record, ...]:
        """Return the records that the claims rest on."""
        return tuple(record for claim in self for record in claim.records)

    @property
    def passed(self) -> bool:
        """Return whether every verdict is the expected one, and every model as accurate as declared."""
        return all(claim.passed for claim in self)

    @property
    def exit_code(self) -> int:
        """Return 3 if the machine could not run a trial, 1 if a verdict or a model is not as expected, else 0."""
        if any(error.exit_code == 3 for error in self.errors):
            return 3
        if any(claim.verdict.kind == "skipped" for claim in self):
            return 3
        return 0 if self.passed else 1

    def plain(self) -> dict[str, Any]:
        """Return the claims as `lab run --json` prints them."""
        return {"claims": [claim.judged.result.plain() for claim in self]}

    def filter(
        self,
        *,
        article: str | None = None,
        verdict: Kind | None = None,
        arm: str | None = None,
        point: str | None = None,
        kernel: str | None = None,
        where: Callable[[Claim], bool] | None = None,
    ) -> Claims:
        """Return the claims of an article, with a verdict, judged on a kernel (its name), and for which `where` holds.

        With `arm` or `point`, return those that have it, with its results only; the verdict stays that of the whole.
        """
        kept = [
            claim
            for claim in self
            if article in (None, claim.article)
            and verdict in (None, claim.verdict.kind)
            and kernel in (None, claim.judged.result.kernel)
            and (where is None or where(claim))
        ]
        if arm is not None or point is not None:
            parts = (claim.only(arm, point) for claim in kept)
            kept = [part for part in parts if part.results]
        return Claims(tuple(kept))

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per result, figures as numbers in the base unit `unit`: what a data frame is made of."""
        return [
            {"claim": claim.id, "verdict": claim.verdict.kind, **result.plain()}
            for claim in self
            for result in claim.results
        ]

    def plot(self, kind: str = "", **options: Any) -> Html:
        """Draw one figure per claim, below one another: see `Claim.plot`."""
        return Html(*(claim.plot(kind, **options).text for claim in self))

    def table(self) -> Html:
        """Return quantity, tolerance, figures, verdict, reason and evidence of each claim."""
        return summary(self)

    def _repr_html_(self) -> str:
        return self.table().text if self.claims else "<p>No claims.</p>"

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self)) or "no claims"
