"""The project's text keeps the rules of docs/writing.md, as far as a pattern can tell."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT
from tests.trees import comments, walk

_LIFELESS = (
    "answer|command|error|figure|file|kernel|lab|law|message|model|page|program|reason|record|report|table|test|trial"
)
# What a rule forbids -> patterns of it.
BANNED = {
    "a relative clause without a noun": (
        r"\b(?:for|to|by|of|from|than|with|and) who\b|\bwho(?:m)?ever\b",
        r"\b(?:[Ww]hat|who) lacks?\b|\b(?:that|which) lacks?\b(?:[.,;:]|$)|\bwhat (?:it|they) lacks?\b",
    ),
    "nobody": (r"\b[Nn]obody\b",),
    "an old word": (
        r"\b(?:lest|in vain|for ever|beforehand|spoilt|spoils?|cure[ds]?|mend(?:s|ed)?|without more ado|amid)\b",
    ),
    "unless for a default": (r"\bunless (?:(?:it|one) is )?(?:given|named|told|asked|said)\b",),
    "another one for different": (
        r"\b(?:is|are|makes?|gives?|was) (?:another|other) ones?\b|\banother one (?:in|on|than|here)\b",
    ),
    "something lifeless that speaks": (rf"\b(?:{_LIFELESS})s? (?:says?|said|asks?|asked|speaks?|hears?)\b",),
    "inverted order": (
        r"(?:^|[.:;] )Not \w+ed (?:at |for )?(?:is|are)\b",
        r"(?:^|[.:;] )Of (?:a|an|what|that|those|all) [^.,]{3,60}, no ?(?:body|one)\b",
        r"(?:^|\. )What (?:is|are|was|has|it|they|we|no|waits?|does) [^.?:,]*?,? (?:it|they) (?:says?|is|are)\b",
    ),
    "by for with": (
        r"\b[Rr]un by Dask\b",
        r"\bby (?:ptrace|seccomp|IPv[46]|Zstandard|xz|gcc|(?:a )?regular expressions?|its port)\b",
    ),
    "so many for that many": (r"\bso many (?:at|of|as)\b|\b(?:for so long|with so (?:many|much))\b",),
}
# What the rooms in CLEAN no longer have, besides.
STRICT = {
    "lie for be": (r"\b(?:lies?|lay) (?:in|on|below|beyond|beside|between|elsewhere|nowhere|there|here)\b",),
    "where for if": (
        r"\b[Ww]here (?:there (?:is|are)|nothing|none|one is|it (?:has|is|does|was)|that (?:is|was|does))\b",
    ),
    "but for except": (r"\bbut for\b",),
    "somebody": (r"\b[Ss]omebody\b",),
    "what for an error": (r"\bRaises (?:what(?:ever)?|as)\b",),
    "what became of for result": (r"\bwhat (?:became|becomes|came) of\b",),
    "an old phrase": (r"\b(?:without a word|last words|affair|meddles?|fares?)\b|, however (?:it|they|that|this)\b",),
}
CLEAN = (
    *("base", "guest", "machine", "record", "runner", "verdict"),
    *("ext/bundle", "ext/cluster", "ext/mptcp", "ext/suites"),
)
ALLOWED = (
    "CHANGELOG.md",  # it is history
    "docs/reference.md",  # it is made from docstrings
    "docs/writing.md",  # it shows what not to write
)
# What is right although a pattern finds it.
RIGHT = re.compile(r"as nobody|nobody'|\"nobody\"|`nobody`|user nobody|though it says|Unless asked|at the figure")

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")


def prose(page: Path) -> str:
    """A guide without its code, with as many lines."""
    text = _FENCE.sub(lambda match: "\n" * match[0].count("\n"), page.read_text())
    return _CODE.sub("`code`", text)


def found(text: str, banned: Mapping[str, Sequence[str]] = BANNED) -> Iterator[tuple[int, str, str]]:
    """(line, rule, what was found) of each banned pattern."""
    for rule, pattern in ((rule, each) for rule, patterns in banned.items() for each in patterns):
        for match in re.finditer(pattern, text, re.MULTILINE):
            around = text[max(0, match.start() - 20) : match.end() + 20]
            if not RIGHT.search(around):
                yield text.count("\n", 0, match.start()) + 1, rule, match[0].replace("\n", " ")


def problems(page: Path, text: str) -> list[str]:
    name = page.relative_to(ROOT)
    return [f"{name}:{line}: {rule}: '{what}'" for line, rule, what in found(text)]


def test_guides_are_plain() -> None:
    pages = [each for each in PAGES if str(each.relative_to(ROOT)) not in ALLOWED]
    assert [problem for page in pages for problem in problems(page, prose(page))] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "It serves anyone who has the token.",
        "Default: the newest.",
        "A page shows an answer.",
        "The verdict is different.",
        "Run it with Dask.",
    ],
)
def test_a_plain_sentence_is_let_pass(sentence: str) -> None:
    assert list(found(sentence)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Jupyter Lab answers to who has the token.",
        "What lacks them is skipped, and named.",
        "Nobody can tell; nobody speaks.",
        "The newest, unless given.",
        "The verdict is another one.",
        "The page says so.",
        "Run by Dask.",
        "It waits for ever.",
        "This cures it.",
    ],
)
def test_a_sentence_of_the_review_is_found(sentence: str) -> None:
    assert list(found(sentence)) != []


@cache
def said(file: Path) -> tuple[Sequence[tuple[int, str]], Sequence[tuple[int, str]]]:
    """(line, text) of the docstrings, comments and other strings of several words; and of the messages of errors.

    Each file is parsed once. Its tree is not kept, since the collector of garbage would visit it again and again.
    """
    source = file.read_text()
    parsed = list(walk(ast.parse(source)))
    strings = [
        (node.lineno, _CODE.sub("`code`", node.value))
        for node in parsed
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]
    messages = [each for node in parsed if isinstance(node, ast.Raise) for each in raised(node)]
    return [*strings, *comments(source)], messages


def texts(file: Path) -> Sequence[tuple[int, str]]:
    return said(file)[0]


def wrong(file: Path, banned: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What the file's texts have of banned patterns. Each text is searched alone only if all at once have one."""
    whole = "\n".join(text for _, text in texts(file))
    seen = {
        rule: patterns
        for rule, patterns in banned.items()
        if any(re.search(each, whole, re.MULTILINE) for each in patterns)
    }
    for line, text in texts(file) if seen else ():
        for number, rule, what in found(text, seen):
            yield f"{file.relative_to(ROOT)}:{line + number - 1}: {rule}: '{what}'"


