"""Run the kernel's own network tests, each in its own guest: `lab selftest`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("selftest",),
    group="selftest",
    section="Kernels",
    examples={
        "selftest list": ("lab selftest list 'mptcp/*'",),
        "selftest run": ("lab selftest run 'mptcp/*' udpgso.sh",),
    },
    hooks={"run of selftest": "recorded:described"},
)
