"""Reduced precision, compiled and fused: as good as exact on real images, beyond noise of seeds."""

from pathlib import Path

import pytest
from dmlbench import plan
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.plan import Row
from dmlbench.plan.catalogs.places import merged
from dmlbench.training import loop
from scipy import stats
from toy_data import ToyData
from toy_training import history, outputs

CONFIG = Path(__file__).resolve().parents[2] / "config"
ITERATIONS = 80
SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def omniglot(shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("omniglot")
    source = shared / "datasets" / "omniglot"
    zips = [source / "images_background.zip", source / "images_evaluation.zip"]
    data = ToyData(*(folder / name for name in ("i.parquet", "s.parquet", "p.npy", "p.parquet")))
    make_index(zips, "omniglot", data.index)
    split(data.index, "official", data.split)
    pack(data.index, zips, 28, "gray", data.pixels, data.pixel_table)
    return data


def spec(recipe, seed):
    """The spec of config/, at a few iterations."""
    configuration = {"pathvars": {"results": "results"}, "studies": ["omniglot"]}
    loaded = plan.reload(configuration, CONFIG)
    objective = ("multi_similarity", recipe, "")
    row = Row("omniglot", "omniglot", "convnet4", 64, *objective, "official", None, seed)
    return loaded.spec(row).as_dict() | {"epochs": 1, "iterations_per_epoch": ITERATIONS}


def test_fast_differs_from_exact_in_speed_alone():
    fast = {"precision": "bfloat16", "compile": True, "optimizer": {"fused": True}}
    assert spec("omniglot_fast", 0) == merged(spec("omniglot", 0), fast)


@pytest.mark.evidence
def test_fast_loses_nothing_beyond_the_noise_of_seeds(omniglot, tmp_path):
    """The t-interval of the difference of recall@1 contains zero or is above it."""
    scores = {"omniglot": [], "omniglot_fast": []}
    for recipe, found in scores.items():
        for seed in SEEDS:
            folder = tmp_path / recipe / str(seed)
            loop.train(
                spec(recipe, seed),
                **omniglot.as_arguments(),
                **outputs(folder),
                device="auto",
                threads=1,
            )
            found.append(history(folder)[-1]["recall_at_1"])
    # Far above the 0.12 of the untrained network, so that there is something to lose.
    assert min(scores["omniglot"]) > 0.3, scores
    difference = stats.ttest_ind(
        scores["omniglot_fast"], scores["omniglot"], equal_var=False
    ).confidence_interval(0.95)
    assert difference.high > 0, scores
