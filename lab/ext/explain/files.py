"""Write a rebuilt transfer as a pack: a topology, an experiment that checks it, and a study of its limits."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from lab.base import foreign
from lab.base.foreign import printable
from lab.errors import InputError, MachineError
from lab.ext.explain.planning import FoundSetting, RebuildPlan
from lab.spec.errors import display

TOPOLOGY, CHECK, GAINS = "path", "transfer", "gains"
SOURCE = "capture.json"  # names the connection
GOODPUT, ROUND_TRIP = "goodput", "mean round trip"  # the study's figures
WITHIN = 0.05
_UNSAFE = re.compile(r"[^\w .()+-]", re.ASCII)
_SAMPLES = 10
_MOST = 1000  # bytes of SOURCE

_CHECK = '''\
"""The rebuilt transfer carries {goodput}{and_rtt}, like the original.

{about}
"""

from lab import Arm, {imports}, Capture, Experiment, Reported, Within, metric

EXPERIMENT = Experiment(
    topology="{topology}",
{losses}    workload={workload},
    probes=(Capture(node="{node}", snap="128 B"),),
    metric=metric.capture_goodput(node="{node}"),
    arms=(
        Arm("goodput", Reported("{goodput}", "{goodput} from the first segment to the last ACK", part="goodput")),
{rtt}    ),
    tolerance=Within({within}, because="the rebuilt transfer should be this near to be of use"),
{samples})
'''
_LOSSES = """\
    links={{"path": {{"forward": {{"limit": "ample", "loss": "0 %"}}}}}},
    # not the queue and chance decide what is lost, but the capture
    middleboxes=(
        LoseSegments(
            link="path",
            required=False,
            segments=(
{segments}            ),
        ),
    ),
"""
_RTT = """\
        Arm(
            "round-trip",
            Reported("{rtt}", "a mean round trip of {rtt}", part="round trip"),
            metric=metric.mean_rtt(node="{node}"),
        ),
"""
_GAINS = '''\
"""What would it be worth to undo each limit of the transfer?

Each arm undoes one limit of the rebuilt transfer. Its figures are divided by those of `as-found`, seed by seed.
{about}
"""

from lab import Arm, {imports}, Capture, Drawn, Study, metric

EXPERIMENT = Study(
    topology="{topology}",
    workload={workload},
    probes=(Capture(node="{node}", snap="128 B"),),
    metrics={{
        "goodput": metric.capture_goodput(node="{node}"),
{rtt}    }},
    arms=(
        Arm("as-found"),
{arms}    ),
    samples={samples},  # seeds; each draws the losses, and a path a few per cent from the one found
    drawn=Drawn(),
)
'''


class RebuiltFrom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names the connection that a pack rebuilds: its number, and the SHA-256 of the unpacked capture."""

    connection: int
    sha256: str


def write(made: RebuildPlan, capture: str, sha256: str, folder: Path) -> list[str]:
    """Write the pack into `folder`, and return the relative paths of its files.

    `capture` is the name of the capture, and `sha256` the hash of its unpacked bytes. Writes all files or none. Raises
    InputError if one of the files exists already, and MachineError if a file cannot be written.
    """
    article = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-_")[:64] or "rebuilt"
    own = folder / "experiments" / article
    name = _UNSAFE.sub("_", printable(capture))[:100]
    files = {
        folder / "topologies" / f"{TOPOLOGY}.yaml": topology(made, name),
        own / f"{CHECK}.py": check(made, name),
        own / f"{GAINS}.py": gains(made, name),
        own / "article.yaml": f'title: "Connection {made.seen.explanation.number} of {name}"\n'
        'author: a capture\ndate: ""\nurl: unknown\n',
        folder / SOURCE: msgspec.json.encode(RebuiltFrom(made.seen.explanation.number, sha256)).decode() + "\n",
    }
    with ExitStack() as undo:
        for path, text in files.items():
            try:
                _write(path, text, undo)
            except FileExistsError:
                raise InputError(f"{display(path)} already exists; name a different folder, or remove it") from None
            except OSError as error:
                raise MachineError(f"{display(path)} cannot be written: {error.strerror}") from None
        undo.pop_all()
    return [display(path) for path in files]


def _write(path: Path, text: str, undo: ExitStack) -> None:
    """Write a new file, and let `undo` remove it and its new folders."""
    for each in reversed(path.parents):
        if not each.exists():
            each.mkdir()
            undo.callback(each.rmdir)
    with path.open("x", encoding="utf-8") as file:
        undo.callback(path.unlink)
        file.write(text)


