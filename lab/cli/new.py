"""Write, for `lab new`, an experiment that runs as it is, its topology and its test, for their author to change."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lab import shipped
from lab.cli.templates import SCHEMA, TEMPLATES
from lab.errors import InputError, MachineError
from lab.spec import find
from lab.spec.errors import display
from lab.spec.schema import json_schema

__all__ = ["create"]

_NAME = re.compile(r"([A-Za-z0-9][\w.-]*)/([A-Za-z0-9][\w.-]*)", re.ASCII)

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


def create(name: str, template: str = "transfer") -> tuple[str, list[str]]:
    """Write article/claim below the current directory; return its id, and the files as a user would type them.

    Raises InputError when `name` is no such name, there is no such template or a file would be overwritten,
    MachineError when it cannot be written.
    """
    if template not in TEMPLATES:
        raise InputError(f"--template {template}: it is {', '.join(TEMPLATES)}")
    texts = TEMPLATES[template]
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"'{name}' does not name a claim: write it as article/claim, like tcp-bottleneck/no-drops")
    article, claim = match.groups()
    here = Path.cwd()
    function = re.sub(r"\W", "_", f"{article}_{claim}")
    imports, mark = _MARK if shipped.roots() == (here,) else ("", "")
    files = {
        here / "experiments" / article / f"{claim}.py": texts.experiment.format(claim=claim),
        here / "topologies" / f"{claim}.yaml": texts.topology.format(claim=claim),
        here / "tests" / "experiments" / f"test_{function}.py": _TEST.format(
            id=name, article=article, claim=claim, function=function, imports=imports, mark=mark
        ),
    }
    for file, text in texts.files.items():
        files[here / "experiments" / article / file.format(claim=claim)] = text.format(claim=claim)
    taken = [known for known in (find.experiments().get(name), *files) if known and known.exists()]
    if taken:
        raise InputError(f"{display(taken[0])} exists already: choose another name, or change that file")
    about, schema = here / "experiments" / article / "article.yaml", here / "topologies" / SCHEMA
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
