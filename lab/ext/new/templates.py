"""Hold the texts that `lab new` writes: for each template, an experiment, its topology, and the files next to it.

In each text, `{claim}` is the claim's name, and double braces become single ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA = "schema.json"
_EDITOR = f"# yaml-language-server: $schema={SCHEMA}\n"


@dataclass(frozen=True)
class Template:
    """Holds the texts for one kind of experiment."""

    experiment: str
    topology: str
    files: Mapping[str, str] = field(default_factory=dict)  # the files beside the experiment: name -> text


_TRANSFER = '''\
"""A gigabit Ethernet carries 941 Mbit/s of TCP, and 949 without timestamps.

The place in the article.
"""

from lab import Arm, Bulk, Capture, Duration, Experiment, Reported, Within, metric, model

EXPERIMENT = Experiment(
    topology="{claim}",  # a file of topologies/; `lab list` shows all
    workload=Bulk(duration=Duration.of("1 s")),  # makes traffic: see lab/guest/workload
    probes=(Capture(node="sender"),),  # watches the traffic: see lab/guest/probe
    metric=metric.bulk_goodput(),  # measures the figure of a trial's record: see lab/metric
    prediction=model.goodput_bulk,  # computes the same figure from the path: see lab/model
    arms=(  # the variants, each with the article's figure and the words around it
        Arm("defaults", Reported("941 Mbit/s", "carries 941 Mbit/s")),
        Arm("no-timestamps", Reported("949 Mbit/s", "and 949 without"), sysctls={{"net.ipv4.tcp_timestamps": 0}}),
    ),
    tolerance=Within(0.005, because="the article gives three digits"),
)
'''
_GIGABIT = f"""\
{_EDITOR}about: One gigabit link, with nothing else in the way.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    rate: 1 Gbit/s
"""
_FLOWS = '''\
"""Two flows of one congestion control share a bottleneck evenly, and BBR gets more of it than CUBIC.

The place in the article.
"""

from lab import (
    Above,
    Arm,
    Bulk,
    Drawn,
    Duration,
    Experiment,
    Flow,
    Flows,
    Reported,
    Steady,
    TcpInfo,
    Within,
    metric,
    model,
)


def pair(first: str, second: str) -> Flows:
    """Return two flows from two senders. Each starts within the first second; the seed decides when."""
    length, spread = Duration.of("30 s"), Duration.of("1 s")
    return Flows(
        (
            Flow("first", Bulk(client="sender", congestion=first, duration=length), spread=spread),
            Flow("second", Bulk(client="rival", congestion=second, duration=length), spread=spread),
        )
    )


EXPERIMENT = Experiment(
    topology="{claim}",
    workload=pair("cubic", "cubic"),  # any workloads side by side: see lab/guest/workload
    probes=(TcpInfo(node="receiver", interval=Duration.of("100 ms")),),  # samples each flow's bytes
    metric=metric.flow_share("second"),  # its share of all goodput: see lab/metric/flows.py
    prediction=model.fair_share,
    arms=(
        Arm("alike", Reported(0.5, "evenly", part="evenly")),
        Arm(
            "cubic-and-bbr",
            Reported(0.5, "more of it than CUBIC", part="BBR gets more"),
            workload=pair("cubic", "bbr"),
            tolerance=Above(0.1, because="a tenth more than half is more"),
        ),
    ),
    samples=10,  # ten seeds: the starts decide which flow loses first
    steady=Steady(),  # for the long run: MSER-5 cuts the start
    drawn=Drawn(),  # each seed draws round trips, rates and buffers within a few per cent
    tolerance=Within(0.2, because="the sentence has no digits, and 20 s hold few losses"),
    accuracy=Within(0.2, because="the law is about the long run"),
)
'''
_BOTTLENECK = f"""\
{_EDITOR}about: Two senders, each with a gigabit link, share 100 Mbit/s behind a router, with one BDP of queue.
hosts: [sender, rival, receiver]
routers: [router]
links:
  access: {{{{ends: [sender, router], rate: 1 Gbit/s}}}}
  rival-access: {{{{ends: [rival, router], rate: 1 Gbit/s}}}}
  bottleneck:
    ends: [router, receiver]
    rate: 100 Mbit/s
    delay: 10 ms
    forward: {{{{limit: 245}}}} # the BDP, 163 frames of 1538 B, may queue beside the 82 in flight this way
