"""Whatever is wrong in an experiment's Python: `lab check` tells it with its line, and nothing raises.

The mistakes are made from the declared fields, so that a new field is tried without a word here.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest

from lab.guest import middlebox, probe, workload
from lab.guest.middlebox import DropSegment, Middlebox, TcpMss
from lab.guest.probe import Capture, Probe, TcpInfo
from lab.guest.workload import Bulk, Flow, Iperf3, Listens, Ping, Prints, Program, Workload
from lab.runner.cost import estimate
from lab.spec import experiment, find
from lab.spec.errors import SpecError, display
from lab.units import Duration, Rate, Size, from_plain, to_plain

HEAD = '''\
"""A claim."""
from lab.app.language import *
from lab import metric, model
'''
WHOLE: Mapping[str, str] = {
    "topology": '"symmetric-1g"',
    "workload": "Bulk()",
    "metric": "metric.bulk_goodput()",
    "tolerance": 'Within(0.05, because="it rounds")',
    "arms": '(Arm("a", Reported("1 Mbit/s", "so")),)',
}
DECLARED = [
    *get_args(Workload),
    *get_args(Probe),
    *get_args(Middlebox),
    *(Flow, Listens, Prints),
    *(getattr(experiment, name) for name in ("Experiment", "Arm", "Point", "Sweep", "Variant", "Untestable")),
    *get_args(experiment.Claimed),
    *get_args(experiment.Cause),
    *get_args(experiment.Tolerance),
]
UNIONS = (types.UnionType, Union)
# What a declaration needs besides the field that is wrong.
NEEDED: Mapping[str, Mapping[str, str]] = {
    "Program": {"argv": '("true",)'},
    "Packetdrill": {"script": '"a.pkt"'},
    "Flow": {"name": '"a"', "workload": "Bulk()"},
    "Flows": {"flows": '(Flow("a", Bulk()),)'},
    "Prints": {"text": '"ready"'},
    "QueueState": {"link": '"path"'},
    "DropSegment": {"node": '"sender"', "number": "1"},
    "LoseSegments": {"link": '"path"', "segments": "(LostSegment(1),)"},
    "LostSegment": {"byte": "1"},
    **{name: {"node": '"sender"'} for name in ("Firewall", "Masquerade")},
    **{name: {"node": '"sender"', "mss": '"500 B"'} for name in ("MssProgram", "MssQueue", "NftMaxseg", "TcpMss")},
    "Experiment": WHOLE,
    "Arm": {"name": '"a"'},
    "Point": {"value": "1"},
    "Sweep": {"axis": '"x"', "points": "(Point(1),)"},
    "Untestable": {"part": '"a"', "because": '"so"'},
    "Reported": {"figure": "1", "quote": '"so"'},
    "Implied": {"figure": "1", "how": '"so"'},
    "Demonstrated": {"says": '"so"'},
    "Refutes": {"says": '"so"'},
    "Consistent": {"says": '"so"', "assumed": '("a",)'},
    "Within": {"ratio": "0.1", "because": '"so"'},
    "Odds": {"factor": "1.5", "because": '"so"'},
    "Absolute": {"room": "1", "because": '"so"'},
    **{name: {"margin": "1", "because": '"so"'} for name in ("Above", "Below")},
    **{name: {"because": '"so"'} for name in ("AtLeast", "AtMost", "Exactly")},
}


class Mistake(NamedTuple):
    """A declaration with one field that is wrong."""

    kind: type
    field: str
    wrong: str


def fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if hint is not ClassVar and get_origin(hint) is not ClassVar}


def wrong_for(kind: Any) -> set[str]:
    """Python that is not of this type, nor a text that means it."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        bound = {"0", "-1"} if args[1].ge == 1 else set()
        return wrong_for(args[0]) | bound
    if origin in UNIONS:
        each = [wrong_for(arg) for arg in args]
        return set.intersection(*each)
    if kind is types.NoneType:
        return EVERY - {"None"}
    if origin is Literal:
        return EVERY | {'"nonsense"'}
    if origin is tuple:
        return EVERY - {"()", "[]"} if args[-1] is Ellipsis else EVERY
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return EVERY - {"{}"}
    if origin is not None:  # a function; a class may stand for one that makes what a topology is
        return EVERY - {"Bulk", "print", "(lambda: 0)"}
    return EVERY - RIGHT.get(kind, set())


