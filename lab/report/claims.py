"""Handle several claims in a notebook or a terminal: select, filter, list and draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import nan
from typing import Any, get_args

from lab.errors import InputError, LabError
from lab.record.record import Record
from lab.report.claim import Claim
from lab.report.html import Html
from lab.report.summary import summary
from lab.report.wording import listed
from lab.spec.errors import instead
from lab.verdict import Kind, Result

__all__ = ["Claims"]

_TEXTS = ("prediction", "standing", "kind", "why_not_predicted", "why_no_law", "predicted_at", "verdict", "cause")


@dataclass(frozen=True, repr=False)
class Claims:
    """Holds judged claims in order, and the errors of failed trials if the claims have just run.

    A notebook shows them as a table, and a terminal as text.
    """

    claims: tuple[Claim, ...]
    errors: tuple[LabError, ...] = ()

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    def __getitem__(self, name: str | int) -> Claim:
        """Return the claim with this index, this id, or this second part of an id.

        Raises InputError with a list of the claims if no claim matches, or several do.
        """
        if isinstance(name, int):
            return self.claims[name]
        found = [claim for claim in self if claim.id == name] or [claim for claim in self if claim.name == name]
        if len(found) != 1:
            if found:
                raise InputError(f"several claims are called '{name}' here; use {listed(claim.id for claim in found)}")
            raise InputError(f"no claim is called '{name}' here{instead(name, (claim.id for claim in self))}")
        return found[0]

    @property
    def records(self) -> tuple[Record, ...]:
        """Return the records of the claims."""
        return tuple(record for claim in self for record in claim.records)

    @property
    def passed(self) -> bool:
        """Return whether every verdict is as expected, and every model as accurate as declared."""
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
        """Return the claims that match all conditions: article, verdict, kernel (its name), and `where`.

        With `arm` or `point`, return the claims that have this arm or point, with only its results. The verdict still
        applies to the whole claim. The result may be empty. Raises InputError for an article, arm, point or kernel that
        does not occur in any claim, and for an unknown verdict.
        """
        cases = [case for claim in self for case in claim.judged.cases]
        for what, name, known in (
            ("article", article, [claim.article for claim in self]),
            ("verdict", verdict, get_args(Kind)),
            ("arm", arm, [case.arm for case in cases]),
            ("point", point, [case.point for case in cases if case.point]),
            ("kernel", kernel, [claim.judged.result.kernel for claim in self if claim.judged.result.kernel]),
        ):
            if self.claims and name is not None and name not in known:
                raise InputError(f"no {what} is called '{name}' here{instead(name, known)}")
        kept = [
            claim
            for claim in self
            if article in (None, claim.article)
            and verdict in (None, claim.verdict.kind)
            and kernel in (None, claim.judged.result.kernel)
            and (where is None or where(claim))
        ]
        if arm is not None or point is not None:
            kept = [claim.only(arm, point) for claim in kept if claim.has(arm, point)]
        return Claims(tuple(kept))

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per result for a data frame, with figures as numbers in the base unit `unit`.

        Each column has values of one type, because a data frame infers its types from the first rows. A missing figure
        is NaN, a missing text is "", and an explanation appears as its grade.
        """
        return [{"claim": claim.id, **_row(result)} for claim in self for result in claim.results]

    def frame(self) -> Any:
        """Return a pyarrow.Table with one row for each trial that counts, of each seed: see `lab.report.frame`.

        polars and pandas read the table: `polars.from_arrow(claims.frame())`, `claims.frame().to_pandas()`. Raises
        MachineError if pyarrow is missing: `pip install 'replab[tables]'`.
        """
        from lab.report import frame

        return frame.table(self)

    def plot(self, kind: str = "", **options: Any) -> Html:
        """Return one figure per claim, one below the other: see `Claim.plot`."""
        return Html(*(claim.plot(kind, **options).text for claim in self))

    def table(self) -> Html:
        """Return the quantity, tolerance, figures, verdict, reason and evidence of each claim."""
        return summary(self)

    def _repr_html_(self) -> str:
        return self.table().text if self.claims else "<p>No claims.</p>"

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self)) or "no claims"


def _row(result: Result) -> dict[str, Any]:
    """Return a result in plain form, each value with the type of its column."""
    plain = result.plain()
    plain["cause"] = plain["cause"] and plain["cause"]["grade"]
    plain["sensitivities"] = ", ".join(f"{name} {size:+.2g}" for name, size in result.sensitivities)
    for name, value in plain.items():
        if value is None:
            plain[name] = "" if name in _TEXTS else nan
        elif isinstance(value, int) and not isinstance(value, bool) and name not in ("valid", "repeats"):
            plain[name] = float(value)
    return plain