"""
_PROGRAM = '''\
"""A question to a host 5 ms away is answered after 10 ms.

The place in the article.
"""

from lab import Arm, Experiment, Program, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="{claim}",
    workload=Program(
        argv=("_{claim}-ask.py", "{{server}}", "{{port}}"),  # on `sender`: any program of the guest, or a file
        service=("_{claim}-answer.py", "{{port}}"),  # on `receiver`; ready when it listens
        files=("_{claim}-ask.py", "_{claim}-answer.py"),  # beside this file; sources=("mine.c",) compiles C
    ),
    metric=metric.program_json("seconds", unit="s"),  # from its output; or program_match(r"took (.*) ms", unit="ms")
    arms=(Arm("over-tcp", Reported("10 ms", "answered after 10 ms")),),
    tolerance=Within(0.01, because="the sentence has two digits"),
)
'''
_ASK = '''\
#!/usr/bin/python3
"""Ask once, and print how long the answer took: ADDRESS PORT."""

import json
import socket
import sys
import time

with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as sock:
    start = time.monotonic()
    sock.sendall(b"?")
    sock.recv(1)
    print(json.dumps({{"seconds": time.monotonic() - start}}))
'''
_ANSWER = '''\
#!/usr/bin/python3
"""Answer all data: PORT."""

import socket
import sys

with socket.create_server(("", int(sys.argv[1]))) as server:
    sock, _ = server.accept()
    while data := sock.recv(100):
        sock.sendall(data)
'''
_DELAY = f"""\
{_EDITOR}about: Two hosts, 5 ms apart.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    delay: 5 ms
"""
_QUEUE = '''\
"""Beside a transfer, a ping takes 140 ms through a full buffer of 125 kB, and 42 ms through fq_codel.

The place in the article.
"""

from lab import Arm, Bulk, Duration, Experiment, Flow, Flows, Ping, Reported, Within, metric, model

EXPERIMENT = Experiment(
    topology="{claim}",
    workload=Flows(
        (
            Flow("bulk", Bulk(duration=Duration.of("20 s"))),
            Flow("ping", Ping(client="rival", count=190, interval=Duration.of("101 ms"))),
        )
    ),
    metric=metric.of_flow("ping", metric.ping_rtt("max")),  # see lab/metric/queue.py for drops, marks and delays
    arms=(
        Arm(
            "tail-drop",
            Reported("140 ms", "140 ms through a full buffer", part="a full buffer"),
            prediction=model.rtt_through_full_queue,
        ),
        Arm(
            "fq_codel",
            Reported("42 ms", "42 ms through fq_codel", part="fq_codel"),
            links={{"uplink": {{"forward": {{"queue": "fq_codel"}}}}}},  # or codel, pie, cake, red, dualpi2, ...
            prediction=model.rtt_of_sparse_flow,
        ),
    ),
    tolerance=Within(0.05, because="the sentence has two digits"),
    accuracy=Within(0.05, because="a frame more or less is 1.2 ms"),
)
'''
_UPLINK = f"""\
{_EDITOR}about: Two senders at home share an uplink of 10 Mbit/s, 20 ms long, with a buffer of 125 kB before it.
hosts: [sender, rival, receiver]
routers: [router]
links:
  access: {{{{ends: [sender, router], rate: 1 Gbit/s}}}}
  rival-access: {{{{ends: [rival, router], rate: 1 Gbit/s}}}}
  uplink:
    ends: [router, receiver]
    rate: 10 Mbit/s
    delay: 20 ms
    forward: {{{{queue: {{{{kind: bfifo, limit: 125 kB}}}}}}}}
