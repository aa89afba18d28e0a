"""An atlas shows what changed from each kernel to the next: verdicts, figures, packets, and what the model says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import InputError, MachineError
from lab.ext.atlas import atlas as atlases
from lab.ext.atlas import making
from lab.ext.atlas.atlas import Atlas, AtlasCommit
from lab.ext.atlas.known import KNOWN, Arms, Known
from lab.ext.comparison.summary import sentence
from lab.ext.pagecheck import inspection
from lab.ext.suites.packetdrill.verdict import Complaint, Moment, ScriptRun
from lab.ext.suites.script import JudgedRun, JudgedScript
from lab.report import html
from lab.spec import find
from tests.kinds import Judge

Syn = Callable[..., bytes]

PCAP = "capture.sender.eth0.pcap"
CLAIM = """
    topology="symmetric-1g", workload=Netcat(), probes=(Capture(node="sender"),), metric=metric.mss_in("SYN"),
    prediction=model.mss_of_syn,
    arms=(Arm("old", Reported("1460 B", "it says so")), Arm("new", Reported("1460 B", "it says so"))),
    tolerance=Exactly(because="it is a number"),
"""
SHORTER = "Segments are `4 bytes` shorter."
SHARE = Known("share", "Another share", SHORTER, (6, 6), "dfa2f0483360", ("toy/claim",), (), ("greeting",))
BESIDE = Arms("toy/claim", "old", "new"), Arms("toy/claim", "old", "none")
TICK = Known("tick", "Another tick", "One more.", arms=BESIDE)


def script(happened: int, complaint: Complaint | None = None) -> JudgedScript:
    moments = (Moment(3, "outbound packet", 1000, 1000, happened, 4000),)
    run = ScriptRun("ipv4", 1 if complaint else 0, moments, (), complaint)
    return JudgedScript("greeting", "7.2", "a" * 64, (JudgedRun(run, None),))


@pytest.fixture
def atlas(judge: Judge, syn: Syn, monkeypatch: pytest.MonkeyPatch) -> Atlas:
    """Two kernels: the newer one's SYN offers 4 bytes less, and a script comes 20 ms later and fails."""
    monkeypatch.setattr(atlases, "KNOWN", (SHARE, TICK))
    sides = {
        name: (judge(CLAIM, {"old": [{PCAP: syn(mss=mss)}], "new": [{PCAP: syn(mss=mss - 100)}]}, name),)
        for name, mss in (("6.1", 1460), ("7.2", 1456))
    }
    wrong = Complaint("timing error", 3, "> S. 0:0(0)", "> SEW. <0:0(0)>")
    scripts = {"6.1": (script(1000),), "7.2": (script(21000, wrong),)}
    return Atlas(
        ("6.1", "7.2"), sides, scripts, {"dfa2f0483360": AtlasCommit("2023-07-17", "A. N. Other", "tcp: <share>")}
    )


def test_every_known_change_and_every_step_has_a_page(atlas: Atlas) -> None:
    pages = atlas.pages()
    assert [*pages] == ["index.html", "share.html", "tick.html", "from-6.1-to-7.2.html"]
    for name, page in pages.items():
        assert page.startswith("<!DOCTYPE html>"), name
        assert page.count("<h1>") == 1


def test_the_index_has_every_claim_on_every_kernel(atlas: Atlas) -> None:
    index = atlas.pages()["index.html"]
    for said in (
        "1 claim and 1 script of packetdrill, each on 6.1, 7.2.",
        '<a href="share.html">',
        "from 6.1 to 7.2",
        "by arms beside each other",
        '<a href="from-6.1-to-7.2.html">From 6.1 to 7.2</a>',
        sentence(atlas.steps[0].changes),
        html.sign("not reproduced"),
        "1 differs",
    ):
        assert said in index, said


