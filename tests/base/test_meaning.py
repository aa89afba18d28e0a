"""Sources that do the same mean the same, and none that may do something else."""

import ast
from pathlib import Path

import pytest

from lab.base import cache
from lab.base.meaning import fingerprint, meaning

ROOT = Path(__file__).parents[2]
SOURCE = '''"""Says what it does."""
import os

LIMIT = 10  # frames


class Queue:
    """Of frames."""

    size: int = 0

    def room(self, *, spare=1):
        """How much is left."""
        return {**{}, "a": LIMIT - self.size - spare, None: [None]}
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Says what it does.", "Says something else."),
        ('"""Says what it does."""\n', ""),
        ("  # frames", ""),
        ("\n\n\n", "\n"),
        ('        """How much is left."""\n', ""),
        ("    size: int = 0\n", '    size: int = 0\n    """Frames that wait."""\n'),
        ('"a"', "u'a'"),
        ("LIMIT - self.size - spare", "((LIMIT - self.size)\n - spare)"),
        ("[None]", "[None,]"),
    ],
)
def test_how_it_is_laid_out_and_explained_is_no_part_of_it(old: str, new: str) -> None:
    assert old in SOURCE
    assert meaning(SOURCE.replace(old, new).encode()) == meaning(SOURCE.encode())


def test_what_a_page_calls_an_arm_is_no_part_of_it() -> None:
    plain = meaning(b"Arm('a', 1)")
    assert meaning(b"Arm('a', 1, title='another')") == plain
    for other in (b"Arm('a', 1, name='another')", b"Task('a', 1, title='another')", b"Arm('a', 1, title=f())"):
        assert meaning(other) != plain


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10", "11"),
        ("10", "10.0"),
        ("10", "'10'"),
        ('"a"', 'b"a"'),
        ("import os\n", ""),
        ("import os", "import os as system"),
        ("LIMIT", "MOST"),
        ("size: int", "size: float"),
        ("*, spare=1", "spare=1"),
        ("spare=1", "spare=None"),
        ("spare=1", "spare"),
        ("LIMIT - self.size - spare", "LIMIT - (self.size - spare)"),
        ("[None]", "[]"),
        ("None: [None]", "False: [None]"),
        ("**{}, ", ""),
        ("def room", "async def room"),
        ("class Queue:", "class Queue(list):"),
        ("    def room", "    @property\n    def room"),
    ],
)
def test_everything_else_is(old: str, new: str) -> None:
    assert old in SOURCE
    assert meaning(SOURCE.replace(old, new).encode()) != meaning(SOURCE.encode())


@pytest.mark.parametrize("path", sorted((ROOT / "lab" / "guest" / "workload").glob("*.py")), ids=lambda path: path.stem)
def test_what_is_written_anew_from_its_tree_means_the_same(path: Path) -> None:
    source = path.read_bytes()
    assert meaning(ast.unparse(ast.parse(source)).encode()) == meaning(source)


def test_a_fingerprint_is_of_meanings_and_names_whether_kept_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plain, commented = {"a.py": b"x = 1"}, {"a.py": b"x = 1  # one"}
    fresh = fingerprint(plain)
    assert fingerprint(plain) == fresh == fingerprint(commented)
    assert len({fresh, fingerprint({"a.py": b"x = 2"}), fingerprint({"b.py": b"x = 1"})}) == 3
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert fingerprint(plain) == fresh


@pytest.mark.parametrize("kept", ["", "0" * 63, "x" * 64, "\xff"])
def test_a_fingerprint_that_was_kept_and_is_none_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    """A crash may leave an empty file, which would be the lab's code in a trial's address."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    right = fingerprint({"a.py": b"a = 1"})
    (file,) = cache.folder("meanings").iterdir()
    file.write_text(kept, encoding="latin-1")
    assert fingerprint({"a.py": b"a = 1"}) == right
    assert file.read_text() == right


def test_an_expression_may_be_as_long_as_python_reads() -> None:
    terms = b" + ".join([b"x"] * 1500)
    assert meaning(b"a = " + terms) != meaning(b"a = y" + terms[1:])
    with pytest.raises(SyntaxError, match="too many parts"):
        meaning(b"a = " + b" + ".join([b"x"] * 20_000))
