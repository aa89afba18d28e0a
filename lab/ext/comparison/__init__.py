"""Show the changes between kernels: `lab compare`, `lab regress`, and the history of claims across kernels."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("compare", "regress"),
    section="Kernels",
    examples={
        "regress": (
            "lab regress --kernel 6.12 --kernel 7.2 tcp-timestamps/header-length",
            "lab regress --baseline before --kernel 7.2",
        ),
        "compare": ("lab compare results other-results --page changes.html",),
    },
    functions=("compare", "regress", "save_baseline"),
    hooks={"baseline": "api:save_baseline", "strips": "strip:strips"},
)
