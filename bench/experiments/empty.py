"""A ping over 1 ms of wire comes back after twice that.

Source: arithmetic. The smallest trial there is: what it takes is the lab's own.
"""

from lab import Absolute, Arm, Experiment, Implied, Ping, metric

EXPERIMENT = Experiment(
    topology="two-hosts",
    workload=Ping(),
    metric=metric.ping_rtt(),
    tolerance=Absolute("2 us", because="the hosts' own work takes no time"),
    arms=(Arm("one", Implied("2 ms", "two delays of 1 ms")),),
)
