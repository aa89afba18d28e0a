"""A record is of a case if its network is the one that its seed draws."""

from __future__ import annotations

from pathlib import Path

from lab.spec import find
from lab.spec.drawn import Drawn
from lab.units import to_plain
from lab.verdict.judged import asked_for
from tests.trials import trial
from tests.verdict.cases import case


def test_a_trial_has_the_network_of_its_seed(tmp_path: Path) -> None:
    (tmp_path / "claim.py").write_text(CLAIM)
    (claim,) = find.find([str(tmp_path / "claim.py")])
    cases = {each.key: each for each in claim.cases()}
    (drawn,) = cases.values()
    is_current = asked_for(claim, cases)

    def ran(seed: int, drawn_by: int) -> bool:
        network = to_plain(drawn.network_of(drawn_by))
        of = {"claim": claim.id, "arm": drawn.arm, "source_sha256": claim.source_sha256}
        return is_current(trial(**of, network=network, workload=to_plain(drawn.workload), seed=seed))

    assert drawn.drawn == Drawn()
    assert ran(seed=1, drawn_by=1)
    assert ran(seed=7, drawn_by=7)
    assert not ran(seed=1, drawn_by=7)


def test_without_a_draw_all_seeds_have_one_network() -> None:
    plain = case()
    assert plain.network_of(1) is plain.network_of(2)


CLAIM = '''"""A round trip takes 20 ms."""

from lab import Arm, Drawn, Experiment, Implied, Ping, Within, metric

EXPERIMENT = Experiment(
    topology="shared-bottleneck",
    workload=Ping(),
    metric=metric.ping_rtt(),
    arms=(Arm("only", Implied("20 ms", "so")),),
    samples=10,
    drawn=Drawn(),
    tolerance=Within(0.1, because="a digit"),
)
'''
