"""Maintain a store (show disk usage, remove records, find damage): `lab store`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("store",),
    group="store",
    section="Advanced",
    examples={
        "store du": ("lab store du",),
        "store gc": ("lab store gc --unplanned", "lab store gc --older-than 30 --yes"),
        "store pack": ("lab store pack --older-than 30",),
        "store unpack": ("lab store unpack tcp-bottleneck",),
        "store fsck": ("lab store fsck", "lab store fsck --remove"),
        "store clean": ("lab store clean",),
        "store export": ("lab store export tcp-bottleneck/window-plateau packets.parquet",),
    },
    functions=("collect", "fsck", "pack", "unpack", "usage"),
)
