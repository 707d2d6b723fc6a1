"""What each query found: equal to brute force, and the scores are their means."""

import numpy as np
import pandas as pd
import pytest
from brute_force import metric, neighbors
from dmlbench.data.embeddings import Embedded, write_embeddings
from dmlbench.evaluation import evaluate, run_scores
from dmlbench.evaluation.run_scores import write_scores

METRICS = ["recall_at_1", "recall_at_2", "recall_at_10", "r_precision", "map_at_r"]


@pytest.fixture
def written(tmp_path):
    """Scores and queries of the given embeddings."""

    def write(embeddings, metrics=METRICS):
        write_embeddings(tmp_path / "e.parquet", embeddings, {})
        write_scores(
            embeddings=tmp_path / "e.parquet",
            metrics=metrics,
            threads=1,
            output=tmp_path / "scores.parquet",
            queries=tmp_path / "queries.parquet",
        )
        return pd.read_parquet(tmp_path / "scores.parquet"), pd.read_parquet(
            tmp_path / "queries.parquet"
        )

    return write


def images(seed, count=40, classes=5, first_id=100):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, count)
    labels[0] = classes  # alone in its class
    vectors = generator.normal(size=(count, 3)).astype(np.float32)
    return Embedded(first_id + generator.permutation(count), labels, vectors)


@pytest.mark.filterwarnings("ignore:.*left out")
def test_each_metric_of_the_history_is_shown_at_its_own_best_epoch(tmp_path):
    """And is labeled as what it is: a score that the test labels chose."""
    write_embeddings(tmp_path / "e.parquet", {"best_test_epoch": {"test": images(0)}}, {})
    epochs = {"epoch": [1, 2, 3], "recall_at_1": [0.2, 0.5, 0.4], "nmi": [0.6, 0.1, None]}
    pd.DataFrame(epochs).to_parquet(tmp_path / "history.parquet")
    write_scores(
        embeddings=tmp_path / "e.parquet",
        metrics=METRICS,
        threads=1,
        output=tmp_path / "scores.parquet",
        queries=tmp_path / "queries.parquet",
        history=tmp_path / "history.parquet",
        epoch_metrics=["recall_at_1", "nmi"],
    )
    scores = pd.read_parquet(tmp_path / "scores.parquet")
    found = scores[scores.selection == "own_best_test_epoch"]
    assert dict(zip(found.metric, found.value, strict=True)) == {"recall_at_1": 0.5, "nmi": 0.6}
    assert set(found.role) == {"test"}
    assert len(scores) == len(METRICS) + 2


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("role", ["test", "query"])
def test_equal_embeddings_of_two_selections_are_scored_once(written, monkeypatch, role):
    spaces = []
    monkeypatch.setattr(
        run_scores, "evaluate", lambda **given: spaces.append(given) or evaluate(**given)
    )

    def roles(seed):
        one = {role: images(0)}
        return one | ({"gallery": images(seed, first_id=500)} if role == "query" else {})

    moved = roles(1)
    moved[role] = images(0)._replace(embeddings=images(2).embeddings)
    scores, queries = written({"best_test_epoch": roles(1), "last_epoch": roles(1)})
    assert len(spaces) == 1
    by_rule = scores.pivot(index="metric", columns="selection", values="value")
    assert (by_rule["best_test_epoch"] == by_rule["last_epoch"]).all()
    assert queries["selection"].value_counts().nunique() == 1
    scores, _ = written({"best_test_epoch": roles(1), "last_epoch": moved})
    assert len(spaces) == 3
    alone, _ = written({"last_epoch": moved})
    assert scores[scores.selection == "last_epoch"]["value"].tolist() == alone["value"].tolist()


@pytest.mark.filterwarnings("ignore:.*left out")
def test_every_query_against_brute_force(written):
    test = images(0)
    _, queries = written({"last_epoch": {"test": test}})
    assert len(queries) == len(test.labels) - 1
    assert test.image_ids[0] not in set(queries.image_id)
    assert list(queries.columns) == [
        "image_id", "label", "role", "selection", "first_rank", "r_precision", "map_at_r",
    ]  # fmt: skip
    by_id = queries.set_index("image_id")
    expected = neighbors(test.embeddings, test.labels, ids=test.image_ids)
    for row, size, hits in expected:
        found = by_id.loc[test.image_ids[row]]
        assert found.label == test.labels[row]
        assert found.first_rank == 1 + int(np.argmax(hits))
        for name in ("r_precision", "map_at_r"):
            assert found[name] == pytest.approx(metric(name, size, hits))


@pytest.mark.filterwarnings("ignore:.*left out")
def test_scores_are_means_over_the_queries(written):
    roles = {"test": images(1), "validation": images(2, first_id=500)}
    scores, queries = written({"best_test_epoch": roles, "last_epoch": {"test": images(3)}})
    for (role, selection), found in queries.groupby(["role", "selection"]):
        of = scores[(scores.role == role) & (scores.selection == selection)]
        values = of.set_index("metric")["value"]
        for k in (1, 2, 10):
            assert values[f"recall_at_{k}"] == pytest.approx((found.first_rank <= k).mean())
        assert values["r_precision"] == pytest.approx(found.r_precision.mean())
        assert values["map_at_r"] == pytest.approx(found.map_at_r.mean())
    assert len(queries.groupby(["role", "selection"])) == 3


@pytest.mark.filterwarnings("ignore:.*left out")
def test_queries_of_a_gallery_carry_their_own_ids(written):
    query, gallery = images(4, count=12, first_id=0), images(5, first_id=500)
    scores, queries = written(
        {"last_epoch": {"query": query, "gallery": gallery}}, metrics=["recall_at_1"]
    )
    assert set(queries.role) == {"test"}
    assert set(queries.image_id) <= set(query.image_ids)
    nearest = {
        query.image_ids[row]: 1 + int(np.argmax(hits))
        for row, _, hits in neighbors(
            query.embeddings,
            query.labels,
            gallery.embeddings,
            gallery.labels,
            ids=gallery.image_ids,
        )
    }
    assert queries.set_index("image_id")["first_rank"].to_dict() == nearest
    assert list(scores.metric) == ["recall_at_1"]