"""
_CHANGE = '''\
"""A link of 20 Mbit/s carries 18.8 Mbit/s of TCP, and 4.7 Mbit/s once it has slowed down to 5.

The place in the article.
"""

from lab import Arm, Bulk, Capture, Duration, Experiment, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="{claim}",  # lists the changes and their times
    workload=Bulk(duration=Duration.of("15 s")),
    probes=(Capture(node="receiver"),),
    metric=metric.capture_goodput(2, 5, node="receiver"),  # acknowledged from 2 to 5 s
    arms=(
        Arm("before", Reported("18.8 Mbit/s", "carries 18.8 Mbit/s of TCP", part="before")),
        Arm(
            "after",
            Reported("4.7 Mbit/s", "4.7 Mbit/s once it has slowed down", part="after"),
            metric=metric.capture_goodput(10, 15, node="receiver"),
        ),
    ),
    tolerance=Within(0.01, because="the sentence has two digits"),
)
'''
_SLOWING = f"""\
{_EDITOR}about: A link of 20 Mbit/s that slows down to 5 Mbit/s after five seconds.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    rate: 20 Mbit/s
    delay: 10 ms
    forward:
      queue: {{{{kind: pfifo, limit: 50}}}}
      changes: [{{{{at: 5 s, rate: 5 Mbit/s}}}}] # or delay, loss, mtu, down; `trace: FILE` for a measured link
"""
_STUDY = '''\
"""How do two CUBIC flows with round trips of 20 and 80 ms share a bottleneck?

A study measures figures, and judges no claim.
"""

from lab import Arm, Bulk, Drawn, Flow, Flows, QueueState, Steady, Study, TcpInfo, metric

EXPERIMENT = Study(
    topology="{claim}",
    workload=Flows(  # any workloads side by side: see lab/guest/workload
        (
            Flow("near", Bulk(client="near", duration="30 s"), spread="1 s"),
            Flow("far", Bulk(client="far", duration="30 s"), spread="1 s"),
        )
    ),
    probes=(TcpInfo(node="receiver", interval="100 ms"), QueueState(link="bottleneck", interval="20 ms")),
    metrics={{  # every arm gives each of these figures: see lab/metric
        "share of the near flow": metric.flow_share("near"),
        "goodput of both": metric.total_goodput(),
        "queue delay": metric.mean_queue_delay("bottleneck"),
    }},
    arms=(
        Arm("tail-drop"),
        Arm("fq_codel", links={{"bottleneck": {{"forward": {{"queue": "fq_codel"}}}}}}),
    ),
    samples=10,  # ten seeds give each figure an interval
    steady=Steady(),  # for the long run: MSER-5 cuts the start
    drawn=Drawn(),  # each seed draws round trips, rates and buffers within a few per cent
    path=("near", "receiver"),
)
'''
_TWO_DISTANCES = f"""\
{_EDITOR}about: Two senders, 10 and 40 ms away, share 20 Mbit/s behind a router.
hosts: [near, far, receiver]
routers: [router]
links:
  near-access: {{{{ends: [near, router], rate: 1 Gbit/s, delay: 9 ms}}}}
  far-access: {{{{ends: [far, router], rate: 1 Gbit/s, delay: 39 ms}}}}
  bottleneck:
    ends: [router, receiver]
    rate: 20 Mbit/s
    delay: 1 ms
    forward: {{{{queue: {{{{kind: pfifo, limit: 100}}}}}}}}
"""
STUDY = "study"
TEMPLATES: Mapping[str, Template] = {
    "transfer": Template(_TRANSFER, _GIGABIT),
    "flows": Template(_FLOWS, _BOTTLENECK),
    "program": Template(_PROGRAM, _DELAY, {"_{claim}-ask.py": _ASK, "_{claim}-answer.py": _ANSWER}),
    "queue": Template(_QUEUE, _UPLINK),
    "change": Template(_CHANGE, _SLOWING),
    STUDY: Template(_STUDY, _TWO_DISTANCES),
}
