"""Look at a link's queue at an interval, while the workload runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from lab import outputs
from lab.probe.interval import until_stopped
from lab.spec.task import Task
from lab.testbed import Testbed
from lab.units import Duration


class QueueState(Task, frozen=True):
    """Reads the counters of one direction's queue, or of its wire where it has none, once per `interval`.

    Leaves queue.LINK.WAY.json: of each moment (`ns`) the packets let go and dropped so far, and those that are there
    (`backlog`), with the marks of a queue that marks.
    """

    link: str
    way: Literal["forward", "back"] = "forward"
    interval: Duration = Duration.of("10 ms")

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Look within this context. Raises WorkloadError when that failed, or there is no such link."""
        child = testbed.spawn(next(iter(testbed.spaces)), lambda: self._look(testbed))
        yield
        child.stop("the queue probe")

    def _look(self, testbed: Testbed) -> None:
        samples: list[dict[str, Any]] = []
        for _ in until_stopped(self.interval):
            found = testbed.queue(self.link, self.way)
            kept = {key: found[key] for key in ("packets", "drops", "backlog")}
            if "marks" in found.get("counted", {}):
                kept["marks"] = found["counted"]["marks"]
            samples.append({"ns": time.time_ns(), **kept})
        (testbed.out / outputs.queue(self.link, self.way)).write_text(json.dumps(samples) + "\n")
