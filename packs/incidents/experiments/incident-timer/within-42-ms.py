"""A call of two small writes is answered within 42 ms: the 40 ms of a delayed ACK, and a tick.

Write, write, read: Nagle holds the second write until the first is acknowledged. Timers wait a tick longer since 4.8.
"""

from lab import Arm, AtMost, Demonstrated, Experiment, Implied, SmallWrites, Variant, Within, metric, model

CALLS = 100

EXPERIMENT = Experiment(
    topology="loopback",
    path=("host", "host"),
    workload=SmallWrites(client="host", server="host", messages=CALLS, writes=2),
    metric=metric.exchange_time(),
    prediction=model.exchange_time,
    arms=(
        Arm("defaults", Implied("4.2 s", "a hundred calls of 42 ms: HZ/25 ticks of 1 ms, and one"), title="HZ=1000"),
        Arm(
            "timers-on-their-tick",
            Implied("3.96 s", "a delayed ACK of HZ/25 ticks for each of a hundred calls but the first"),
            kernel=Variant(patches=("timers-on-their-tick.patch",)),
            tolerance=Within(0.005, because="the time is that of a timer: it does not depend on the machine"),
            explains=Demonstrated("one of the ticks is the one that every timer waits longer since Linux 4.8"),
            title="timers before 4.8",
        ),
        Arm(
            "hz-250",
            Implied("4.356 s", "a delayed ACK of 10 ticks of 4 ms, and one, for each of a hundred calls but the first"),
            kernel=Variant(hz=250),
            tolerance=Within(0.005, because="the time is that of a timer: it does not depend on the machine"),
            explains=Demonstrated("a kernel built with HZ=250 breaks the bound: its tick is 4 ms"),
            title="HZ=250",
        ),
    ),
    tolerance=AtMost(because="an earlier answer is within the bound"),
)
