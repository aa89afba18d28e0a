"""A variant takes from the plain kernel the objects that its change does not affect, and no others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.building import Silent
from lab.kernel import build, folder
from lab.kernel.uml import precompiled, reuse, source
from tests.kernel.caches import another_cache

BEFORE = "#define HZ 1000\n#define SECOND HZ\nint ticks(void);\n"
AFTER = BEFORE.replace("1000", "250")
SOURCES = {
    "net/plain.c": "int plain;\n",
    "net/timed.c": "int timed = SECOND;\n",
    "net/by_header.c": '#include "timers.h"\nint later = WAIT;\n',
    "net/other_macro.c": '#include "timers.h"\nint later = OTHER;\n',
    "net/unclear.c": '#include "struct.h"\nint some;\n',
    "net/patched.c": "int patched;\n",
    "net/includes.c": 'asm(".incbin \\"config.gz\\"");\n',
    "net/alone.c": "int alone;\n",
}
HEADERS = {
    "net/timers.h": "#define WAIT (3 * SECOND)\n#define OTHER 3\n",
    "net/struct.h": "struct timer { int left[HZ]; };\n",
}


def tree(folder: Path) -> Path:
    for name, text in {**SOURCES, **HEADERS}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def built(folder: Path) -> Path:
    """A tree with an object for each source, and with kbuild's list of what each is made from."""
    for file, text in SOURCES.items():
        name = Path(file).stem
        headers = [header for header in HEADERS if Path(header).name in text]
        stamp = [] if name == "alone" else [precompiled.STAMP]
        listed = "".join(f" \\\n    $(wildcard include/config/HZ) \\\n  {each}" for each in [*headers, *stamp])
        (folder / f"net/{name}.o").write_text(f"object of {text}")
        (folder / f"net/.{name}.o.cmd").write_text(
            f"savedcmd_net/{name}.o := gcc -c -o net/{name}.o {file}\n\nsource_net/{name}.o := {file}\n\n"
            f"deps_net/{name}.o :={listed} \\\n\nnet/{name}.o: $(deps_net/{name}.o)\n\n$(deps_net/{name}.o):\n"
        )
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    reuse.keep(built(tree(tmp_path / "plain")), BEFORE, tmp_path / "place", home, "0123")
    return home


def objects(folder: Path) -> set[str]:
    return {file.stem for file in folder.rglob("*.o")}


def test_what_the_change_does_not_reach_is_taken_with_its_list(tmp_path: Path, home: Path) -> None:
    variant = tree(tmp_path / "variant")
    (variant / "net/patched.c").write_text("int patched_by_the_variant;\n")
    assert reuse.take(variant, AFTER, home, "0123") == 2
    assert objects(variant) == {"plain", "other_macro"}
    assert (variant / "net/plain.o").read_text() == "object of int plain;\n"
    assert "source_net/plain.o := net/plain.c" in (variant / "net/.plain.o.cmd").read_text()


def test_objects_are_newer_than_what_was_there_before(tmp_path: Path, home: Path) -> None:
    variant = tree(tmp_path / "variant")
    reuse.take(variant, AFTER, home, "0123")
    assert (variant / "net/plain.o").stat().st_mtime_ns > (variant / "net/plain.c").stat().st_mtime_ns


def test_another_header_of_an_object_is_another_object(tmp_path: Path, home: Path) -> None:
    variant = tree(tmp_path / "variant")
    (variant / "net/timers.h").write_text("#define WAIT 1\n#define OTHER 4\n")
    reuse.take(variant, BEFORE, home, "0123")
    assert objects(variant) == {"plain", "timed", "unclear", "patched"}


@pytest.mark.parametrize("shared", [BEFORE + "struct s { int a; };\n", BEFORE + "int f(void) {\n"])
def test_nothing_is_taken_where_nobody_can_say_what_changed(tmp_path: Path, home: Path, shared: str) -> None:
    variant = tree(tmp_path / "variant")
    assert reuse.take(variant, shared, home, "0123") == 0
    assert objects(variant) == set()


def test_nothing_is_taken_where_nothing_was_kept(tmp_path: Path, home: Path) -> None:
    assert reuse.take(tree(tmp_path / "variant"), AFTER, home, "another") == 0


def test_a_damaged_object_is_compiled_and_a_damaged_list_takes_none(tmp_path: Path, home: Path) -> None:
    (home / reuse.FOLDER / "0123/net/plain.o").write_text("object of")
    reuse.take(tree(tmp_path / "variant"), AFTER, home, "0123")
    assert objects(tmp_path / "variant") == {"other_macro", "patched"}
    (home / reuse.FOLDER / "0123" / reuse.FILES).write_text("{")
    assert reuse.take(tree(tmp_path / "another"), AFTER, home, "0123") == 0


def test_nothing_is_kept_of_what_cannot_be_kept_whole(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / reuse.FOLDER).write_text("in the way")
    reuse.keep(built(tree(tmp_path / "plain")), BEFORE, tmp_path / "place", home, "0123")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["home", "plain"]
    assert (home / reuse.FOLDER).read_text() == "in the way"


@pytest.mark.kernels
@pytest.mark.parametrize("change", ["hz", "patch", "option"])
def test_a_variant_is_the_same_whether_it_takes_objects_or_compiles_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    file = source.fetch(folder(), source.resolve(folder(), None, False, Silent()), Silent())
    another_cache(tmp_path, monkeypatch)
    (tmp_path / "option.config").write_text("CONFIG_TCP_CONG_CDG=y\n")
    patch = Path(__file__).parents[1] / "comparison/patches/delack-60ms.patch"
    given = {"hz": {"hz": 250}, "patch": {"patches": [patch]}, "option": {"config": [tmp_path / "option.config"]}}[
        change
    ]
    taken: list[int] = []

    def counted(*arguments: object) -> int:
        taken.append(take(*arguments))  # type: ignore[arg-type]
        return taken[-1]

    take = reuse.take
    monkeypatch.setattr(reuse, "take", counted)
    build(source_file=file)
    first = build(source_file=file, **given)  # type: ignore[arg-type]
    program = first.path.read_bytes()
    for each in (first.path.parent, folder() / reuse.FOLDER, folder() / "ccache"):
        shutil.rmtree(each)
    assert build(source_file=file, **given).path.read_bytes() == program  # type: ignore[arg-type]
    assert taken[0] > 500
    assert taken[1] == 0
