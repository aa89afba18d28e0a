"""Divide work that is too large for one machine: shards, shared stores, and trials on Dask workers."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("cluster",),
    group="cluster",
    section="Share",
    examples={
        "cluster plan": ("lab cluster plan tcp-bottleneck", "lab cluster plan --seeds 2-30 --json > plan.json"),
        "cluster merge": ("lab cluster merge shards/1 shards/2",),
        "cluster push": ("lab cluster push shared/",),
    },
    functions=("merge", "plan", "push", "run_shard"),
    hooks={"workers": "executor:assembled", "shard": "api:run_shard", "store": "sharing:source"},
)
