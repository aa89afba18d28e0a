"""Write, for `lab new`, an experiment that runs as it is, its topology and its test, for their author to change."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lab import shipped
from lab.errors import InputError, MachineError
from lab.spec import find
from lab.spec.errors import display
from lab.spec.schema import json_schema

__all__ = ["create"]

_NAME = re.compile(r"([A-Za-z0-9][\w.-]*)/([A-Za-z0-9][\w.-]*)", re.ASCII)

_EXPERIMENT = '''\
"""A gigabit Ethernet carries 941 Mbit/s of TCP, and 949 without timestamps.

Where the article says so.
"""

from lab import metric, model
from lab.probe import Capture
from lab.spec.experiment import Arm, Experiment, Reported, Within
from lab.units import Duration
from lab.workload import Bulk

EXPERIMENT = Experiment(
    topology="{claim}",  # a file of topologies/; `lab list` shows what there is
    workload=Bulk(duration=Duration.of("1 s")),  # what makes traffic: see lab/workload
    probes=(Capture(node="sender"),),  # what watches it: see lab/probe
    metric=metric.bulk_goodput(),  # from the trial's record to a figure: see lab/metric
    prediction=model.goodput_bulk,  # from the path, and nothing else, to the same figure: see lab/model
    arms=(  # what is compared, each with the article's figure and the words around it
        Arm("defaults", Reported("941 Mbit/s", "carries 941 Mbit/s")),
        Arm("no-timestamps", Reported("949 Mbit/s", "and 949 without"), sysctls={{"net.ipv4.tcp_timestamps": 0}}),
    ),
    tolerance=Within(0.005, because="the article gives three digits"),
)
'''
_SCHEMA = "schema.json"
_TOPOLOGY = f"""\
# yaml-language-server: $schema={_SCHEMA}
about: One gigabit link, and nothing else in the way.
hosts: [sender, receiver]
links:
  path:
    ends: [sender, receiver]
    rate: 1 Gbit/s
"""
_ARTICLE = 'title: {article}\nauthor: unnamed\ndate: ""\nurl: unknown\n'
_TEST = '''\
"""{id}, run and judged."""

from pathlib import Path
{imports}
import lab
{mark}
CLAIM = Path(__file__).parents[2] / "experiments" / "{article}" / "{claim}.py"


def test_{function}(tmp_path: Path) -> None:
    (claim,) = lab.run(CLAIM, results=tmp_path)
    assert claim.passed, claim
'''
_MARK = ("\nimport pytest\n", "\npytestmark = pytest.mark.guest\n")  # the project's own tests say which boot a kernel


def create(name: str) -> tuple[str, list[str]]:
    """Write article/claim below the current directory; return its id, and the files as a user would type them.

    Raises InputError when `name` is no such name or a file would be overwritten, MachineError when it cannot be
    written.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"'{name}' does not name a claim: write it as article/claim, like tcp-bottleneck/no-drops")
    article, claim = match.groups()
    here = Path.cwd()
    function = re.sub(r"\W", "_", f"{article}_{claim}")
    imports, mark = _MARK if shipped.roots() == (here,) else ("", "")
    files = {
        here / "experiments" / article / f"{claim}.py": _EXPERIMENT.format(claim=claim),
        here / "topologies" / f"{claim}.yaml": _TOPOLOGY,
        here / "tests" / "experiments" / f"test_{function}.py": _TEST.format(
            id=name, article=article, claim=claim, function=function, imports=imports, mark=mark
        ),
    }
    taken = [known for known in (find.experiments().get(name), *files) if known and known.exists()]
    if taken:
        raise InputError(f"{display(taken[0])} exists already: choose another name, or change that file")
    about, schema = here / "experiments" / article / "article.yaml", here / "topologies" / _SCHEMA
    if not about.exists():
        files[about] = _about(article)
    if not schema.exists():
        files[schema] = json.dumps(json_schema(), indent=1) + "\n"
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            raise MachineError(f"{display(path)} cannot be written: {error.strerror}") from None
    return name, [display(path) for path in files]


def _about(article: str) -> str:
    """Return the article.yaml that another root has for this article, else one that says next to nothing."""
    for root in shipped.places():
        known = root / "experiments" / article / "article.yaml"
        if known.exists():
            return known.read_text()
    return _ARTICLE.format(article=article)
