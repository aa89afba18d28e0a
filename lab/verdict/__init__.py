"""Compare a claim's figure with a measurement and a tolerance, and return a verdict.

This package takes no measurements.
"""

from lab.verdict.judge import NO_VERDICT, Kind, Verdict, combine, depends, judge, model_error
from lab.verdict.result import ClaimResult, Result, evaluate

__all__ = [
    "NO_VERDICT",
    "ClaimResult",
    "Kind",
    "Result",
    "Verdict",
    "combine",
    "depends",
    "evaluate",
    "judge",
    "model_error",
]