# Strings of a guest's code and of recorded figures: another word would give each trial another address.
KEPT = {"lab/guest/middlebox/queue.py", "lab/machine/kernel/containment.py", "lab/machine/kernel/host/running.py"}
FILES = [each for each in sorted((ROOT / "lab").rglob("*.py")) if str(each.relative_to(ROOT)) not in KEPT]


@pytest.mark.parametrize("folder", sorted({each.relative_to(ROOT).parts[1] for each in FILES}))
def test_docstrings_comments_and_messages_are_plain(folder: str) -> None:
    inside = [each for each in FILES if each.relative_to(ROOT).parts[1] == folder]
    assert [each for file in inside for each in wrong(file, BANNED)] == []


@pytest.mark.parametrize("room", CLEAN)
def test_a_clean_room_stays_clean(room: str) -> None:
    inside = [each for each in FILES if each.is_relative_to(ROOT / "lab" / room)]
    assert inside
    assert [each for file in inside for each in wrong(file, STRICT)] == []


# Advice stands after a semicolon. Messages of these files decide addresses of trials or of predictions.
ADDRESSED = ("lab/guest/", "lab/model/", "lab/ext/mininet/exact/", "lab/ext/mptcp/model/", "lab/units.py")
ADVICE = re.compile(
    r"[\w}`')]: (?:`(?:lab|pip|apt|sudo) |sudo |(?:add|choose|give|install|leave|make|name|pass|put|remove|rename|run"
    r"|set|start|try|use|write) )|, did you mean"
)


def raised(raising: ast.Raise) -> Iterator[tuple[int, str]]:
    """(line, text) of the messages that a statement raises; {} stands for a value."""
    for node in walk(raising):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_an_error_has_a_semicolon_before_its_advice() -> None:
    names = {file: str(file.relative_to(ROOT)) for file in FILES}
    assert [
        f"{name}:{line}: {text}"
        for file, name in names.items()
        if not name.startswith(ADDRESSED)
        for line, text in said(file)[1]
        if ADVICE.search(text)
    ] == []


@pytest.mark.parametrize(
    "text", ["X is not here: run `lab kernel build`", "no Dask: `pip install x`", "'b', did you mean 'a'?"]
)
def test_advice_after_a_colon_is_found(text: str) -> None:
    assert ADVICE.search(text)


NOTEBOOKS = [
    each for pattern in ("notebooks", "packs/*/notebooks") for each in sorted(ROOT.glob(f"{pattern}/**/*.ipynb"))
]


def test_notebooks_are_plain() -> None:
    read = {notebook: json.loads(notebook.read_text(encoding="utf-8"))["cells"] for notebook in NOTEBOOKS}
    assert [
        (str(notebook), rule, what)
        for notebook, cells in read.items()
        for cell in cells
        if cell["cell_type"] == "markdown"
        for _, rule, what in found(_CODE.sub("`code`", "".join(cell["source"])))
    ] == []
