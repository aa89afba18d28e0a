"""Do what the lab does for its users, one function each: the command line and notebooks (`import lab`) share them.

What takes long to import is imported by the function that needs it: a command should start at once.
"""

from __future__ import annotations

from lab.api.campaigns import merge, plan, push, run_shard
from lab.api.comparing import atlas, bisect, compare, regress, save_baseline
from lab.api.course import exercise, grade
from lab.api.running import run, run_kernels, run_seeds, watch
from lab.api.stored import article, articles, bundle, capture, follow, load, verify
from lab.api.upkeep import collect, fsck, pack, unpack, usage

__all__ = [
    "article",
    "articles",
    "atlas",
    "bisect",
    "bundle",
    "capture",
    "collect",
    "compare",
    "exercise",
    "follow",
    "fsck",
    "grade",
    "load",
    "merge",
    "pack",
    "plan",
    "push",
    "regress",
    "run",
    "run_kernels",
    "run_seeds",
    "run_shard",
    "save_baseline",
    "unpack",
    "usage",
    "verify",
    "watch",
]
