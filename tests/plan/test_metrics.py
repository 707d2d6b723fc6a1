"""What ranks methods or keeps the best epoch is refused a metric without a better direction."""

import pytest

REFUSED = "metric 'rho' ranks nothing: neither higher nor lower is better; allowed: ami, f1, "
RANKED = {"title": "A", "where": {"split": "half"}}


def test_a_tournament_needs_a_direction(configured):
    configured.change("studies/mine", ["tournament", "metric"], "rho")
    message = configured.problem()
    assert "mine.yaml: tournament.metric: " in message
    assert REFUSED in message
    assert "\n" not in message


def test_a_training_needs_a_direction(configured):
    configured.change("recipes", ["glyphs", "selection_metric"], "rho")
    message = configured.problem()
    assert "recipes.yaml: glyphs.selection_metric: " in message
    assert REFUSED in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("views", "kind", "key"),
    [
        ("tables", {"name": "tournament", "metric": "rho"}, "metric is 'rho'"),
        ("figures", {"name": "critical_difference", "metric": "pi_ratio"}, "metric is 'pi_ratio'"),
        ("figures", {"name": "relative_distributions", "axis": "p", "metrics": ["rho"]}, "metrics"),
    ],
)
def test_a_ranking_view_needs_a_direction(configured, views, kind, key):
    configured.change("studies/mine", [views], {"a": RANKED | {"kind": kind}})
    message = configured.problem()
    assert f"mine.yaml: {views}.a.kind: " in message
    assert key in message
    assert "a metric of which higher or lower is better (ami, f1, " in message
    assert "\n" not in message


def test_a_view_at_each_metrics_own_best_epoch_needs_it_in_every_epoch(configured):
    configured.change("recipes", ["glyphs", "epoch_metrics"], ["nmi"])
    kind = {"name": "scores_by_method", "metrics": ["recall_at_1", "nmi"]}
    own = RANKED | {"selection": "own_best_test_epoch"}
    configured.change("datasets", ["glyphs", "metrics"], ["recall_at_1", "nmi", "map_at_r"])
    configured.change("studies/mine", ["tables"], {"a": own | {"kind": kind}})
    configured.load()
    kind = {"name": "scores_by_method", "metrics": ["recall_at_1", "map_at_r"]}
    configured.change("studies/mine", ["tables"], {"a": own | {"kind": kind}})
    assert configured.problem().endswith(
        "mine.yaml: tables.a.selection: own_best_test_epoch needs map_at_r in the recipe's "
        "epoch_metrics; allowed: recall_at_1, nmi"
    )