def source_of(folder: Path) -> RebuiltFrom:
    """Return which connection a pack rebuilds. Raises InputError if the folder is no rebuilt transfer."""
    try:
        return msgspec.json.decode(foreign.read(folder / SOURCE, _MOST), type=RebuiltFrom)
    except (OSError, foreign.Unfit, msgspec.DecodeError):
        raise InputError(
            f"{folder} is no rebuilt transfer with a {SOURCE}; write one with `lab explain FILE --rebuild DIR`"
        ) from None


def topology(made: RebuildPlan, name: str) -> str:
    """Return the topology file."""
    flow = made.seen.explanation.sender
    lines = [
        f"# The path of connection {made.seen.explanation.number} in {name}, as `lab explain --rebuild` found it:",
        f"# from {flow.source} port {flow.source_port} to {flow.destination} port {flow.destination_port}.",
        "# The comments show where each figure comes from. If you know better, change a figure and run again.",
        "#",
        "# The capture does not show",
        *(line for each in made.unknown for line in _wrapped(each, "# - ", "#   ")),
        "about: The path of a transfer, rebuilt from a capture.",
        "hosts:",
    ]
    for host in ("sender", "receiver"):
        settings = made.sysctls[host]
        lines.append(f"  {host}:" if settings else f"  {host}: {{}}")
        if settings:
            lines.append("    sysctls:")
        lines += [f"      {key}: {each.value} # {each.because}" for key, each in settings.items()]
    lines += ["links:", "  path:", "    ends: [sender, receiver]"]
    for key, setting in (("rate", made.rate), ("delay", made.delay), ("mtu", made.mtu)):
        lines += [f"    {key}: {setting.value} # {setting.because}"] if setting else []
    limit = made.limit or FoundSetting("ample", "the queue never overflowed")
    lines += ["    forward:", f"      limit: {limit.value} # {limit.because}"]
    lines += [f"      loss: {made.loss.value} # {made.loss.because}"] if made.loss else []
    lines += ["    back:", "      limit: ample"]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, first: str, later: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent=first, subsequent_indent=later)


def _about(made: RebuildPlan, name: str) -> str:
    words = made.program.words
    sentences = f"Connection {made.seen.explanation.number} of {name}. In the rebuilt transfer, {words}."
    unknown = "\n".join(line for each in made.unknown for line in _wrapped(each, "- ", "  "))
    return "\n".join(textwrap.wrap(sentences, 110)) + f"\n\nThe capture does not show\n{unknown}"


def check(made: RebuildPlan, name: str) -> str:
    """Return the experiment that compares the rebuilt transfer with the original."""
    return _CHECK.format(
        goodput=made.goodput,
        and_rtt=f", with a mean round trip of {made.rtt}" if made.rtt else "",
        about=_about(made, name),
        imports=", ".join([made.program.kind, *(["LoseSegments", "LostSegment"] if made.lost else [])]),
        topology=TOPOLOGY,
        losses=_losses(made),
        workload=made.program.source(4),
        node=made.node,
        rtt=_RTT.format(rtt=made.rtt, node=made.node) if made.rtt else "",
        within=WITHIN,
        samples=f"    samples={_SAMPLES},  # seeds: which segments are lost is left to chance\n"
        if made.loss and not made.lost
        else "",
    )


def _losses(made: RebuildPlan) -> str:
    lines = (f"LostSegment({byte}{f', {sending}' if sending > 1 else ''})" for byte, sending in made.lost)
    segments = "".join(f"                {line},\n" for line in lines)
    return _LOSSES.format(segments=segments) if made.lost else ""


def gains(made: RebuildPlan, name: str) -> str:
    """Return the study whose arms undo one limit each."""
    others = {"Bulk"} if any("Bulk(" in each.arguments for each in made.undoing) else set()
    kinds = sorted({made.program.kind} | others)
    return _GAINS.format(
        about=_about(made, name),
        imports=", ".join(kinds),
        topology=TOPOLOGY,
        workload=made.program.source(4),
        node=made.node,
        rtt=f'        "{ROUND_TRIP}": metric.mean_rtt(node="{made.node}"),\n' if made.rtt else "",
        arms="".join(_arms(made)),
        samples=_SAMPLES,
    )


def _arms(made: RebuildPlan) -> Iterator[str]:
    for each in made.undoing:
        arguments = each.arguments.replace("\n", "\n    ")
        lines = [f'"{each.name}"', f'title="{each.words}"', arguments, 'relative_to="as-found"']
        yield "        Arm(\n" + "".join(f"            {line},\n" for line in lines) + "        ),\n"
