"""Pack kernels, userlands, claims, records and pages into one file that any machine can check and run."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("bundle",),
    section="Share",
    examples={"bundle": ("lab bundle claims.tar.zst tcp-timestamps",)},
    functions=("bundle",),
    hooks={"machines": "unbundling:ready", "records": "unbundling:with_records", "take": "unbundling:take"},
)
