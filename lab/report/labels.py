"""Explain the labels of a page where they stand: as tooltips, and in a list that unfolds below the first figure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "claimed": "the figure from the article; implied: it follows from the article's words, which do not print it",
        "predicted": "the model's figure, computed from the network and the kernel before the trial ran",
        "measured": "the figure from the trial's record; of several trials, their mean or median, with its interval",
        "model error": "the prediction against the measurement: predicted ÷ measured − 1, with a plus, if the "
        "prediction is too large; measured ÷ predicted − 1, with a minus, if it is too small; from 100 % on, the "
        "factor itself, × or ÷",
        "!": "beside a model error: the prediction is further off than its experiment declared",
        "law": "the figure from a closed formula for the same case",
        "simulation": "a prediction that replays the kernel's rules",
        "arm": "one setting of the experiment",
        "witness": "an arm that shows why the article's figure is what it is",
        "trials": "distinct runs, each with its own address; a page counts all runs that its figures use",
        "n": "the number of trials of one figure, each with a seed of its own",
        "reproduced": "the measurement agrees with the article, within the claim's tolerance",
        "partly": "the sentence makes several statements, and only some hold",
        "not reproduced": "the measurement does not agree with the article",
        "not testable as stated": "no trial can test the sentence",
        "inconclusive": "the measurement's interval straddles the tolerance's bound",
        "invalid": "the network was not as requested, or a trial failed, so the figure does not count",
        "skipped": "something that the trial needs is missing",
        "demonstrated": "an arm, or a kernel, reproduces the article's figure without any fitting",
        "consistent": "an arm reproduces the article's figure with fitted parameters or assumptions, which are named",
        "not borne out": "the figure of the arm does not support the explanation that the arm was to show",
        "refutes": "an arm shows that a different explanation is wrong",
        "open": "no arm explains the difference",
    }
)
