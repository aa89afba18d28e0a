"""Experiments load from their files, expand into cases, and their mistakes come with file and line."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import InputError
from lab.spec import find
from lab.spec.errors import SpecError
from lab.spec.python import ADVICE
from lab.units import Duration, Value

Write = Callable[..., Path]

HEAD = '''\
"""One flow fills a tenth
of the link.

Source: the second run.
"""
from lab import Above, Absolute, Arm, Capture, Consistent, Demonstrated, Exactly, Experiment, Point, QueueState
from lab import Bulk as Transfer, Reported, Sweep, Value, Within


class Bulk(Transfer, frozen=True):
    """A workload of the file's own."""
    client: str = "sender"


def goodput(record):
    return Value(94e6, "bit/s")


def window_over_rtt(path):
    return Value(95e6, "bit/s")


CLOSE = Within(0.05, because="the article rounds")
COMMON = dict(topology="symmetric-1g", workload=Bulk(), metric=goodput, prediction=window_over_rtt, tolerance=CLOSE)
'''
ONE = 'EXPERIMENT = Experiment(**COMMON, arms=(Arm("default", Reported("94.4 Mbit/s", "it says so")),))\n'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes experiments/article/NAME.py in a directory that is then the current one."""
    monkeypatch.chdir(tmp_path)

    def write(body: str = ONE, name: str = "tenth", head: str = HEAD) -> Path:
        path = tmp_path / "experiments" / "an-article" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + body)
        return path

    return write


def said(path: Path) -> list[str]:
    """What `check` says of a file, as 'line: message'; lines counted from the body's first."""
    offset = HEAD.count("\n")
    return [f"{problem.line - offset}: {problem.message}" for problem in find.check([path])]


def test_a_claim_is_found_by_id_article_and_file(write: Write) -> None:
    path = write()
    for selector in ("an-article/tenth", "an-article", "experiments/an-article/tenth.py", str(path)):
        (loaded,) = find.find([selector])
        assert loaded.id == "an-article/tenth"
        assert loaded.claim == "One flow fills a tenth of the link."
        assert loaded.source == "Source: the second run."
        assert loaded.topology.name == "symmetric-1g"
        assert loaded.path == path


def test_each_claim_comes_once(write: Write) -> None:
    write()
    write(name="again")
    ids = [loaded.id for loaded in find.find(["an-article/tenth", "an-article"])]
    assert ids == ["an-article/tenth", "an-article/again"]


def test_an_unknown_claim_suggests_known_ones(write: Write) -> None:
    write()
    with pytest.raises(InputError, match="unknown claim, article or pack 'tenth'; did you mean 'an-article/tenth'"):
        find.find(["tenth"])
    with pytest.raises(InputError, match="did you mean 'an-article/tenth'"):
        find.find(["an-article/tenht"])


def test_loading_leaves_nothing_behind(write: Write) -> None:
    path = write()
    modules = set(sys.modules)
    find.find([str(path)])
    assert set(sys.modules) == modules
    assert [each.name for each in path.parent.iterdir()] == ["tenth.py"]


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("", "", True),
        ("One flow fills", "A single flow fills", True),  # the claim's words decide no packet
        ("def goodput(record):\n", "def goodput(record):  # of a record\n    'Made up.'\n\n", True),
        ("CLOSE = Within(0.05,", "CLOSE = Within(\n    0.05,\n   ", True),
        ("Within(0.05,", "Within(0.06,", False),
        ('client: str = "sender"', 'client: str = "receiver"', False),
        ("94e6", "95e6", False),
    ],
)
def test_the_hash_is_of_what_the_file_means(write: Write, old: str, new: str, is_same: bool) -> None:
    before = find.find([str(write())])[0].source_sha256
    after = find.find([str(write(head=HEAD.replace(old, new)))])[0].source_sha256
    assert (after == before) is is_same


def test_article_yaml_names_commits_of_the_kernel(write: Write) -> None:
    path = write()
    described = path.with_name("article.yaml")
    head = "title: T\nauthor: A\ndate: d\nurl: u\n"
    commit = "{commit: 0123456789ab, since: '6.6', title: 'tcp: less', claims: [tenth], known: by `lab bisect`}"
    described.write_text(f"{head}commits:\n  - {commit}\n")
    (found,) = find.find([str(path)])[0].article.commits
    assert (found.commit, found.since, found.claims) == ("0123456789ab", "6.6", ("tenth",))
    described.write_text(
        f"{head}commits:\n  - {commit.replace('0123456789ab', '0123')}\n  - {{comit: a, since: 6.6}}\n"
    )
    assert {f"{problem.line}: {problem.message}" for problem in find.check([described])} == {
        "6: commits: commit should be the first 12 digits of a hash, in quotes",
        "7: commits: comit: unknown key; did you mean 'commit'?",
        "7: commits: since should be a version of the kernel in quotes, like '6.6'",
        *(f"7: commits: missing: {key}" for key in ("commit", "title", "claims", "known")),
    }
    described.write_text(f"{head}commits: {{a: b}}\n")
    assert [problem.message for problem in find.check([described])] == ["commits: should be a list of mappings"]
    described.write_text(f"{head}commits:\n  - {commit.replace('[tenth]', '[tenht]')}\n")
    assert [problem.message for problem in find.check([described])] == [
        "commits: unknown claim 'tenht'; did you mean 'tenth'?"
    ]


def test_article_yaml_names_the_source(write: Write) -> None:
    path = write()
    described = path.with_name("article.yaml")
    described.write_text("title: TCP\nauthor: A\ndate: 2015-07-11\nurl: https://example.org/tcp\n")
    article = find.find([str(path)])[0].article
    assert (article.name, article.title, article.date) == ("an-article", "TCP", "2015-07-11")
    described.write_text(described.read_text() + "answer: It is\n  so.\nstory: {tenth: a tenth}\n")
    article = find.find([str(path)])[0].article
    assert (article.headline, article.answer, article.story) == ("", "It is so.", {"tenth": "a tenth"})
    described.write_text("title: T\nauthor: A\ndate: d\nurl: u\nstory:\n  tenht: a tenth\n  tenth: 1\n")
    assert [f"{problem.line}: {problem.message}" for problem in find.check([described])] == [
        "6: story: unknown claim 'tenht'; did you mean 'tenth'?",
        "7: story: tenth should have a short name",
    ]
    described.write_text("title: TCP\nauthor: A\ndata: 2015\nurl: u\n")
    assert [f"{problem.line}: {problem.message}" for problem in find.check([described])] == [
        "1: missing: date",
        "3: data: unknown key; did you mean 'date'?",
    ]


def test_every_arm_runs_at_every_point(write: Write) -> None:
    body = """
EXPERIMENT = Experiment(
    **COMMON,
    sysctls={"net.ipv4.tcp_sack": 0},
    arms=(
        Arm("plain", Reported("94.4 Mbit/s", "it says so")),
        Arm("other", None, Demonstrated("why"), tolerance=Exactly("counted"), sysctls={"net.ipv4.tcp_sack": 1}),
    ),
    sweep=Sweep("delay", (
        Point("10 ms", links={"path": {"delay": "10 ms"}}),
        Point("1 s", links={"path": {"delay": "1 s"}}, claimed=Reported("9 Mbit/s", "it says so")),
    )),
)
"""
    cases = find.find([str(write(body))])[0].cases()
    assert [(case.arm, case.point) for case in cases] == [
        (arm, point) for arm in ("plain", "other") for point in ("10 ms", "1 s")
    ]
    assert [case.claimed and case.claimed.value.number for case in cases] == [94.4e6, 9e6, None, 9e6]
    assert [case.network.links[0].back.delay for case in cases[:2]] == [Duration.of("10 ms"), Duration.of("1 s")]
    assert [case.network.node("sender").sysctls["net.ipv4.tcp_sack"] for case in cases] == ["0", "0", "1", "1"]
    assert [str(case.tolerance) for case in cases[1:3]] == ["within 5 %", "exactly"]
    assert cases[0].value == Value(0.01, "s")
    assert cases[2].explains
    assert cases[2].explains.says == "why"


def test_an_experiment_finds_the_topologies_beside_it(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "topologies" / "own.yaml"
    own.parent.mkdir()
    own.write_text("about: x\nhosts: [sender, receiver]\nlinks: {path: {ends: [sender, receiver]}}\n")
    path = write(ONE.replace("**COMMON", '**{**COMMON, "topology": "own"}'))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert find.find([str(path)])[0].topology.name == "own"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x = = 1\n", "1: not Python: invalid syntax"),
        ("\nEXPERIMENT = Experimant()\n", "2: NameError: name 'Experimant' is not defined; did you mean 'Experiment'?"),
        ("\nraise SystemExit(3)\n", "2: SystemExit: 3"),
        (
            "import lab.workload\n",
            f"1: ModuleNotFoundError: No module named 'lab.workload'; {ADVICE['lab']}",
        ),
        ("\nCLOSE = Within(2, because='x')\n", "2: a tolerance within 2 should be a ratio above 0 and below 1"),
        ("\nCLOSE = Within(0.1, because='')\n", "2: a tolerance needs its reason: because='...'"),
        (
            "A = 1\nA = Arm('a', Reported('12 parsecs', 'far'))\n",
            (
                "2: '12 parsecs' is not a rate, a duration or a size; use Tbit/s, Gbit/s, Mbit/s, kbit/s, bit/s, "
                "h, min, s, ms, us, ns, GiB, GB, MiB, MB, KiB, kB, B"
            ),
        ),
        ("A = Arm('a b')\n", "1: 'a b' does not name an arm; use letters, digits, '.', '-' and '_'"),
        (
            "S = Sweep('x', (Point(1), Point('1 s')))\n",
            "1: the points of a sweep should have one unit; some are in s, others without a unit",
        ),
        ("S = Sweep('x', (Point(1), Point(1)))\n", "1: two points are called '1'; give each a name of its own"),
        ("Experiment(**COMMON, arms=())\n", "1: there is no arm; name at least one"),
        (
            "TWO = Arm('a', Reported(1, 'so'))\nExperiment(**COMMON, arms=(TWO, TWO))\n",
            "2: two arms are called 'a'; give each a name of its own",
        ),
        (
            "Arm('a', 1)\n",
            (
                "1: Arm.claimed: should be Reported(figure=..., quote=..., part=...)"
                " or Implied(figure=..., how=..., part=...) or a mapping, not 1"
            ),
        ),
        ("Reported(1, ' ')\n", "1: a reported figure needs the words that report it: Reported(figure, '...')"),
        (
            "Arm('a', explains='so')\n",
            (
                "1: Arm.explains: should be Demonstrated(says=...) or Consistent(says=..., fitted=..., assumed=..., "
                "between=...) or Refutes(says=...), not 'so'"
            ),
        ),
        (
            "Consistent('so')\n",
            "1: a consistent cause needs fitted=... or assumed=...; without either, use Demonstrated",
        ),
        ("Above(-1, because='so')\n", "1: a margin of -1 should not be below zero"),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so', part='one')), Arm('b', Reported(1, 'so'))))\n",
            "1: some arms that count name a part of the sentence and others do not; give each part='...'",
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so')),), expect='partly')\n",
            "1: expect='partly' needs several parts: Reported(figure, quote, part='...')",
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so')),), expect='not testable as stated')\n",
            "1: expect='not testable as stated' needs untestable=... and no arm that counts",
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a'),))\n",
            "1: no arm that counts has a figure: claimed=Reported(...) or Implied(...)",
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so')),), samples=2, other_seeds=('reproduced',))\n",
            "1: other_seeds names a verdict twice, or repeats expect=; name each verdict once",
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so')),), other_seeds=('inconclusive',))\n",
            "1: other_seeds needs samples=...; without samples, all seeds give the same figures",
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so')),), other_machines=('inconclusive',))\n",
            (
                "1: other_machines needs an arm that counts and has clock='real'; in virtual time, all machines give "
                "the same figures"
            ),
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so')),), expect='fine')\n",
            (
                "1: Experiment.expect: should be 'reproduced' or 'partly' or 'not reproduced' or 'not testable as "
                "stated' or 'inconclusive', not 'fine'"
            ),
        ),
        (
            "Experiment(**COMMON, arms=(Arm('a', Reported(1, 'so'), tolerance=Absolute('1 s', 'x')),))\n",
            "1: a tolerance in s does not suit a figure without a unit",
        ),
    ],
)
def test_a_mistake_while_loading_has_its_line(write: Write, body: str, message: str) -> None:
    assert said(write(body)) == [message]


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ("links={'pth': {}}", "unknown link 'pth'; did you mean 'path'?"),
        ("links={'path': {'rate': '-1 Mbit/s'}}", "links.path.rate: rate '-1 Mbit/s' is negative; use 0 or more"),
        ("hosts={'sendr': {}}", "unknown host 'sendr'; did you mean 'sender'?"),
        ("workload=Bulk(client='sendr')", "Bulk.client: unknown host 'sendr'; did you mean 'sender'?"),
        ("probes=(Capture(node='x'),)", "Capture.node: unknown host 'x'; use sender, receiver"),
        ("probes=(Capture(interface='eth7'),)", "Capture.interface: unknown interface 'eth7'; did you mean 'eth0'?"),
        ("probes=(QueueState(link='pth'),)", "QueueState.link: unknown link 'pth'; did you mean 'path'?"),
        (
            "workload=Bulk(congestion='cubik')",
            "Bulk.congestion: unknown congestion control 'cubik'; did you mean 'cubic'?",
        ),
        (
            "sysctls={'net.ipv4.tcp_congestion_control': 'bbbr'}",
            (
                "hosts.receiver.sysctls.net.ipv4.tcp_congestion_control: unknown congestion control 'bbbr'; "
                "did you mean 'bbr'?"
            ),
        ),
    ],
)
def test_a_mistake_of_an_arm_names_it(write: Write, arm: str, message: str) -> None:
    body = f"EXPERIMENT = Experiment(**COMMON, arms=(\n    Arm('a', Reported(1, 'so')),\n    Arm('b', {arm}),\n))\n"
    assert f"3: arm 'b': {message}" in said(write(body))


@pytest.mark.parametrize(
    ("metric", "arm", "message"),
    [
        (
            "bulk_goodput()",
            "Arm('b', Reported(941, 'carries 941'))",
            "its claimed figure, 941, is without a unit, but bulk_goodput is in bit/s; write it like '1 Gbit/s'",
        ),
        (
            "bulk_goodput()",
            "Arm('b', Implied('2 s', 'it follows'), tolerance=CLOSE)",
            "its claimed figure, 2 s, is in s, but bulk_goodput is in bit/s; write it like '1 Gbit/s'",
        ),
        (
            "bulk_goodput()",
            "Arm('b', Reported('1 Mbit/s', 'so'), relative_to='a')",
            (
                "its claimed figure, 1 Mbit/s, is in bit/s, but a ratio to 'a' is without a unit; "
                "write a number without quotes"
            ),
        ),
        (
            "of_flow('x', ping_rtt())",
            "Arm('b', Reported('1 Mbit/s', 'so'))",
            "its claimed figure, 1 Mbit/s, is in bit/s, but ping_rtt is in s; write it like '10 ms'",
        ),
        (
            "program_match('(.*)', unit='KiB')",
            "Arm('b', Reported('1 Mbit/s', 'so'))",
            "its claimed figure, 1 Mbit/s, is in bit/s, but program_match is in B; write it like '1500 B'",
        ),
        (
            "program_json('x')",
            "Arm('b', Reported('1 Mbit/s', 'so'))",
            (
                "its claimed figure, 1 Mbit/s, is in bit/s, but program_json is without a unit; "
                "write a number without quotes"
            ),
        ),
    ],
)
def test_a_claimed_figure_has_the_unit_of_its_metric(write: Write, metric: str, arm: str, message: str) -> None:
    body = (
        "from lab import Implied\nfrom lab.metric import *\nEXPERIMENT = Experiment(**COMMON | dict(metric={metric}, "
        "prediction=None), arms=(\n    Arm('a'),\n    {arm},\n))\n"
    )
    path = write(body.format(metric=metric, arm=arm))
    assert f"5: arm 'b': {message}" in said(path)
    (loaded,) = find.find([str(path)])
    with pytest.raises(SpecError, match="its claimed figure"):
        loaded.cases()  # before any trial


@pytest.mark.parametrize(
    "arm",
    [
        "Arm('b', Reported('941 Mbit/s', 'so'))",
        "Arm('b', Reported('941 Mbit/s', 'so'), tolerance=Absolute('1 Mbit/s', 'x'))",
        "Arm('b', Reported(1.5, 'so'), relative_to='a')",
        "Arm('b', Reported(1.5, 'so'), relative_to='a', tolerance=Absolute(0.1, 'x'))",
        "Arm('b', Reported('2 s', 'so'), metric=lambda record: Value(2, 's'))",
        "Arm('b', Reported('2 ms', 'so'), metric=program_json('x', unit='us'))",
    ],
)
def test_a_claimed_figure_in_the_unit_of_its_metric_is_right(write: Write, arm: str) -> None:
    body = (
        "from lab.metric import *\nEXPERIMENT = Experiment(**COMMON | dict(metric=bulk_goodput(), prediction=None), "
        f"arms=(Arm('a'), {arm}))\n"
    )
    assert said(write(body)) == []


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ("accuracy=Absolute('2 us', 'x')", "2 us, is in s, but bulk_goodput is in bit/s; write it like '1 Gbit/s'"),
        (
            "relative_to='a', accuracy=Absolute('1 Mbit/s', 'x')",
            "1 Mbit/s, is in bit/s, but a ratio to 'a' is without a unit; write a number without quotes",
        ),
    ],
)
def test_an_accuracy_has_the_unit_of_its_metric(write: Write, arm: str, message: str) -> None:
    body = (
        "from lab.metric import *\nEXPERIMENT = Experiment(**COMMON | dict(metric=bulk_goodput()), arms=(\n"
        "    Arm('a', Reported('1 Mbit/s', 'so')),\n    Arm('b', {arm}),\n))\n"
    )
    assert f"4: arm 'b': its accuracy, {message}" in said(write(body.format(arm=arm)))


def test_a_mistake_of_a_point_names_it(write: Write) -> None:
    body = ONE.replace("),)", "),), sweep=Sweep('n', (\n  Point(1),\n  Point(2, links={'q': {}}),\n))")
    assert said(write(body)) == ["3: arm 'default' at 2: unknown link 'q'"]


def test_a_file_without_an_experiment_is_refused_before_it_runs(write: Write, tmp_path: Path) -> None:
    path = write(f"open({str(tmp_path / 'ran')!r}, 'w')\n", head="")
    assert [problem.message for problem in find.check([path])] == [
        "should define EXPERIMENT = Experiment(...) or Study(...)"
    ]
    assert not (tmp_path / "ran").exists()


def test_a_file_must_hold_a_claim_and_an_experiment(write: Write) -> None:
    path = write("EXPERIMENT = 1\n", head="")
    assert [str(problem) for problem in find.check([path])] == [
        "experiments/an-article/tenth.py:1: should begin with its claim, or its question, as a docstring",
        "experiments/an-article/tenth.py:1: should define EXPERIMENT = Experiment(...) or Study(...)",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import labb", "ModuleNotFoundError: No module named 'labb'; did you mean 'lab'?"),
        ("from lab import Arn", "ImportError: cannot import name 'Arn' from 'lab'; did you mean 'Arm'?"),
        ("WORK = OnOff()", "NameError: name 'OnOff' is not defined; import it from `lab`"),
    ],
)
def test_a_name_that_was_not_imported_is_told(write: Write, line: str, message: str) -> None:
    assert said(write(f"{line}\n")) == [f"1: {message}"]


def test_an_unknown_topology_is_told(write: Write) -> None:
    path = write(ONE.replace("**COMMON", '**{**COMMON, "topology": "symetric-1g"}'))
    assert said(path)[0].endswith("unknown topology 'symetric-1g'; did you mean 'symmetric-1g'?")


def test_mistakes_of_many_files_come_at_once(write: Write) -> None:
    write("1 = 2\n", name="one")
    write("undefined\n", name="two")
    with pytest.raises(SpecError) as caught:
        find.find(["an-article"])
    assert [Path(problem.file).name for problem in caught.value.problems] == ["one.py", "two.py"]


@pytest.mark.parametrize("name", ["nothing.yaml", "nothing.py"])
def test_a_missing_file_is_told(name: str) -> None:
    assert [str(problem) for problem in find.check([Path(name)])] == [f"{name}:1: cannot be read: no such file"]


def test_a_path_names_nodes(write: Write) -> None:
    """Outputs and pages name a node, whichever of its ends the experiment names."""
    body = ONE.replace("**COMMON", '**COMMON, path=("sender.path", "receiver.path")')
    ((case,),) = (each.cases() for each in find.find([str(write(body))]))
    assert case.path == ("sender", "receiver")


def test_everything_shipped_checks() -> None:
    assert find.check() == []


def test_an_experiment_and_a_network_load_without_pydantic_or_yaml() -> None:
    heavy = "{'pydantic', 'ruamel'} & set(sys.modules)"
    code = f"import sys, lab.guest.network, lab.spec.experiment; sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


VARIED = """EXPERIMENT = Experiment(
    **COMMON, samples=3, kernel=Variant(hz=250),
    arms=(
        Arm("plain", Reported("94 Mbit/s", "it says so")),
        Arm("patched", relative_to="plain", kernel=Variant(patches=("ours.patch",)), clock="real", samples=5),
    ),
)
"""


def varied(write: Write, body: str = VARIED) -> Path:
    return write(body, head=HEAD.replace("import Above,", "import Variant\nfrom lab import Above,"))


def test_kernel_clock_and_samples_are_the_arms_or_the_experiments(write: Write) -> None:
    path = varied(write)
    patch = path.parent / "ours.patch"
    patch.write_text("+++ b/x")
    (loaded,) = find.find([str(path)])
    plain, patched = loaded.cases()
    assert plain.kernel
    assert (plain.kernel.hz, plain.kernel.patches, plain.clock, plain.samples) == (250, (), "virtual", 3)
    assert patched.kernel
    assert patched.kernel.patches == (patch,)
    assert (patched.clock, patched.samples, patched.relative_to) == ("real", 5, "plain")
    patch.write_text("+++ b/y")
    (again,) = find.find([str(path)])
    assert again.source_sha256 != loaded.source_sha256


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (VARIED, "patch 'ours.patch' cannot be read: no such file"),
        (VARIED.replace('relative_to="plain"', 'relative_to="plane"'), "'plane', which is not an arm with figures"),
        (VARIED.replace('clock="real"', 'clock="wall"'), "Arm.clock: should be 'virtual' or 'real', not 'wall'"),
        (VARIED.replace("samples=3", "samples=0"), "samples: should be from 1 to 10,000"),
        (VARIED.replace("samples=3", "samples=10_001"), "samples: should be from 1 to 10,000"),
    ],
)
def test_mistakes_in_variants_clocks_and_samples(write: Write, body: str, message: str) -> None:
    (problem,) = find.check([varied(write, body)])
    assert message in problem.message


def test_the_projects_own_rename_nothing_that_they_import() -> None:
    """`metric.x` and `model.x` of one name stand next to each other: a reader need not look up which is which."""
    assert [
        (claim, alias.asname)
        for claim, path in find.experiments().items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias.asname
    ] == []


# -- chance

LOSSY = """
EXPERIMENT = Experiment(
    **COMMON, links={"path": {"forward": {%s}}}, arms=(Arm("default", Reported("94.4 Mbit/s", "it says so")%s),), %s
)
"""


@pytest.mark.parametrize("chance", ["'loss': '1 %'", "'delay': '2 ms', 'jitter': '1 ms'", "'duplicate': '1 %'"])
def test_where_frames_are_lost_by_chance_one_seed_is_refused(write: Write, chance: str) -> None:
    write(LOSSY % (chance, "", "samples=9"))
    with pytest.raises(SpecError, match="arm 'default': samples=9, but its wires") as raised:
        find.find(["an-article/tenth"])[0].cases()
    assert "samples=10 or more" in str(raised.value)
    (problem,) = raised.value.problems
    assert problem.line > 1


@pytest.mark.parametrize(
    ("arm", "more"),
    [
        ("", "samples=10"),
        (", samples=10", ""),
        (", few_samples='the figure is 0 or 1 by a rule'", ""),
        ("", "few_samples='the figure is 0 or 1 by a rule'"),
    ],
)
def test_ten_samples_or_a_reason_will_do(write: Write, arm: str, more: str) -> None:
    write(LOSSY % ("'loss': '1 %'", arm, more))
    assert len(find.find(["an-article/tenth"])[0].cases()) == 1
