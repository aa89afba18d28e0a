"""Built kernels are found again by name, version or id; half-made ones are not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.machine.kernel import KernelMissing, UmlKernel, find, folder, installed
from lab.machine.kernel.root import Root
from lab.machine.kernel.uml import cache, intact
from lab.machine.kernel.uml.recipe import changes
from lab.machine.kernel.uml.source import Source, plain_recipe
from lab.spec.variant import ResolvedVariant
from lab.units import Size


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return folder()


def put(home: Path, name: str, version: str, id: str, hz: int = 1000, **more: Any) -> UmlKernel:
    place = home / id
    place.mkdir(parents=True)
    (place / "linux").write_bytes(b"a program")
    kernel = UmlKernel(name, version, id, hz, more.pop("patches", ()), place / "linux", 4096, True, **more)
    cache.save(kernel)
    return kernel


def test_a_kernel_survives_the_cache(home: Path) -> None:
    kernel = put(home, "7.2", "7.2.13-1", "a" * 16)
    assert installed() == [kernel]


def test_newest_plain_kernel_is_the_default(home: Path) -> None:
    put(home, "7.2", "7.2.9-1", "a" * 16)
    newest = put(home, "7.2", "7.2.13-1", "b" * 16)
    put(home, "7.2-mine", "7.2.14-1", "c" * 16)
    put(home, "6.12", "6.12.107-1", "d" * 16)
    assert find() == find("7.2") == newest
    assert find("7.2.9-1").id == "a" * 16
    assert find("7.2-mine").version == "7.2.14-1"
    assert find("d" * 8).name == "6.12"


def test_a_missing_kernel_names_the_cure(home: Path) -> None:
    with pytest.raises(KernelMissing, match="run `lab kernel build`"):
        find()
    put(home, "6.12", "6.12.107-1", "d" * 16)
    with pytest.raises(KernelMissing, match=r"'7.2' is not built here \(there are 6.12\); run `lab kernel build 7.2`"):
        find("7.2")
    put(home, "6.12-hz250", "6.12.107-1", "e" * 16)
    with pytest.raises(KernelMissing, match=r"'6.12-hz25' is not built here .*; did you mean '6.12-hz250'\?$"):
        find("6.12-hz25")
    with pytest.raises(
        KernelMissing, match=r"run `lab kernel build 7.2-mine` with its --patch, --file, --config or --hz"
    ):
        find("7.2-mine")
    with pytest.raises(KernelMissing, match="`lab kernel list` shows the kernels"):
        find("mine")
    assert KernelMissing.exit_code == 3


def test_half_made_kernels_are_not_there(home: Path) -> None:
    put(home, "7.2", "7.2.13-1", "a" * 16)
    (home / ("a" * 16) / "kernel.json").write_text("{")
    (home / ("b" * 16)).mkdir()
    assert installed() == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda plain: {**plain, "version": {"a": 1}},
        lambda plain: {**plain, "hz": "fast"},
        lambda plain: {**plain, "patches": [None]},
        lambda plain: {**plain, "unknown": 1},
        lambda plain: {key: value for key, value in plain.items() if key != "id"},
        lambda plain: [plain],
    ],
)
def test_a_kernel_that_says_something_else_is_not_there(home: Path, spoil: Callable[[Any], Any]) -> None:
    kernel = put(home, "7.2-mine", "7.2.13-1", "a" * 16, patches=("mine.patch",))
    assert installed() == [kernel]
    record = home / ("a" * 16) / "kernel.json"
    record.write_text(json.dumps(spoil(json.loads(record.read_text()))))
    assert installed() == []
    record.write_text("[" * 100_000 + "]" * 100_000)
    assert installed() == []


def test_a_trial_records_no_paths(home: Path) -> None:
    plain = put(home, "7.2", "7.2.13-1", "a" * 16).describe()
    emulation = {"processes": "seccomp", "changes": list(changes("7.2"))}
    named = {"name": "7.2", "version": "7.2.13-1", "id": "a" * 16, "hz": 1000, "patches": []}
    assert plain == {**named, "emulation": emulation}
    assert str(home) not in json.dumps(plain)


def test_importing_the_layer_loads_none_of_it() -> None:
    code = "import sys, lab.machine.kernel as k; print([m for m in sys.modules if m.startswith(k.__name__ + '.')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_a_variant_is_found_by_its_patches_and_hz(home: Path, tmp_path: Path) -> None:
    base = put(home, "7.2", "7.2.13-1", "a" * 16)
    patch = tmp_path / "mss.patch"
    patch.write_bytes(b"+++ b/x\n")
    digest = hashlib.sha256(patch.read_bytes()).hexdigest()
    ours = put(home, "7.2-mss", "7.2.13-1", "b" * 16, patches=("mss",), base=base.id, digests=(digest,))
    slow = put(home, "7.2-hz100", "7.2.13-1", "c" * 16, hz=100, base=base.id)
    put(home, "7.2-old", "7.2.13-1", "d" * 16, hz=100, base="e" * 16)
    assert find() == base
    assert base.variant(ResolvedVariant(patches=(patch,))) == ours
    assert base.variant(ResolvedVariant(hz=100)) == slow
    patch.write_bytes(b"+++ b/y\n")
    with pytest.raises(KernelMissing, match=r"patch mss.patch .*`lab kernel build --variants`"):
        base.variant(ResolvedVariant(patches=(patch,)))
    with pytest.raises(KernelMissing, match="HZ 250"):
        base.variant(ResolvedVariant(hz=250))
    with pytest.raises(KernelMissing, match=r"fragment mss\.patch and HZ 100"):
        base.variant(ResolvedVariant(config=(patch,), hz=100))
    with pytest.raises(KernelMissing, match=r"7\.2-hz100 is a variant itself, so run the claim on 7\.2$"):
        slow.variant(ResolvedVariant(hz=100))


def test_a_variant_of_a_fragment_says_so_in_its_trials(home: Path, tmp_path: Path) -> None:
    base = put(home, "7.2", "7.2.13-1", "a" * 16)
    fragment, patch = tmp_path / "tunnels.config", tmp_path / "mss.patch"
    fragment.write_text("CONFIG_NET_IPIP=y\n")
    patch.write_bytes(b"+++ b/x\n")
    digests = cache.digests([patch.read_bytes()], [fragment.read_bytes()])
    more: dict[str, Any] = {"base": base.id, "digests": digests, "config": ("tunnels",), "max_header": 80}
    both = put(home, "7.2-mss-tunnels", "7.2.13-1", "b" * 16, patches=("mss",), **more)
    assert cache.load(home / both.id) == both
    wanted = ResolvedVariant(patches=(patch,), config=(fragment,))
    assert base.variant(wanted) == both
    assert both.describe().items() >= {"config": ["tunnels"], "max_header": 80, "base": base.id}.items()
    assert wanted.describes(both.describe())
    assert not ResolvedVariant(patches=(patch,)).describes(both.describe())
    assert not wanted.describes(base.describe())


def test_no_guest_starts_from_a_kernel_that_was_altered(home: Path, tmp_path: Path) -> None:
    kernel = put(home, "7.2", "7.2.13-1", "a" * 16)
    intact.check(kernel.path)
    kernel.path.write_bytes(b"A program")
    with pytest.raises(intact.KernelAltered, match=r"is not the kernel that was built: .*`lab kernel build`"):
        kernel.start(tmp_path, 1, "virtual", Size.of("64 MiB"), Root(tmp_path, "/bin/true", "python3", "/"))


def test_verification_reads_every_byte_of_a_kernel(home: Path) -> None:
    kernel = put(home, "7.2", "7.2.13-1", "a" * 16)
    kept = kernel.path.with_name("linux.sha256")
    kept.write_text(kept.read_text().replace(kept.read_text().split()[0], "0" * 64))
    intact.check(kernel.path)
    with pytest.raises(intact.KernelAltered):
        intact.check(kernel.path, every_byte=True)


def test_a_kernel_from_before_hashes_were_kept_gets_one(home: Path) -> None:
    kernel = put(home, "7.2", "7.2.13-1", "a" * 16)
    (kernel.path.parent / "linux.sha256").unlink()
    intact.check(kernel.path)
    intact.check(kernel.path)
    kernel.path.write_bytes(b"A program")
    with pytest.raises(intact.KernelAltered):
        intact.check(kernel.path)


def remember(home: Path, name: str, text: str) -> None:
    (home / "sources").mkdir(parents=True, exist_ok=True)
    (home / "sources" / f"{name}.json").write_text(text)


def test_a_kernel_of_another_version_of_the_lab_is_no_default(home: Path) -> None:
    known = Source("7.2", "7.2.13-1", "5" * 64)
    remember(home, "newest", json.dumps({"series": "7.2", "version": "7.2.13-1", "sha256": "5" * 64}))
    ours = put(home, "7.2", "7.2.13-1", plain_recipe(known).id)
    variant = put(home, "7.2-hz250", "7.2.13-1", "a" * 16, hz=250, base=ours.id)
    for name, version, digit in (("7.2", "7.2.13-1", "b"), ("7.3", "7.3.1-1", "c"), ("7.2-hz250", "7.2.13-1", "d")):
        put(home, name, version, digit * 16)
    assert find() == find("7.2") == ours
    assert find("7.2-hz250") == variant
    assert find("7.3").id == "c" * 16, "the only one of that name"
    assert find("b" * 16).id == "b" * 16
    assert find(None, [find("7.3"), ours]).name == "7.3", "a bundle's kernels do not depend on the cache"


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"series": "seven"}', '{"series": "x", "version": "y", "sha256": "z"}', '{"series": 7, "version": 7}'],
)
def test_a_damaged_memory_of_a_source_does_not_hide_kernels(home: Path, text: str) -> None:
    remember(home, "newest", text)
    put(home, "7.2", "7.2.9-1", "a" * 16)
    put(home, "7.2", "7.2.13-1", "b" * 16)
    assert find().id == "b" * 16
