"""What a topology says of a link beyond a plain wire: resolved, changed by an experiment, and its mistakes told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.guest import trace
from lab.guest.network import ISOLATION, Change, Distribution, Network, Queue
from lab.spec import queue
from lab.spec.changes import Changes
from lab.spec.errors import SpecError
from lab.spec.topology import Topology, load
from lab.units import Duration, Rate, from_plain, to_plain

Said = Callable[[str], list[str]]
Parse = Callable[[str], Topology]

SLOW = "a frame of {} takes over a minute, the longest that a queue waits; give {} or more"
FULL = "the {} would hold {} frames, too many for the kernel; give a smaller limit, delay or rate"
LINK = """\
about: Two hosts.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    rate: 10 Mbit/s
    {}
"""


def test_a_plain_link_reads_as_it_always_did(topology: Parse) -> None:
    """Nothing new is in what a trial's address is made of."""
    (link,) = to_plain(topology(LINK.format("delay: 1 ms")).network)["links"]
    assert set(link["forward"]) == {
        *("rate", "delay", "jitter", "loss", "reorder", "duplicate", "mtu", "limit", "shaper")
    }


def test_a_queue_is_resolved_for_its_direction(topology: Parse) -> None:
    network = topology(LINK.format("forward: {queue: {kind: codel, target: 10ms, ecn: true}}")).network
    (link,) = network.links
    assert link.forward.queue == Queue("codel", (("ecn", True), ("target", "10 ms")))
    assert link.back.queue is None
    assert from_plain(json.loads(json.dumps(to_plain(network))), Network) == network
    assert hash(link.forward) == hash(link.forward)


def test_an_experiment_changes_a_queue(topology: Parse) -> None:
    made = topology(LINK.format("queue: codel"))
    network = made.resolve(Changes(links={"path": {"queue": {"kind": "pie", "limit": 7}}}))
    assert network.links[0].back.queue == Queue("pie", (("limit", 7),))
    again = made.resolve(Changes(links={"path": {"rate": "1 Mbit/s"}}))
    assert again.links[0].forward.queue == Queue("codel")


def test_a_rate_that_changes_has_a_queue(topology: Parse) -> None:
    """Frames that wait inside a netem have their moment already; they have to wait before it."""
    forward = (
        topology(LINK.format("changes: [{at: 1 s, rate: 20 Mbit/s}, {at: 2 s, down: 5 ms}]")).network.links[0].forward
    )
    assert forward.changes == (
        Change(Duration.of("1 s"), Rate.of("20 Mbit/s")),
        Change(Duration.of("2 s"), down=Duration.of("5 ms")),
    )
    assert forward.queue == Queue("pfifo", (("limit", 163),)), "100 ms at 20 Mbit/s"
    assert topology(LINK.format("changes: [{at: 1 s, delay: 2 ms}]")).network.links[0].forward.queue is None


def test_a_distribution_is_resolved(topology: Parse) -> None:
    """A plain jitter and uniform are the same. Where the wire has a rate, frames are in order anyway."""
    line = "delay: 99 ms, forward: {{jitter: {}}}"
    plain = topology(
        LINK.replace("    {}\n", "").replace("rate: 10 Mbit/s", line.format("9 ms").replace(", f", "\n    f"))
    ).network
    for jitter in ("{deviation: 9 ms}", "{deviation: 9 ms, distribution: uniform}"):
        assert (
            topology(
                LINK.replace("    {}\n", "").replace("rate: 10 Mbit/s", line.format(jitter).replace(", f", "\n    f"))
            ).network
            == plain
        )
    normal = "{deviation: 9 ms, distribution: normal, in_order: true}"
    forward = topology(LINK.format(line.format(normal).replace(", f", "\n    f"))).network.links[0].forward
    assert (forward.distribution, forward.in_order) == (Distribution("normal"), False)
    rateless = topology(
        LINK.replace("    {}\n", "").replace("rate: 10 Mbit/s", line.format(normal).replace(", f", "\n    f"))
    ).network
    assert rateless.links[0].forward.in_order
    assert from_plain(json.loads(json.dumps(to_plain(rateless))), Network) == rateless


