"""Write verdicts as a report for KCIDB, the Linux kernel's database of CI results, in its JSON schema v5.3.

The schema is in the package kcidb-io (`kcidb_io.schema`), which a test uses. A kernel is a checkout with one build. A
claim is a test of a build, and each of its cases is a test below the claim, with its figure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from lab.errors import InputError
from lab.report import cases
from lab.report.ci.case import Outcome
from lab.report.claim import Claim
from lab.verdict import Kind, Result

VERSION = {"major": 5, "minor": 3}
ORIGIN = "replab"  # the name of the CI system, unless the user has a registered one
_LONGEST = 16384  # characters of an excerpt of a log
_STATUS: Mapping[Outcome, str] = {"passed": "PASS", "failed": "FAIL", "skipped": "SKIP", "undecided": "DONE"}
_OF_KIND: Mapping[Kind, str] = {"invalid": "ERROR", "measured": "DONE"}  # a study measures, and claims nothing

_Object = dict[str, Any]


def report(claims: Sequence[Claim], origin: str = ORIGIN) -> _Object:
    """Return the report on judged claims, on one or more kernels.

    A claim's status is PASS or FAIL, as in the lab's other reports for CI: a claim fails if its verdict is not the
    expected one, or a model misses its accuracy. It is ERROR for an invalid claim, and DONE for a study and for a claim
    that is undecided in real time. A case has the status DONE and its measured figure. The report contains no times, so
    the same records give the same bytes. Raises InputError if `origin` contains characters other than a-z, 0-9 and _,
    or if no claim has run.
    """
    if not re.fullmatch("[a-z0-9_]+", origin):
        raise InputError(f"--origin {origin}: KCIDB allows only the characters a-z, 0-9 and _")
    run = [claim for claim in claims if claim.judged.kernel is not None]
    if not run:
        raise InputError("no claim has records; run `lab run`")
    kernels: dict[str, Mapping[str, Any]] = {}
    tests: list[_Object] = []
    for claim in run:
        kernel = claim.judged.kernel or {}
        kernels.setdefault(_id(kernel), kernel)
        tests += _tests(claim, origin, kernel)
    return {
        "version": VERSION,
        "checkouts": list({each["id"]: each for each in (_checkout(k, origin) for k in kernels.values())}.values()),
        "builds": [_build(kernel, origin) for kernel in kernels.values()],
        "tests": tests,
    }


def _checkout(kernel: Mapping[str, Any], origin: str) -> _Object:
    patches = [str(each) for each in kernel.get("patches", ())]
    return {
        "id": f"{origin}:{_source(kernel)}",
        "origin": origin,
        "comment": f"Linux {kernel['version']}" + (f" with {', '.join(patches)}" if patches else ""),
        "valid": True,
        "misc": {"version": kernel["version"], "patches": patches},
    }


def _build(kernel: Mapping[str, Any], origin: str) -> _Object:
    return {
        "id": f"{origin}:{_id(kernel)}",
        "origin": origin,
        "checkout_id": f"{origin}:{_source(kernel)}",
        "comment": f"kernel {kernel['name']}",
        "config_name": f"{kernel['name']}, HZ={kernel['hz']}",
        "status": "PASS",
        "misc": {"kernel": kernel["name"], "id": kernel["id"]},
    }


def _tests(claim: Claim, origin: str, kernel: Mapping[str, Any]) -> Iterator[_Object]:
    (case,) = cases.cases([claim])
    common = {"origin": origin, "build_id": f"{origin}:{_id(kernel)}"}
    path = _path(claim.article, claim.name)
    trials = [record.address for record in claim.records]
    yield {
        "id": f"{origin}:{_hash(path, _id(kernel), *trials)}",
        **common,
        "path": path,
        "comment": " ".join(claim.judged.declared.claim.split()),
        "status": _OF_KIND.get(claim.verdict.kind, _STATUS[case.outcome]),
        "log_excerpt": case.message.replace("\0", " ")[:_LONGEST],
        "misc": {"verdict": claim.verdict.kind, "clock": claim.judged.result.clock, "trials": trials},
    }
    for result in claim.results:
        yield from _figure(result, path, common, kernel)


def _figure(result: Result, path: str, common: _Object, kernel: Mapping[str, Any]) -> Iterator[_Object]:
    if result.measured is None or not isfinite(result.measured.number):
        return
    below = ".".join((path, _word(result.arm), *(_word(name) for name in (result.point, result.figure) if name)))
    figure: _Object = {"value": result.measured.number}
    figure |= {} if result.measured.unit == "1" else {"unit": result.measured.unit, "prefix": "metric"}
    yield {
        "id": f"{common['origin']}:{_hash(below, _id(kernel), *result.trials)}",
        **common,
        "path": below,
        "status": "DONE",
        "number": figure,
        "misc": {
            "arm": result.arm,
            "point": result.point,
            "figure": result.figure,
            "verdict": result.verdict.kind if result.verdict else "",
            "trials": list(result.trials),
        },
    }


def _path(*names: str) -> str:
    """Return a test's path at KCIDB, which consists of words with dots between them."""
    return ".".join(("replab", *map(_word, names)))


def _word(name: str) -> str:
    return re.sub("[^a-zA-Z0-9_-]+", "_", name).strip("_") or "_"


def _source(kernel: Mapping[str, Any]) -> str:
    """Return a name for the kernel's source: the version, and a hash of the patches' names."""
    patches = [str(each) for each in kernel.get("patches", ())]
    return f"{kernel['version']}" + (f"+{_hash(*patches)[:12]}" if patches else "")


def _id(kernel: Mapping[str, Any]) -> str:
    return str(kernel["id"])


def _hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
