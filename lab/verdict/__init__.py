"""Compare a claim's figure with a measurement and a tolerance, and return a verdict.

This package takes no measurements.
"""

from lab.verdict.judge import Kind, Verdict, combine, judge, model_error
from lab.verdict.result import ClaimResult, Result, evaluate

__all__ = ["ClaimResult", "Kind", "Result", "Verdict", "combine", "evaluate", "judge", "model_error"]