def test_an_experiment_changes_a_distribution(topology: Parse) -> None:
    made = topology(
        LINK.format("delay: 99 ms, jitter: {deviation: 9 ms, distribution: normal}".replace(", j", "\n    j"))
    )
    for jitter, kind, ns in (("5 ms", None, 5), ({"deviation": "4 ms"}, "normal", 4), (None, None, 0)):
        forward = made.resolve(Changes(links={"path": {"jitter": jitter}})).links[0].forward
        assert (forward.distribution and forward.distribution.name, forward.jitter.ns) == (kind, ns * 10**6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 x\n", "own.dist:1: 'x' is not a whole number from -32768 to 32767"),
        ("# nothing\n", "own.dist: a table has 1 to 16384 numbers, not 0"),
        ("1\n99999\n", "own.dist:2: '99999' is not a whole number from -32768 to 32767"),
        ("1 " * 20_000, "own.dist: a table has 1 to 16384 numbers, not 20000"),
    ],
)
def test_a_mistake_in_a_table_has_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "own.dist").write_text(text)
    (tmp_path / "net.yaml").write_text(
        LINK.format("delay: 9 ms\n    jitter: {deviation: 1 ms, distribution: own.dist}")
    )
    with pytest.raises(SpecError) as caught:
        load(tmp_path / "net.yaml")
    (problem,) = caught.value.problems
    assert (problem.line, problem.message) == (8, f"links.path.jitter.distribution: {message}")


def test_delays_are_resolved_to_prefixes(topology: Parse) -> None:
    """A node has all its addresses, and the longest prefix comes first. With a rate, frames wait in front."""
    line = "forward: {delays: {10.0.0.0/8: 7 ms, receiver: 9 ms}}"
    forward = topology(LINK.format(line)).network.links[0].forward
    assert [(each.to, str(each.delay)) for each in forward.delays] == [
        ("fd00:1::2/128", "9 ms"),
        ("10.0.1.2/32", "9 ms"),
        ("10.0.0.0/8", "7 ms"),
    ]
    assert forward.queue == Queue("pfifo", (("limit", 82),)), "100 ms, as on a plain wire"
    plain = LINK.replace("    rate: 10 Mbit/s\n", "").format(line)
    assert topology(plain).network.links[0].forward.queue is None


