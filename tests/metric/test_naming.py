"""A metric is named as the experiment names it."""

import pytest

from lab import metric
from lab.metric.naming import named


@pytest.mark.parametrize(
    ("made", "name", "given"),
    [
        (metric.bulk_goodput(), "bulk_goodput", {}),
        (metric.message_latency(0.05), "message_latency", {"quantile": 0.05}),
        (metric.any_drops("router"), "any_drops", {"link": "router", "way": "forward"}),
        (metric.lone_acks("host"), "lone_acks", {"node": "host", "interface": None, "unit": "1"}),
        (metric.ack_delay("max", skip=16), "ack_delay", {"which": "max", "skip": 16}),
    ],
)
def test_a_metric_has_its_makers_name_and_what_it_was_given(
    made: metric.Metric, name: str, given: dict[str, object]
) -> None:
    found, values = named(made)
    assert found == name
    assert given.items() <= values.items()
