"""Nearest images of the worst and best queries: against brute force, as pictures, on the page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dmlbench.data.embeddings import Embedded, write_embeddings
from dmlbench.evaluation.run_scores import write_scores
from dmlbench.presentation import runs
from dmlbench.presentation.neighbors import write_neighbors
from dmlbench.statistics.aggregation import aggregate
from PIL import Image
from stores import write_store

RUN = "toy/convnet/d3/triplet/half/seed0-0123456789ab"
RULE = "best_test_epoch"


def embedded(first_id: int, count: int, seed: int) -> Embedded:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, 3)).astype(np.float32)
    return Embedded(first_id + rng.permutation(count), np.arange(count) % 4, vectors)


@pytest.fixture
def written(tmp_path):
    """A run of these roles, its neighbors, and the images by id."""

    def write(roles):
        folder = tmp_path / "runs" / RUN
        folder.mkdir(parents=True)
        write_embeddings(folder / "embeddings.parquet", {RULE: roles}, {})
        write_scores(
            embeddings=folder / "embeddings.parquet",
            metrics=["recall_at_1"],
            threads=1,
            output=folder / "scores.parquet",
            queries=folder / "queries.parquet",
        )
        _, images = write_store(tmp_path, [(24, 24)] * 60)
        return folder, images

    return write


def neighbors(tmp_path: Path) -> pd.DataFrame:
    run = {"run": RUN, "selection": RULE, "pixels": str(tmp_path / "1")}
    write_neighbors([run], tmp_path / "neighbors", results=tmp_path)
    return pd.read_parquet(tmp_path / "neighbors" / "neighbors.parquet")


def brute_force(query: int, asking: Embedded, gallery: Embedded) -> list[tuple[float, int]]:
    """All images of the gallery except the query as (distance, id), nearest first."""

    def unit(vector):
        vector = [float(value) for value in vector]
        length = sum(value * value for value in vector) ** 0.5
        return [value / length for value in vector]

    (row,) = np.flatnonzero(asking.image_ids == query)
    asked = unit(asking.embeddings[row])
    found = [
        (1 - sum(a * b for a, b in zip(asked, unit(vector), strict=True)), int(image_id))
        for image_id, vector in zip(gallery.image_ids, gallery.embeddings, strict=True)
        if image_id != query
    ]
    return sorted(found)


@pytest.mark.parametrize("split", ["test", "query and gallery"])
def test_neighbors_are_those_of_brute_force_worst_first_then_best(written, tmp_path, split):
    test = embedded(0, 30, seed=1)
    roles = {"test": test, "validation": embedded(30, 20, seed=2)}
    gallery = test
    if split != "test":
        gallery = embedded(30, 20, seed=2)
        roles = {"query": test, "gallery": gallery}
    folder, _ = written(roles)
    found = neighbors(tmp_path)
    queries = pd.read_parquet(folder / "queries.parquet").query("role == 'test'")
    order = queries.sort_values(["first_rank", "map_at_r"], ascending=[False, True])
    shown = found[found.place == 0]
    worst, best = order.image_id.tolist()[:5], order.image_id.tolist()[:-6:-1]
    assert shown.image_id.tolist() == worst + best
    labels = dict(zip(gallery.image_ids.tolist(), gallery.labels.tolist(), strict=True))
    for query, images in found.groupby("query"):
        expected = brute_force(shown.image_id.iloc[query], test, gallery)[:5]
        nearest = images[images.place > 0]
        assert nearest.image_id.tolist() == [image_id for _, image_id in expected]
        assert nearest.distance.tolist() == pytest.approx([d for d, _ in expected], abs=1e-6)
        assert nearest.label.tolist() == [labels[image_id] for _, image_id in expected]


def test_a_first_hit_among_the_five_is_where_its_rank_says(written, tmp_path):
    test = embedded(0, 12, seed=3)
    folder, _ = written({"test": test})
    queries = pd.read_parquet(folder / "queries.parquet").set_index("image_id")
    found, hits = neighbors(tmp_path), 0
    for _, images in found.groupby("query"):
        query, nearest = images.iloc[0], images.iloc[1:]
        right = nearest.place[nearest.label == query.label]
        rank = queries.first_rank[query.image_id]
        assert (right.min() if len(right) else 6) == min(rank, 6)
        hits += len(right) > 0
    assert hits


def test_every_picture_is_at_its_place_on_the_sheet(written, tmp_path):
    _, images = written({"test": embedded(0, 30, seed=1)})
    found = neighbors(tmp_path)
    sheet = Image.open(tmp_path / "neighbors" / found.sheet[0]).convert("L")
    assert sheet.size == (6 * 64, 10 * 64)
    gray = [np.asarray(Image.fromarray(image).convert("L")).ravel() for image in images]
    for row in found.itertuples():
        left, top = 64 * row.place, 64 * row.query
        tile = sheet.crop((left, top, left + 64, top + 64)).resize((24, 24), Image.Resampling.BOX)
        likeness = np.corrcoef([np.asarray(tile).ravel(), *gray])[0, 1:]
        assert likeness.argmax() == row.image_id


def test_a_run_without_embeddings_has_no_pictures(written, tmp_path):
    folder, _ = written({"test": embedded(0, 30, seed=1)})
    (folder / "embeddings.parquet").unlink()
    assert neighbors(tmp_path).empty
    assert [file.name for file in (tmp_path / "neighbors").iterdir()] == ["neighbors.parquet"]


@pytest.mark.parametrize(("most", "shown"), [(1, True), (0, False)])
def test_a_page_of_many_runs_links_to_pictures(written, tmp_path, monkeypatch, most, shown):
    folder, _ = written({"test": embedded(0, 40, 5)})
    neighbors(tmp_path)
    row = {"run": RUN, "dataset": "toy", "network": "convnet", "embedding_dim": 3, "fold": ""}
    row |= {"method": "triplet", "recipe": "short", "variant": "", "split": "half", "seed": 0}
    scores = tmp_path / "scores.parquet"
    aggregate([row], [folder / "scores.parquet"], scores, runs=tmp_path / "runs.csv")
    study = {"id": "toy", "title": "Toy", "titles": {}, "scores": scores, "timings": None}
    monkeypatch.setattr(runs, "_MOST_WITH_PICTURES", most)
    runs.write_runs(
        [row | {"selection": RULE}],
        tmp_path / "runs.html",
        study=study | {"rehearsal": False},
        results=tmp_path,
        images={},
        neighbors=tmp_path / "neighbors",
    )
    page = (tmp_path / "runs.html").read_text()
    assert ('<img loading="lazy"' in page) == shown
    assert ('href="neighbors/0123456789ab.webp">pictures of queries</a>' in page) != shown
    assert ("Worst queries: " in page) != shown
