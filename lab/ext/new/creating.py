"""Write an experiment that runs as is, with its topology and its test, as a starting point for the user (`lab new`)."""

from __future__ import annotations

import json
import re

from lab.base.writing import write
from lab.errors import InputError
from lab.ext.new.templates import SCHEMA, TEMPLATES
from lab.spec import find, shipped
from lab.spec.errors import display, instead
from lab.spec.schema import json_schema

_NAME = re.compile(r"([A-Za-z0-9][\w.-]{0,63})/([A-Za-z0-9][\w.-]{0,63})", re.ASCII)  # a file's name has both parts

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
# The project's own tests have a mark if they boot a kernel.
_MARK = ("\nimport pytest\n", "\npytestmark = pytest.mark.guest\n")


def create(name: str, template: str = "transfer") -> tuple[str, list[str]]:
    """Write article/claim into the project, and return its id and the relative paths of its files.

    Raises InputError for a wrong name, for an unknown template, and if a file already exists, and MachineError if a
    file cannot be written.
    """
    if template not in TEMPLATES:
        raise InputError(f"--template {template} is unknown{instead(template, TEMPLATES)}")
    texts = TEMPLATES[template]
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(_unfit(name))
    article, claim = match.groups()
    here = shipped.project()
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
        raise InputError(f"{display(taken[0])} already exists; choose a different name, or change that file")
    about, schema = here / "experiments" / article / "article.yaml", here / "topologies" / SCHEMA
    if not about.exists():
        files[about] = _about(article)
    if not schema.exists():
        files[schema] = json.dumps(json_schema(), indent=1) + "\n"
    for path, text in files.items():
        write(text, path)
    return name, [display(path) for path in files]


def _unfit(name: str) -> str:
    """Return a message with what a name may contain, and a name like `name` that fits."""
    parts = [re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:64] for part in name.split("/") if part.strip()]
    fits = "/".join(["mine", *parts][-2:]) if len(parts) < 2 else f"{parts[0]}/{'-'.join(parts[1:])[:64]}"
    meant = f", such as '{fits}'" if _NAME.fullmatch(fits) else ""
    form = "each of up to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit"
    return f"'{name[:140]}' is not a claim's name; write ARTICLE/CLAIM{meant}, {form}"


def _about(article: str) -> str:
    """Return the article.yaml of this article from the lab or a pack, else a nearly empty file."""
    for root in shipped.places():
        known = root / "experiments" / article / "article.yaml"
        if known.exists():
            return known.read_text(encoding="utf-8")
    return _ARTICLE.format(article=article)