RIGHT: Mapping[Any, set[str]] = {
    str: {'"nonsense"', '"3"', '"10 parsecs"'},
    bool: {"True"},
    int: {"3", "-1", "0"},
    float: {"3", "2.5", "-1", "0"},
}
EVERY = {
    *('"nonsense"', '"3"', '"10 parsecs"', "3", "-1", "0", "2.5", "True", "None", "()", "[]", "{}", "{1: 2}"),
    *("Bulk", "print", "(lambda: 0)", "object()", '(b"x",)', "[object()]"),
}
FIELDS = [(kind, field) for kind in DECLARED for field in fields(kind)]
STEPS = [pytest.param(5, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.nightly)]  # every fifth, or all
MISTAKES = [Mistake(kind, field, wrong) for kind, field in FIELDS for wrong in sorted(wrong_for(fields(kind)[field]))]


def written(folder: Path, name: str, arguments: Mapping[str, str]) -> tuple[Path, dict[str, int]]:
    """An experiment's file that makes one declaration, a line for each argument, and the line of each."""
    path = folder / "experiments" / "mine" / "claim.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    first = HEAD.count("\n") + 2
    lines = [f"    {argument}={value},\n" for argument, value in arguments.items()]
    rest = "".join(f"    {argument}={value},\n" for argument, value in WHOLE.items())
    made = "EXPERIMENT" if name == "Experiment" else "OTHER"
    path.write_text(f"{HEAD}{made} = {name}(\n{''.join(lines)})\n" + ("" if made == "EXPERIMENT" else whole(rest)))
    return path, {argument: first + index for index, argument in enumerate(arguments)}


def whole(rest: str) -> str:
    return f"EXPERIMENT = Experiment(\n{rest})\n"


def test_enough_is_tried() -> None:
    """So that what follows tests something."""
    assert len(MISTAKES) > 200
    assert {kind.__name__ for kind in DECLARED} == {mistake.kind.__name__ for mistake in MISTAKES} | {"CpuTime"}


def test_what_is_right_is_no_mistake(tmp_path: Path) -> None:
    """So that the mistakes below are the only ones of their files."""
    for kind in DECLARED:
        path, _ = written(tmp_path, kind.__name__, NEEDED.get(kind.__name__, {}))
        assert find.check([path]) == [], kind


def tell(mistake: Mistake, folder: Path) -> None:
    """Check that the mistake is told at its line."""
    name = mistake.kind.__name__
    path, lines = written(folder, name, {**NEEDED.get(name, {}), mistake.field: mistake.wrong})
    told = [(problem.file, problem.line, problem.message.partition(": ")[0]) for problem in find.check([path])]
    assert told == [(display(path), lines[mistake.field], f"{name}.{mistake.field}")], mistake


def test_a_value_of_another_type_is_told_at_its_line(tmp_path: Path) -> None:
    """One for each declaration; the next test tries all values in all fields."""
    for mistake in {mistake.kind: mistake for mistake in MISTAKES}.values():
        tell(mistake, tmp_path)


@pytest.mark.parametrize("step", STEPS)
def test_every_value_of_another_type_is_told_at_its_line(step: int, tmp_path: Path) -> None:
    for mistake in MISTAKES[::step]:
        tell(mistake, tmp_path)