def test_changes_repeat_in_any_order(topology: Parse) -> None:
    """Those that repeat need not be in order. Chance has them in both directions at once if they are beside `ends`."""
    lines = "changes: [{at: 3 s, every: 2 s, down: 5 ms}, {at: 1 s, delay: 2 ms}, {every_about: 9 s, down: 1 s}]"
    network = topology(LINK.format(lines)).network
    repeated, once, chance = network.links[0].forward.changes
    assert network.links[0].back.changes == (repeated, once, chance)
    assert repeated == Change(Duration.of("3 s"), down=Duration.of("5 ms"), every=Duration.of("2 s"))
    assert chance.shared
    assert not repeated.shared
    assert network.is_left_to_chance
    (own,) = topology(LINK.format("back: {changes: [{every_about: 9 s, down: 1 s}]}")).network.links[0].back.changes
    assert not own.shared
    assert "every" not in to_plain(once)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("queue: fq_cobel", "links.path.queue: unknown queue 'fq_cobel'; did you mean 'fq_codel'?"),
        ("queue: {limit: 3}", f"links.path.queue: a queue needs a kind: {', '.join(queue.KINDS)}"),
        ("queue: pfifo", "links.path.queue: pfifo needs its limit"),
        (
            "queue: {kind: codel, tarjet: 5 ms}",
            "links.path.queue.tarjet: codel has no parameter 'tarjet'; did you mean 'target'?",
        ),
        (
            "queue: {kind: codel, target: 5}",
            "links.path.queue.target: duration '5' lacks a unit; use one of h, min, s, ms, us, ns",
        ),
        (
            "queue: {kind: codel, target: 5 ns}",
            "links.path.queue.target: 5 ns: a queue's times should be whole microseconds, at most 4294967.295 ms",
        ),
        ("queue: {kind: codel, ecn: 1}", "links.path.queue.ecn: '1' should be true or false"),
        ("queue: {kind: pie, limit: -1}", "links.path.queue.limit: '-1' should be a whole number from 1 to 4294967295"),
        (
            "queue: {kind: cake, isolation: hosts!}",
            f"links.path.queue.isolation: 'hosts!' should be one of {', '.join(ISOLATION)}",
        ),
        (
            "queue: {kind: red, limit: 9 kB, min: 5 kB, max: 4 kB}",
            "links.path.queue.max: RED marks between min and max: 4000 B is not more than 5000 B",
        ),
        ("queue: [codel]", "links.path.queue: unknown queue '['codel']'; did you mean 'codel'?"),
        (
            "limit: 5, queue: codel",
            "links.path.limit: it counts the frames of a plain wire: with queue, give the queue its own limit",
        ),
        (
            "queue: codel, shaper: nic",
            "links.path.queue: a nic's own queue is a FIFO; use queue, trace or a changing rate with shaper: path",
        ),
        (
            "burst_loss: {r: 5 %}",
            "links.path.burst_loss.p: missing; give the chance that a burst of losses begins, like '1 %'",
        ),
        ("burst_loss: {p: 1 %, r: 5 %, q: 1}", "links.path.burst_loss.q: unknown key; use p, r, bad, good"),
        (
            "slot: {min: 1 ms}",
            "links.path.slot.max: missing; give the longest time from one slot to the next, like '10 ms'",
        ),
        ("changes: 5", "links.path.changes: should be a list"),
        (
            "changes: [{mtu: 500 B}]",
            "links.path.changes.0.at: missing; give the time since the workload's start, like '5 s'",
        ),
        ("changes: [{at: 1 s, rat: 1 Gbit/s}]", "links.path.changes.0.rat: unknown key; did you mean 'rate'?"),
        (
            "changes: [{at: 1 s}]",
            "links.path.changes.0: changes nothing; give it a rate, a delay, a loss, an mtu or down",
        ),
        ("changes: [{at: 1 s, loss: 1 %}, {at: 1 s, loss: 2 %}]", "links.path.changes.1.at: 1 s is not after 1 s"),
        (
            "changes: [{at: 1 s, down: 2 s}, {at: 2 s, down: 1 s}]",
            "links.path.changes.1.down: the link is still down since 1 s",
        ),
        ("loss_correlation: 5 %", "links.path.loss_correlation: there is no loss to correlate; give the link a loss"),
        (
            "loss: 5 %, loss_correlation: 100 %",
            "links.path.loss_correlation: netem would lose all frames or none; use less than 100 %",
        ),
        (
            "delay: 9 ms, reorder_gap: 5",
            "links.path.reorder_gap: no frame overtakes others; give the link a reorder, such as 100 %",
        ),
        (
            "delay: 9 ms, reorder: 5 %, reorder_gap: 0",
            "links.path.reorder_gap: '0': input should be greater than or equal to 1",
        ),
        (
            "delay: 9 ms, jitter: {distribution: normal}",
            "links.path.jitter.deviation: missing; give the standard deviation of the delay, like '10 ms'",
        ),
        (
            "delay: 9 ms, jitter: {deviation: 1 ms, distribution: nornal}",
            "links.path.jitter.distribution: 'nornal' is not a distribution; did you mean 'normal'?",
        ),
        (
            "delay: 9 ms, jitter: {deviation: 1 ms, distribution: own.dist}",
            "links.path.jitter.distribution: the table own.dist: no such file",
        ),
        ("delay: 9 ms, jitter: 1", "links.path.jitter: duration '1' lacks a unit; use one of h, min, s, ms, us, ns"),
        (
            "delay: 40 ms, jitter: {deviation: 10 ms, distribution: normal}",
            "links.path.jitter: a frame may be 40.8 ms early, but the delay is 40 ms; give a longer delay",
        ),
        (
            "delay: 9 s, jitter: {deviation: 1 s, distribution: pareto}",
            "links.path.jitter: netem cannot draw a deviation of more than 195.2 ms for pareto",
        ),
        (
            "delay: 9 ms, jitter: {deviation: 1 ms, in_order: false}",
            "links.path.jitter: frames stay in order on a link with a rate; put the jitter on a link without one",
        ),
        (
            "delay: 9 s, jitter: {deviation: 1 s, distribution: normal}, jitter_correlation: 5 %",
            "links.path.jitter_correlation: netem does not correlate the draws from a table; use a plain jitter",
        ),
        ("delay: 2 ms, jitter: 3 ms", "links.path.jitter: 3 ms is more than the delay of 2 ms; give a longer delay"),
        (
            "delays: {reciever: 9 ms}",
            "links.path.delays.reciever: unknown destination 'reciever'; did you mean 'receiver'?",
        ),
        (
            "delays: {300.0.0.1: 9 ms}",
            "links.path.delays.300.0.0.1: unknown destination '300.0.0.1'; name a node, an address or a prefix",
        ),
        (
            "delays: {10.0.1.7/24: 9 ms}",
            "links.path.delays.10.0.1.7/24: '10.0.1.7/24' has bits after its prefix; write '10.0.1.0/24'",
        ),
        (
            "delays: {receiver: 9 ms, 10.0.1.2: 8 ms}",
            "links.path.delays.10.0.1.2: 10.0.1.2/32 already has a delay of 9 ms",
        ),
        (
            "delays: {receiver: 9}",
            "links.path.delays.receiver: duration '9' lacks a unit; use one of h, min, s, ms, us, ns",
        ),
        (
            "delay: 9 ms, jitter: 5 ms, delays: {receiver: 1 ms}",
            "links.path.delays.receiver: 1 ms is less than the jitter of 5 ms",
        ),
        (
            "duplicate: 1 %, delays: {receiver: 9 ms}",
            "links.path.duplicate: it cannot apply across different delays; leave out either it or the delays",
        ),
        (
            "limit: 9, delays: {receiver: 9 ms}",
            "links.path.limit: it counts the frames of a wire with a single delay; leave it out",
        ),
        (
            "changes: [{at: 1 s, delay: 9 ms}], delays: {receiver: 9 ms}",
            "links.path.changes: a delay cannot change on a link with delays by destination",
        ),
        (
            "changes: [{at: 1 s, delay: 0 s}], delays: {receiver: 9 ms}",
            "links.path.changes: a delay cannot change on a link with delays by destination",
        ),
        (
            "shaper: nic, delays: {receiver: 9 ms}",
            "links.path.delays: frames have to wait in front of the delays; use shaper: path",
        ),
        (
            f"delays: {{{', '.join(f'10.9.{number}.0/24: {number + 1} ms' for number in range(16))}}}",
            "links.path.delays: there are at most 16 different delays, including that of all other frames",
        ),
        ("delays: {}", "links.path.delays: names no destination"),
        ("queue: tbf", "links.path.queue: tbf needs its burst"),
        ("queue: {kind: tbf, burst: 4 kB}", "links.path.queue: tbf needs either its limit, in bytes, or its latency"),
        (
            "queue: {kind: tbf, burst: 4 kB, limit: 9 kB, peakrate: 1 Mbit/s}",
            "links.path.queue: tbf's peakrate and its mtu, the bytes that leave at once, need each other",
        ),
        (
            "queue: {kind: tbf, rate: 1 Mbit/s, burst: 4 kB, limit: 9 kB, peakrate: 1 Mbit/s, mtu: 2 kB}",
            "links.path.queue.peakrate: 1 Mbit/s is not more than the rate of 1 Mbit/s",
        ),
        (
            "queue: {kind: tbf, burst: 1500 B, limit: 9 kB}",
            "links.path.queue.burst: tbf would lose each frame of more than 1500 B; give 1514 B or more",
        ),
        (
            "queue: {kind: tbf, rate: 10 Mbit/s, burst: 2 kB, limit: 9 kB}",
            "links.path.queue: frames would wait behind the bucket at 10 Mbit/s; give less than the link's 10 Mbit/s",
        ),
        (
            "queue: {kind: tbf, burst: 1 GB, limit: 9 kB}",
            "links.path.queue.burst: 1000000000 B take more than 4.5 min at 10 Mbit/s; give less",
        ),
        (
            "queue: {kind: tbf, burst: 4 kB, latency: 4000 s}",
            "links.path.queue.latency: 4000 s at 10 Mbit/s and the burst are more than 4294967295 B; give less",
        ),
        (
            "queue: {kind: tbf, burst: 300 MB, latency: 55 min}",
            "links.path.queue.latency: 55 min at 10 Mbit/s and the burst are more than 4294967295 B; give less",
        ),
        (
            "queue: {kind: tbf, burst: 10 kB, limit: 64 kB, peakrate: 10 Mbit/s, mtu: 1514 B}",
            "links.path.queue.peakrate: 10 Mbit/s is not more than the rate of 10 Mbit/s",
        ),
        (
            "queue: {kind: tbf, burst: 10 kB, limit: 100 B}",
            "links.path.queue.limit: tbf would lose each frame of more than 100 B; give 1514 B or more",
        ),
        (
            "queue: {kind: htb, burst: 4 kB}, changes: [{at: 1 s, rate: 1 Mbit/s}]",
            "links.path.changes: the rate of htb cannot change; use a different queue",
        ),
        (
            "queue: {kind: htb, burst: 4 kB, ceil: 1 Mbit/s}",
            "links.path.queue.ceil: 1 Mbit/s is less than the rate of 10 Mbit/s",
        ),
        (
            "queue: {kind: htb, burst: 4 kB, cbursts: 1 kB}",
            "links.path.queue.cbursts: htb has no parameter 'cbursts'; did you mean 'cburst'?",
        ),
        (
            "changes: [{at: 1 s, every: 2 s, down: 2 s}]",
            "links.path.changes.0.down: the link would never be up again; give less than every, 2 s",
        ),
        (
            "changes: [{at: 1 s, every: 2 s, every_about: 2 s, down: 1 s}]",
            "links.path.changes.0.every_about: the change already comes every 2 s; give only one of them",
        ),
        (
            "changes: [{every_about: 10 us, down: 1 s}]",
            "links.path.changes.0.every_about: 10 us is too short; use 1 ms or more",
        ),
        (
            "changes: [{at: 1 s, times: 2, down: 1 s}]",
            "links.path.changes.0.times: the change comes once; give it every or every_about",
        ),
        (
            "changes: [{at: 1 s, every: 2 s, times: 0, down: 1 s}]",
            "links.path.changes.0.times: '0': input should be greater than or equal to 1",
        ),
        ("changes: [{at: 1 s, mtu: 9000 B}]", "links.path.changes.0.mtu: 9000 B is more than the link's own, 1500 B"),
        (
            "changes: [{at: 1 s, rate: 0 bit/s}]",
            "links.path.changes.0.rate: a rate of zero carries nothing; leave it out for an unlimited rate",
        ),
        ("burst_loss: {p: 1 %, r: 5 %}, loss: 1 %", "links.path.burst_loss: it replaces loss; give only one of them"),
        ("jitter_correlation: 5 %", "links.path.jitter_correlation: there is no jitter to correlate"),
        (
            "delay: 9 ms, jitter: 5 ms, jitter_correlation: 5 %",
            "links.path.jitter_correlation: netem correlates a jitter evenly only from 2.144 s on",
        ),
        (
            "delay: 9 s, jitter: 3 s",
            "links.path.jitter: netem cannot draw a jitter of more than 2147483.647 us",
        ),
        (
            "slot: {min: 1 s, max: 4 s}",
            "links.path.slot.max: netem cannot draw a slot more than 2147483.648 us longer than min",
        ),
        (
            "slot: {min: 1 s, max: 1 s, bytes: 2 GiB}",
            "links.path.slot.bytes: 2 GiB is more than netem can count; use less than 2 GiB",
        ),
        (
            "loss: 0.000001 %",
            "links.path.loss: netem draws in steps of 2^-32; use 0.00001 % or more, or leave it out",
        ),
        ("slot: {min: 2 ms, max: 1 ms}", "links.path.slot.max: 1 ms is shorter than min, 2 ms"),
        ("trace: missing", "links.path.trace: the trace missing: no such file"),
        (
            "trace: /etc/passwd",
            "links.path.trace: '/etc/passwd' is outside the folder; copy it there, and name the copy",
        ),
        (
            "trace: ../x",
            "links.path.trace: '../x' is outside the folder; copy it there, and name the copy",
        ),
        (
            "delay: 9 ms, jitter: {deviation: 1 ms, distribution: /etc/shadow}",
            "links.path.jitter.distribution: '/etc/shadow' is outside the folder; copy it there, and name the copy",
        ),
        (
            "queue: {kind: tbf, rate: 0 bit/s, burst: 9 kB, limit: 9 kB}",
            "links.path.queue.rate: a rate of zero carries nothing; give a higher rate, or leave it out",
        ),
        (
            "queue: {kind: htb, rate: 80 bit/s, burst: 2 kB}",
            "links.path.queue.rate: " + SLOW.format("1514 B", "208 bit/s"),
        ),
        (
            "rate: 96 bit/s, delays: {receiver: 1 ms}",
            "links.path.rate: " + SLOW.format("1538 B", "208 bit/s"),
        ),
        (
            "rate: 1 kbit/s, mtu: 9000 B, queue: codel",
            "links.path.rate: " + SLOW.format("9038 B", "1.208 kbit/s"),
        ),
        (
            "changes: [{at: 1 s, rate: 160 bit/s}]",
            "links.path.changes.0.rate: " + SLOW.format("1538 B", "208 bit/s"),
        ),
        (
            "rate: 1001 bit/s",
            "links.path.rate: 1.001 kbit/s is not a whole number of bytes per second; give 1 kbit/s",
        ),
        ("queue: {kind: pfifo, limit: 0}", "links.path.queue.limit: '0' should be a whole number from 1 to 4294967295"),
        (
            "queue: {kind: bfifo, limit: 1513 B}",
            "links.path.queue.limit: bfifo would lose each frame of more than 1513 B; give 1514 B or more",
        ),
        ("queue: {kind: sfq, divisor: 3}", "links.path.queue.divisor: 3 should be a power of two, up to 65536"),
        (
            "queue: {kind: sfq, flows: 512, divisor: 256}",
            "links.path.queue.flows: 512 flows do not fit a divisor of 256; give fewer flows or a larger divisor",
        ),
        ("queue: {kind: fq_codel, flows: 0}", "links.path.queue.flows: '0' should be a whole number from 1 to 65536"),
        (
            "queue: {kind: red, limit: 90 kB, min: 9 kB, max: 30 kB, ewma: 64}",
            "links.path.queue.ewma: '64' should be a whole number from 0 to 31",
        ),
        (
            "queue: {kind: red, limit: 90 kB, min: 9 kB, max: 30 kB, ewma: 20}",
            "links.path.queue.max: with an ewma of 20, RED counts to 2047 B; give a smaller max or a smaller ewma",
        ),
        (
            "queue: {kind: red, limit: 90 kB, min: 9 kB, max: 30 kB, avpkt: 0 B}",
            "links.path.queue.avpkt: 0 B is less than 1 B",
        ),
        (
            "shaper: nic, limit: 4294967295",
            "links.path.limit: " + FULL.format("interface", 4294967295),
        ),
        (
            "rate: 100 Gbit/s, delay: 60 min",
            "links.path.delay: " + FULL.format("wire", 535714289910),
        ),
    ],
)
def test_a_mistake_is_told_at_its_line(mistakes: Said, line: str, message: str) -> None:
    text = LINK.format("{}").replace("    {}\n", f"    forward: {{{line}}}\n")
    assert mistakes(text) == [f"7: {message.replace('links.path.', 'links.path.forward.')}"]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a", "1\ntwo\n", "a:2: 'two' is not a time in whole milliseconds"),
        ("a", "1\n\n2", "a:2: '' is not a time in whole milliseconds"),
        ("a", "-1\n", "a:1: '-1' is not a time in whole milliseconds"),
        ("a", "5\n4\n", "a:2: 4 ms is before the 5 ms of the line above"),
        ("a", "", "a:1: the trace has no length: its last time is its period"),
        ("a", "0\n0\n", "a:2: the trace has no length: its last time is its period"),
        ("a", "3600001\n", "a:1: 3600001 ms is more than 60 min, the longest trace"),
        ("a.csv", "time,rate\n", "a.csv:1: the first line should be 'duration,rate'"),
        ("a.csv", "duration,rate\n1 s,fast\n", "a.csv:2: 'fast' is not a rate; write it like '1 Gbit/s'"),
        ("a.csv", "duration,rate\n1 s\n", "a.csv:2: '' is not a rate; write it like '1 Gbit/s'"),
        ("a.csv", "duration,rate\n0 s,1 Mbit/s\n", "a.csv:2: a row lasts for some time"),
        ("a.csv", "duration,rate\n1 us,1 Mbit/s\n", "a.csv:2: the trace should last for whole milliseconds"),
        ("a.csv", "duration,rate\n1 s,0 bit/s\n", "a.csv:2: the trace never carries a frame"),
    ],
)
def test_nonsense_in_a_trace_is_told_at_its_line(tmp_path: Path, file: str, text: str, message: str) -> None:
    (tmp_path / file).write_text(text)
    (tmp_path / "net.yaml").write_text(LINK.replace("    rate: 10 Mbit/s\n", "").format(f"trace: {file}"))
    with pytest.raises(SpecError) as caught:
        load(tmp_path / "net.yaml")
    (problem,) = caught.value.problems
    assert (problem.line, problem.message) == (6, f"links.path.trace: {message}")


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 50_000)), min_size=1, max_size=8))
def test_a_csv_trace_carries_what_its_rates_make_up(rows: list[tuple[int, int]]) -> None:
    """Whole frames of 1538 bytes, never before the rates have made them up, and no later than the next millisecond."""
    lines = ["duration,rate", *(f"{ms} ms,{kbit} kbit/s" for ms, kbit in rows)]
    counts = trace._csv("a.csv", lines)
    rates = [kbit for ms, kbit in rows for _ in range(ms)]
    assert len(counts) == len(rates) + 1
    made = 0
    for at in range(len(counts)):
        made += rates[at - 1] if at else 0  # bits
        assert sum(counts[: at + 1]) == made // (8 * 1538)


def test_a_bucket_limits_its_direction(topology: Parse) -> None:
    """Costs are estimated from this rate, and a flow without an end needs one."""
    bucket = "queue: {kind: tbf, rate: 4 Mbit/s, burst: 10 kB, limit: 64 kB}"
    for text, rate in (
        (LINK.format(bucket), "4 Mbit/s"),
        (LINK.replace("    rate: 10 Mbit/s\n", "").format(bucket), "4 Mbit/s"),
        (LINK.format(""), "10 Mbit/s"),
    ):
        assert topology(text).network.links[0].forward.least_rate == Rate.of(rate)
    assert topology(LINK.replace("    rate: 10 Mbit/s\n", "").format("")).network.links[0].forward.least_rate is None


def test_jitter_behind_a_bucket_may_reorder(topology: Parse) -> None:
    text = "delay: 9 ms, jitter: {deviation: 1 ms, in_order: false}, queue: {kind: tbf, burst: 10 kB, limit: 64 kB}"
    lines = text.replace(", queue", "\n    queue").replace("ms, jitter", "ms\n    jitter")
    assert not topology(LINK.format(lines)).network.links[0].forward.in_order
