"""Sample a link's queue at an interval, while the workload runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from lab.guest import outputs
from lab.guest.probe.interval import check_interval, until_stopped
from lab.guest.task import Task
from lab.guest.testbed import Testbed
from lab.units import Duration


class QueueState(Task, frozen=True):
    """Reads the counters of one direction's queue, or of its wire if there is no queue, once per `interval`.

    Writes queue.LINK.WAY.json. For each sample time (`ns`), the file has the packets sent and dropped until then, and
    the waiting packets (`backlog`). For a queue that marks packets, the file also has the marks.
    """

    link: str
    way: Literal["forward", "back"] = "forward"
    interval: Duration = Duration.of("10 ms")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_interval(self.interval)

    @contextmanager
    def watch(self, testbed: Testbed) -> Iterator[None]:
        """Sample the counters within this context.

        Raises WorkloadError if sampling fails or the link does not exist.
        """
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