# Beside the values of another type, those of the right type that are hardly meant.
ODD = EVERY | {
    *('"0 s"', '"1 ns"', '"100 min"', '"0 B"', '"1 B"', '"1 GiB"', '"0 bit/s"', '"1 Tbit/s"', '""', "10**30"),
    *('("a",)', '("",)', '{"a": "b"}'),
}
TASKS = [
    (slot, union, kind)
    for slot, union, kinds in (
        ("workload", Workload, (*get_args(Workload), Flow)),
        ("probes", Probe, get_args(Probe)),
        ("middleboxes", Middlebox, get_args(Middlebox)),
    )
    for kind in kinds
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("slot", "union", "kind"), TASKS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_what_is_no_mistake_can_be_planned(slot: str, union: Any, kind: type, step: int, tmp_path: Path) -> None:
    """Whatever a field is given, it is refused, or the case says all that a plan asks, and survives its way."""
    name = kind.__name__
    for field, odd in [*product(fields(kind), sorted(ODD))][::step]:
        given = {**NEEDED.get(name, {}), field: odd}
        made = f"{name}({', '.join(f'{key}={value}' for key, value in given.items())})"
        made = f"Flows(({made},))" if kind is Flow else made
        path, _ = written(tmp_path, "Experiment", {**WHOLE, slot: made if slot == "workload" else f"({made},)"})
        try:
            (case,) = find.find([str(path)])[0].cases()
        except SpecError:
            continue
        assert estimate(case.network, case.workload, case.probes).seconds > 0
        assert case.workload.ip in (4, 6)
        assert isinstance(case.workload.greedy, bool)
        (task,) = (case.workload,) if slot == "workload" else getattr(case, slot)
        assert from_plain(to_plain(task), union) == task


def misspell(kind: type, field: str, folder: Path) -> None:
    """Check that the field is proposed in place of a misspelt one."""
    path, lines = written(folder, kind.__name__, {**NEEDED.get(kind.__name__, {}), f"{field}x": "1"})
    (problem,) = find.check([path])
    assert problem.message.startswith(f"unknown argument '{field}x'; did you mean '"), kind
    assert problem.line == min(lines.values()) - 1, kind


def test_a_misspelt_field_is_told_with_the_right_one(tmp_path: Path) -> None:
    """One for each declaration; the next test misspells all fields."""
    for kind, field in dict(FIELDS).items():
        misspell(kind, field, tmp_path)


@pytest.mark.long
def test_every_misspelt_field_is_told_with_the_right_one(tmp_path: Path) -> None:
    for kind, field in FIELDS:
        misspell(kind, field, tmp_path)


def test_a_missing_field_is_told_by_its_name(tmp_path: Path) -> None:
    for kind in DECLARED:
        needed = NEEDED.get(kind.__name__, {})
        for missing in needed:
            given = {name: value for name, value in needed.items() if name != missing}
            path, _ = written(tmp_path, kind.__name__, given)
            for problem in find.check([path]):
                assert problem.line > 1, (kind, missing)
                assert missing in problem.message or kind is experiment.Consistent, kind


@pytest.mark.parametrize("wrong", ["3", "'x'", "[1]", "{'x': 3}", "{'forward': 3}", "{'sysctls': 3}"])
@pytest.mark.parametrize("change", ["links={'path': %s}", "hosts={'sender': %s}", "sysctls=%s", "sysctls={3: %s}"])
def test_a_change_of_another_shape_is_told(change: str, wrong: str, tmp_path: Path) -> None:
    """The experiment's is there when the arm's is applied."""
    name, _, value = (change % wrong).partition("=")
    path, _ = written(tmp_path, "Experiment", {**WHOLE, name: value})
    assert all(problem.line > 1 for problem in find.check([path]))
    assert find.check([path])


CLAIM = """
EXPERIMENT = Experiment(
    topology="symmetric-1g",
    workload=Bulk(),
    metric=metric.bulk_goodput(),
    tolerance=Within(0.05, because="it rounds"),
    arms=(Arm("a", Reported("1 Mbit/s", "so")),),
    probes=(),
)
"""


@pytest.mark.parametrize(
    ("right", "wrong", "line", "message"),
    [
        (
            "probes=()",
            "probes=(Capture())",
            8,
            "should be a tuple (a probe of lab.guest.probe, ...), not Capture(",
        ),
        ("probes=()", 'probes=Capture(node="sender")', 8, "one alone needs a comma behind it: (..., )"),
        (
            "probes=()",
            'probes=(Capture(node="sender"), ExpertInfo(node="sender"))',
            7,
            "ExpertInfo(node='sender', interface='eth0') writes the same file as an earlier probe; leave one out",
        ),
        ("probes=()", 'probes=(Capture(interface="eth7"),)', 7, "Capture.interface: unknown interface 'eth7'; did you"),
        ("probes=()", 'probes=(Capture(snap="96"),)', 8, "Capture.snap: size '96' lacks a unit; use one of GiB,"),
        ("probes=()", "probes=(TcpInfo(interval=10),)", 8, "TcpInfo.interval: duration '10' lacks a unit"),
        (
            "probes=()",
            'kernel="6.12"',
            8,
            "Experiment.kernel: should be Variant(patches=..., hz=..., c",
        ),
        (
            "Bulk()",
            "Bulk",
            4,
            "of lab.guest.workload, not the class Bulk; write Bulk(...)",
        ),
        ("Bulk()", "Bulk(duration=10)", 4, "Bulk.duration: duration '10' lacks a unit; use one of"),
        ("Bulk()", 'Bulk(congestion="cubik")', 7, "unknown congestion control 'cubik'; did you mean 'cubic'?"),
        ("Bulk()", 'Ping(count="3")', 4, "Ping.count: should be a whole number, not '3'"),
        ("Bulk()", 'Flent(test="rrull")', 4, "Flent.test: unknown test 'rrull'; use one of cisco_5tcpup, cubic_bbr"),
        ("Bulk()", 'Flent(test="voip")', 4, "Flent.test: 'voip' cannot run here: it needs D-ITG or irtt"),
        (
            "Bulk()",
            'Flent(test="rtt_fair_var", others=("rivall",))',
            7,
            "Flent.others: unknown host 'rivall'",
        ),
        ("Bulk()", 'Ping(size="70000 B")', 4, "ping sends 65,507 bytes at most, not 70000 B"),
        (
            "bulk_goodput()",
            "bulk_goodput",
            5,
            "bulk_goodput makes the function that is wanted; call",
        ),
        ("bulk_goodput()", "ping_rtt", 5, "ping_rtt makes the function that is wanted; call it, ping_rtt(...)"),
        ("bulk_goodput()", 'ping_rtt("median")', 5, "ping_rtt.which: should be 'min' or 'max' or 'last', not 'median'"),
        ("bulk_goodput()", 'of_flow("a", metric.bulk_goodput)', 5, "of_flow.metric: bulk_goodput makes"),
        ("bulk_goodput()", "bulk_godput()", 5, "did you mean 'bulk_goodput'?"),
        (
            "metric.bulk_goodput()",
            "lambda: 0",
            5,
            "metric: <lambda> should take 1 argument: too many",
        ),
        ("probes=()", "prediction=lambda: 0", 8, "Experiment.prediction: <lambda> should take 1 argument"),
        ("probes=()", "prediction=model.codel_drops", 8, "codel_drops makes the function that is wanted"),
        ("probes=()", "prediction=modle.goodput_bulk", 8, "name 'modle' is not defined; did you mean 'model'?"),
        ("probes=()", "tolerence=3", 2, "unknown argument 'tolerence'; did you mean 'tolerance'?"),
        (
            '"1 Mbit/s"',
            '"25 %"',
            7,
            "a duration or a size; write the number 0.25, without quotes",
        ),
        (
            '"1 Mbit/s"',
            '"941"',
            7,
            "or a size; add its unit, such as '941 Mbit/s'; for a count or a ratio, write 941 without quotes",
        ),
        ('"1 Mbit/s"', "941", 7, "arm 'a': its claimed figure, 941, is without a unit, but bulk_goodput is in bit/s"),
        ("Within(0.05,", 'Absolute("0.001",', 6, "for a count or a ratio, write 0.001 without quotes"),
        ('"1 Mbit/s"', '"941 Mbits/s"', 7, "a duration or a size; did you mean 'Mbit/s'?"),
        ('"1 Mbit/s"', '"941 Mbps"', 7, "a duration or a size; did you mean 'Mbit/s'?"),
        ('"1 Mbit/s"', '"941 Mbti/s"', 7, "a duration or a size; did you mean 'Mbit/s'?"),
        ('"1 Mbit/s"', '"64 KBytes"', 7, "a duration or a size; did you mean 'KiB' or 'kB'?"),
        ('"1 Mbit/s"', '"3 seconds"', 7, "a duration or a size; did you mean 's'?"),
        ('Within(0.05, because="it rounds")', "Within(0.05)", 6, "Within: 'because' is missing; give it"),
        ('"1 Mbit/s", "so"', "", 7, "Reported: 'figure' and 'quote' are missing; give them"),
        ("symmetric-1g", "symetric-1g", 3, "unknown topology 'symetric-1g'; did you mean 'symmetric-1g'?"),
        (
            "probes=()",
            'path=("near", "receiver")',
            8,
            "path: the topology has no host 'near'; set path=(from",
        ),
    ],
)
def test_a_mistake_that_people_made_is_told(right: str, wrong: str, line: int, message: str, tmp_path: Path) -> None:
    path, _ = written(tmp_path, "Experiment", WHOLE)
    path.write_text(HEAD.rstrip("\n") + CLAIM.replace(right, wrong))
    (problem,) = find.check([path])
    assert message in problem.message
    assert problem.line == HEAD.count("\n") - 1 + line


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ('Capture(snap="96 B")', Capture(snap=Size(96))),
        ('TcpInfo(interval="10 ms")', TcpInfo(interval=Duration.of("10 ms"))),
        ('Bulk(duration="2 s", size="1 MB")', Bulk(duration=Duration.of("2 s"), size=Size.of("1 MB"))),
        ('Ping(interval="1 s")', Ping()),
        ('Iperf3(udp_rate="1 Mbit/s")', Iperf3(udp_rate=Rate.of("1 Mbit/s"))),
        ('Flow("a", Bulk(), start="1 s")', Flow("a", Bulk(), start=Duration.of("1 s"))),
        ('DropSegment("sender", 1)', DropSegment("sender", 1)),
        ('TcpMss(node="sender", mss="500 B")', TcpMss(node="sender", mss=Size(500))),
        ('Program(["true"])', Program(("true",))),
    ],
)
def test_a_text_is_the_quantity_that_it_means(given: str, meant: Any) -> None:
    names = {name: getattr(module, name) for module in (probe, workload, middlebox) for name in module.__all__}
    made = eval(given, names)
    assert made == meant
    assert to_plain(made) == to_plain(meant)


def test_hosts_of_other_names_are_told_once_at_the_path(tmp_path: Path) -> None:
    path, lines = written(tmp_path, "Experiment", {**WHOLE, "topology": '"own.yaml"'})
    (path.parent / "own.yaml").write_text("about: x\nhosts: [near, far]\nlinks: {path: {ends: [near, far]}}\n")
    told = [(problem.line, problem.message) for problem in find.check([path])]
    missing = "path: the topology has no host 'sender' and 'receiver'; set path=(from, to) to two of near, far"
    assert told[0] == (min(lines.values()) - 1, missing)
    assert [message for _, message in told[1:]] == [
        "arm 'a': Bulk.client: unknown host 'sender', its default; did you mean 'near'?",
        "arm 'a': Bulk.server: unknown host 'receiver', its default; use near, far",
    ]


def test_a_topology_that_needs_mininet_tells_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mininet", "mininet.topo"):  # another test may have imported both
        monkeypatch.setitem(sys.modules, name, None)
    small = tmp_path / "small.py"
    small.write_text("\nfrom mininet.topo import Topo\n")
    with pytest.raises(SpecError, match=r"small.py:2: ModuleNotFoundError: .*sudo apt-get install mininet"):
        find.topology(str(small))
