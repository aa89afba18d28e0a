"""Judgement: a claim's figure, a measurement and a tolerance make a verdict. Measuring is done elsewhere."""

from lab.verdict.judge import Kind, Verdict, combine, judge, mean, median, model_error
from lab.verdict.result import ClaimResult, Result, evaluate

__all__ = ["ClaimResult", "Kind", "Result", "Verdict", "combine", "evaluate", "judge", "mean", "median", "model_error"]
