"""Each of ten settings that tuning guides recommend makes one long transfer faster.

Guides list them together, for "high throughput"; here each is set alone, at a gigabit over 100 ms, where it would help.
"""

from lab import Above, Arm, Bulk, Duration, Experiment, Implied, metric


def tuned(name: str, value: str | int) -> Arm:
    """The sysctl net.ipv4.NAME set to this on all hosts, and nothing else."""
    faster = Implied(1, "faster than without it", part=name)
    return Arm(name, faster, sysctls={f"net.ipv4.{name}": value}, relative_to="defaults")


EXPERIMENT = Experiment(
    topology="delay-100ms",
    workload=Bulk(duration=Duration.of("20 s")),
    metric=metric.bulk_goodput(),
    arms=(
        Arm("defaults"),
        tuned("tcp_rmem", "4096 87380 33554432"),
        tuned("tcp_wmem", "4096 65536 33554432"),
        tuned("tcp_timestamps", 0),
        tuned("tcp_sack", 1),
        tuned("tcp_window_scaling", 1),
        tuned("tcp_slow_start_after_idle", 0),
        tuned("tcp_mtu_probing", 1),
        tuned("tcp_fin_timeout", 15),
        tuned("tcp_tw_reuse", 1),
        tuned("tcp_fastopen", 3),
    ),
    tolerance=Above(0.01, because="nobody tunes a system for less than a hundredth"),
    expect="partly",
    unexplained="which of them help is the result; why the others do not is said on the page",
)
