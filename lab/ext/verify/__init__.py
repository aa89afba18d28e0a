"""Rerun recorded trials on this machine, and compare their bytes: `lab verify`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("verify",),
    section="Share",
    examples={
        "verify": (
            "lab verify",
            "lab verify claims.tar.zst",
            "lab verify --sample 5%",
            "lab verify --only tcp-bottleneck/window-plateau",
        ),
    },
    functions=("verify",),
)
