"""10,000 messages of 15 writes of 2 bytes take 400 s over the loopback: each waits 40 ms for a delayed ACK.

The first run: neither TCP_NODELAY nor TCP_CORK, 400,129.78 ms, 0.75 bytes/ms.
"""

from lab import Arm, Demonstrated, Duration, Experiment, Refutes, Reported, SmallWrites, Variant, Within, metric, model

ARTICLE = Reported(Duration(400_129_781_250), "10000 packets of 30 bytes sent in 400129.781250 ms: 0.749757 bytes/ms")

EXPERIMENT = Experiment(
    topology="loopback",
    path=("host", "host"),
    workload=SmallWrites(client="host", server="host"),
    metric=metric.exchange_time(),
    prediction=model.exchange_time,
    arms=(
        Arm("defaults", ARTICLE),
        Arm(
            "timers-on-their-tick",
            ARTICLE,
            kernel=Variant(patches=("timers-on-their-tick.patch",)),
            explains=Demonstrated(
                "before Linux 4.8 a timer fired on its very tick: a delayed ACK came after 40.0 ms, HZ/25 ticks, and "
                "not a tick later"
            ),
            title="pre-4.8 timer wheel",
        ),
        Arm(
            "hz-250",
            ARTICLE,
            kernel=Variant(hz=250),
            explains=Refutes(
                "HZ alone does not bring 40.0 ms back: 10 ticks of 4 ms and the one that timers wait for since Linux "
                "4.8 make 44; the article's kernel had the older timers, at whatever HZ"
            ),
            title="HZ=250",
        ),
    ),
    tolerance=Within(0.005, because="the time is that of a timer: it does not depend on the machine"),
    expect="not reproduced",
)
