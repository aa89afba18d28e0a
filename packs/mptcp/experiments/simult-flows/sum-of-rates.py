"""Two paths carry 16 MiB as fast as the sum of their rates, to a tenth of what the kernel's own test allows.

The cases of simult_flows.sh, each in both directions. For headers, and for whatever else happens, that test allows 10 %
of what all paths carry, and 50 ms. Its sender sleeps for 200 ms after the first bytes.
"""

from lab import (
    Absolute,
    Arm,
    Demonstrated,
    Duration,
    Experiment,
    Flow,
    Flows,
    Implied,
    ModelMiss,
    Netstat,
    Program,
    Rate,
    Size,
    metric,
)
from lab.ext.mptcp.model import Path, goodput_of_paths, transfer_time_over_paths

LARGE, SMALL, SLEEP = Size.of("16 MiB"), Size.of("80 KiB"), Duration.of("200 ms")
FRAME, PACKET = 1538, 1514  # B: netem's own rates know neither preamble, nor FCS, nor gap
LARGE_BUFFER = {"net.ipv4.tcp_wmem": "4096 4194304 4194304"}


def transfer(download: bool) -> Flows:
    """A transfer to the client, or from it; where in a tick it begins is the seed's."""
    run = ("python3", "{files}/_paths.py", "python3", "{files}/_transfer.py")
    ours, theirs = (SMALL, LARGE) if download else (LARGE, SMALL)
    program = Program(
        argv=(*run, "{server}", "{port}", str(ours.bytes)),
        service=(*run, "listen", "{port}", str(theirs.bytes)),
        files=("_paths.py", "_transfer.py"),
        client="client",
        server="server",
    )
    return Flows((Flow("transfer", program, spread=Duration.of("10 ms")),))


def case(part: str, way: str, *links: tuple[int, int, int], buffer: Demonstrated | None = None) -> Arm:
    """One case one way: of each link its Mbit/s, its ms one way, and how many frames its queue and its delay hold."""
    paths = tuple(
        Path(Rate(int(rate * 1e6 / 8 * FRAME / PACKET) * 8), Duration(delay * 10**6), limit)
        for rate, delay, limit in links
    )
    together = SLEEP.seconds + 8 * LARGE.bytes / goodput_of_paths(paths).number
    allowed = 8 * LARGE.bytes / sum(rate * 10**6 for rate, _, _ in links) / 9 + 0.05
    tenth = Absolute(f"{allowed / 10:.4f} s", because="the headers' true share is in the figure, so a tenth is enough")
    return Arm(
        f"{part.replace(' ', '-').replace(',', '')}-{way}{'-large-buffer' if buffer else ''}",
        Implied(
            f"{together:.4f} s", "transfer size, aggregated link speed and header overhead", "" if buffer else part
        ),
        links={
            name: {"rate": path.rate, "delay": path.delay, "limit": path.limit}
            for name, path in zip(("first", "second"), paths, strict=True)
        },
        sysctls=LARGE_BUFFER if buffer else {},
        workload=transfer(way == "down"),
        metric=metric.program_json(
            "seconds", unit="s", file=f"transfer/{'program' if way == 'down' else 'service'}.out"
        ),
        prediction=transfer_time_over_paths(paths, (LARGE, SMALL), "receiver" if way == "down" else "sender", SLEEP),
        tolerance=tenth,
        accuracy=tenth,
        explains=buffer,
    )


UNBALANCED = ((10, 1, 40), (3, 25, 30))
OPPOSED = ((10, 25, 50), (3, 1, 30))
BUFFER = Demonstrated("a send buffer that is as large as it may become from the start does not hold the fast path up")

EXPERIMENT = Experiment(
    topology="two-paths",
    workload=transfer(download=True),
    probes=(Netstat(node="client"), Netstat(node="server")),
    metric=metric.program_json("seconds", unit="s"),
    path=("server", "client"),
    arms=(
        *(case("balanced", way, (10, 0, 20), (10, 0, 20)) for way in ("down", "up")),
        *(case("balanced, unbalanced delay", way, (10, 1, 20), (10, 25, 50)) for way in ("down", "up")),
        *(case("unbalanced", way, (10, 0, 30), (3, 0, 20)) for way in ("down", "up")),
        *(case("unbalanced, unbalanced delay", way, *UNBALANCED) for way in ("down", "up")),
        *(case("unbalanced, opposed delay", way, *OPPOSED) for way in ("down", "up")),
        case("unbalanced, unbalanced delay", "down", *UNBALANCED, buffer=BUFFER),
        case("unbalanced, opposed delay", "down", *OPPOSED, buffer=BUFFER),
    ),
    tolerance=Absolute("1 s", because="each case has its own"),
    unexplained="a large send buffer takes most of what is missing with opposed delays, too, but not all; the "
    "prediction, which plays buffers, scheduler and losses, has the rest, but no arm shows them one by one",
    expect="partly",
    misses=tuple(
        ModelMiss(
            arm, because="open: the model is 0.14 to 0.18 s slower than the kernel, and does not show by which rule"
        )
        for arm in (
            "unbalanced-up",
            "unbalanced-unbalanced-delay-down",
            "unbalanced-opposed-delay-down-large-buffer",
        )
    ),
)