def test_a_change_shows_verdicts_figures_the_model_and_the_packet(atlas: Atlas) -> None:
    page = atlas.pages()["share.html"]
    for said in (
        "<code>4 bytes</code>",
        "Linux 6.6, commit",
        "“tcp: &lt;share&gt;”, A. N. Other, 2023-07-17",
        "1,460 B",
        "1,456 B",
        "mss 1460",
        "mss 1456",
        "is the first that differs, in options",
        "Evidence: 4 trials",
        "fails in line 3: timing error (seen: &gt; SEW. &lt;0:0(0)&gt;)",
        ">holds<",
    ):
        assert said in page, said


def test_arms_stand_beside_each_other_on_the_newest_kernel(atlas: Atlas) -> None:
    page = atlas.pages()["tick.html"]
    for said in ("a setting of each kernel", "1,456 B", "1,356 B", "−6.87 % on 7.2", "in options", "mss 1356"):
        assert said in page, said
    assert "<code>old</code> and <code>none</code> were not run on one kernel" in page


def test_a_step_shows_what_compare_shows_and_the_scripts(atlas: Atlas) -> None:
    page = atlas.pages()["from-6.1-to-7.2.html"]
    for said in (
        "outbound packet at 1.000 ms",
        "outbound packet at 21.000 ms",
        "lab bisect --tree ~/linux --good v6.1 --bad v7.2 CLAIM",
        'id="toy/claim"',
    ):
        assert said in page, said


def test_what_was_not_run_is_said(judge: Judge, syn: Syn, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Known("absent", "Absent", "Never.", (9, 9), "", ("toy/other",))
    nobody = Known("nobody", "Nobody", "Not here.", (7, 0), "", ("toy/other",), (Arms("toy/other", "a", "b"),))
    monkeypatch.setattr(atlases, "KNOWN", (absent, nobody))
    same = {"old": [{PCAP: syn()}], "new": [{PCAP: syn()}]}
    sides = {name: (judge(CLAIM, same, name),) for name in ("6.1", "7.2")}
    made = Atlas(("6.1", "7.2"), sides)
    pages = made.pages()
    assert "no two kernels here lie on both sides of it" in pages["index.html"]
    assert "It was not run." in pages["absent.html"]
    assert "were not run on one kernel" in pages["nobody.html"]
    assert [each["shown"] for each in made.plain()["changes"]] == [
        "no two kernels here lie on both sides of it",
        "not run",
    ]


def test_pages_are_written_whole_and_lead_to_each_other(atlas: Atlas, tmp_path: Path) -> None:
    written = making.write(atlas, tmp_path / "new" / "atlas")
    assert written[0].name == "index.html"
    assert list(inspection.links(tmp_path / "new" / "atlas", written)) == []
    assert not list((tmp_path / "new" / "atlas").glob(".*"))
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="cannot write"):
        making.write(atlas, tmp_path / "file" / "atlas")


def test_the_evidence_of_what_is_known_is_there() -> None:
    names = {each.name for each in KNOWN}
    assert len(names) == len(KNOWN) >= 4
    for known in KNOWN:
        assert known.claims or known.arms or known.scripts
        for claim in find.find(known.claims) if known.claims else ():
            assert claim.cases()
        for pair in known.arms:
            (claim,) = find.find([pair.claim])
            assert {pair.before, pair.after} <= {case.arm for case in claim.cases()}


def test_what_an_atlas_takes() -> None:
    ids = [each.id for each in making.wanted(())]
    assert len(ids) == len({*ids})
    assert {"incident-jumbo/whole-buffer", "tcp-bottleneck/window-plateau", "tcp-nodelay/piggyback"} <= {*ids}
    assert [each.id for each in making.wanted(["tcp-nodelay/piggyback"])] == ["tcp-nodelay/piggyback"]
    with pytest.raises(InputError, match="two or more different kernels"):
        making._names([])


def test_each_entry_names_its_trials_and_no_table_hides_its_kernels(atlas: Atlas) -> None:
    """A table of class `bed` has no labels on a narrow screen, where its head is hidden."""
    pages = atlas.pages()
    assert f"<code>{'a' * 16}</code>" in pages["share.html"]
    assert 'data-label="6.1"' in pages["index.html"]
    assert not [name for name in ("index.html", "share.html", "tick.html") if 'cards bed"' in pages[name]]
