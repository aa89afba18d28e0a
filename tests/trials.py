"""Trials that nothing performs, such as an experiment could declare."""

from __future__ import annotations

from typing import Any

import msgspec

from lab.guest.trial import Trial

__all__ = ["NETWORK", "trial"]

NETWORK: dict[str, Any] = {
    "name": "n",
    "nodes": [{"name": "sender", "kind": "host", "sysctls": {}, "routes": []}],
    "links": [],
}


def trial(**changed: object) -> Trial:
    """Return the trial with these inputs, and the usual ones. Raises msgspec.ValidationError."""
    inputs: dict[str, object] = {
        "claim": "article/claim",
        "arm": "baseline",
        "point": "",
        "source_sha256": "00" * 32,
        "network": NETWORK,
        "workload": {"kind": "ping"},
        "probes": [],
        "middleboxes": [],
        "kernel": {"name": "7.2", "version": "7.2.13-1", "id": "k1", "hz": 1000, "patches": []},
        "on": "uml",
        "clock": "virtual",
        "seed": 1,
        "repeat": 0,
        "tools": {"lab": "1"},
    }
    return msgspec.convert(inputs | changed, Trial)
