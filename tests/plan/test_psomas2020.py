"""psomas2020's study against the thesis, and its rehearsal."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan import Row
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.views import pages, views
from project import CONFIG, every_rehearsal, every_study

STUDY = "psomas2020"
GRID = Where(recipe="psomas2020", variant="base", split=["half", "official"])


@pytest.fixture(scope="module")
def loaded():
    return every_study()


@pytest.fixture(scope="module")
def rehearsed():
    return every_rehearsal()


@pytest.fixture(scope="module")
def settings(shared):
    """The printed protocol of the thesis: table -> rows, as strings."""
    folder = shared / "reference" / STUDY
    names = ("03", "04", "05")
    return {name: pd.read_csv(folder / f"settings_table_{name}.csv", dtype=str) for name in names}


def spec(loaded, dataset, network, method, recipe=STUDY, variant=""):
    split = "official" if dataset == "sop" else "half"
    return loaded.spec(Row(STUDY, dataset, network, 512, method, recipe, variant, split, None, 0))


def test_learning_rates_are_those_of_table_3(loaded, settings):
    for row in settings["03"].itertuples():
        found = spec(loaded, row.dataset, row.network, "proxy_anchor")
        assert found.optimizer.learning_rate == float(row.learning_rate), row
        assert found.schedule.step == int(row.step_size_epochs), row
        assert found.schedule.gamma == float(row.gamma), row
        assert found.batch_size == (100 if row.network == "resnet50" else 180)
        assert found.loss_factor == 100
        assert found.network.pooling == "sum"


@pytest.mark.parametrize("dataset", ["cub200", "cars196", "sop"])
def test_hyperparameters_are_those_of_table_4(loaded, settings, dataset):
    named = {"margin λ": "margin", "scale s": "scale", "l_2": "l2"}
    named |= {"scale α": "alpha", "scale β": "beta"}
    for row in settings["04"].itertuples():
        found = spec(loaded, dataset, "bninception", row.method)
        if row.hyperparameter.endswith(" lr"):
            assert found.loss_learning_rate == float(row.value), row
        elif row.hyperparameter == "epsilon":
            assert found.miner.hyperparameters["epsilon"] == float(row.value), row
        else:
            key = named.get(row.hyperparameter, row.hyperparameter)
            assert found.loss.hyperparameters[key] == float(row.value), row


def test_mining_is_that_of_table_5(loaded, settings):
    miners = {
        "-": None,
        "semi-hard": "semi_hard",
        "hard": "multi_similarity",
        "distance weighted": "distance_weighted_pairs",
    }
    for row in settings["05"].itertuples():
        miner = spec(loaded, "cub200", "bninception", row.method).miner
        assert (miner and miner.name) == miners[row.mining], row


def test_the_codes_values_differ_where_it_contradicts_the_text(loaded):
    text, code = (
        {
            method: spec(loaded, "cub200", "bninception", method, recipe=recipe)
            for method in ("arcface", "multi_similarity", "proxy_nca")
        }
        for recipe in (STUDY, "psomas2020_code")
    )
    assert text["arcface"].loss.hyperparameters["scale"] == 64
    assert code["arcface"].loss.hyperparameters["scale"] == 220
    # Table 4's values made table 7.
    assert code["multi_similarity"].loss == text["multi_similarity"].loss
    assert code["proxy_nca"].loss.name == "proxy_nca_plus_plus"
    assert code["proxy_nca"].loss.hyperparameters == {"temperature": 1 / 32}
    assert (text["arcface"].schedule.gamma, code["arcface"].schedule.gamma) == (0.1, 0.5)


def test_the_codes_own_losses_are_those_that_the_authors_code_computes(loaded):
    """tests/authors holds each of them to recorded values and gradients."""
    names = {
        method: spec(loaded, "cub200", "bninception", method, "psomas2020_code", "code_losses")
        for method in ("triplet", "lifted_structure", "margin", "multi_similarity")
    }
    assert names["triplet"].loss.name == "triplet_semi_hard"
    assert names["triplet"].miner is None
    assert names["lifted_structure"].loss.name == "lifted_structure_two_scales"
    assert names["lifted_structure"].miner.hyperparameters["epsilon"] == 0.1
    assert names["margin"].loss.hyperparameters["boundary"] == "fixed"
    assert names["margin"].miner.name == "distance_weighted_of_batch"
    similarity = names["multi_similarity"]
    assert similarity.loss.hyperparameters == {"alpha": 17.97, "beta": 75.66, "margin": 0.77}
    assert similarity.miner.hyperparameters == {"epsilon": 0.39, "itself": True, "centered": False}


def test_every_printed_score_of_a_grid_has_its_row(loaded):
    """Each belongs to exactly one row of the study."""
    rows = loaded.rows(STUDY, GRID)
    folder = CONFIG / "reference" / STUDY
    grids = ("06", "07", "08", "09", "10", "17", "18", "19", "20", "21")
    for table in grids:
        printed = pd.read_csv(folder / f"table_{table}.csv", dtype=str)
        cells = printed[["dataset", "network", "embedding_dim", "method"]].drop_duplicates()
        for cell in cells.itertuples(index=False):
            fitting = [
                row
                for row in rows
                if (row.dataset, row.network, str(row.embedding_dim), row.method) == tuple(cell)
            ]
            assert len(fitting) == 1, cell
    assert len(rows) == 3 * 3 * 4 * 10 + 3 * 2


def test_each_view_has_one_selection_rule(loaded):
    rules = {
        name: views.facts(loaded, STUDY, "table", name)["selection"]
        for name in loaded.studies[STUDY].tables
    }
    honest = {name for name, rule in rules.items() if rule == "best_validation_epoch"}
    assert honest == {"12", "13", "14", "15", "16"}
    # Table 1 is computed without a training.
    assert rules.pop("01") == "none"
    assert {rules[name] for name in set(rules) - honest} == {"best_test_epoch"}


def test_two_selection_rules_do_not_go_into_one_view(tmp_path):
    with pytest.raises(UserError, match=r"tables\.06\.where: .*best_test_epoch.*one rule per view"):
        changed(tmp_path, "where", {"dataset": "cub200", "network": "bninception"})


def test_a_table_that_is_not_printed_is_named(tmp_path):
    kind = {"name": "scores_next_to_printed", "metrics": ["recall_at_1"], "printed": ["66"]}
    with pytest.raises(UserError, match=r"tables\.06\.kind\.printed: .*'66'; allowed: 06, 07"):
        changed(tmp_path, "kind", kind)


def changed(folder, key, value):
    """The plan of a copy of the study whose table 6 is changed."""
    for file in CONFIG.iterdir():
        (folder / file.name).symlink_to(file)
    (folder / "studies").unlink()
    (folder / "studies").mkdir()
    study = yaml.safe_load((CONFIG / "studies" / f"{STUDY}.yaml").read_text())
    study["tables"]["06"][key] = value
    (folder / "studies" / f"{STUDY}.yaml").write_text(yaml.safe_dump(study))
    values = yaml.safe_load((CONFIG / "config.yaml").read_text())
    return plan.load(values | {"studies": [STUDY]}, folder)


def test_targets_are_named_as_the_thesis_numbers_them(loaded):
    targets = pages.targets(loaded, STUDY)
    assert {"psomas2020_table_06", "psomas2020_table_21", "psomas2020_figure_27"} <= set(targets)
    assert len(targets["psomas2020_figure_31"]) == 3


def test_an_embedding_map_is_named_as_a_figure(loaded):
    targets = pages.targets(loaded, STUDY)
    maps = loaded.studies[STUDY].embedding_maps
    assert maps
    for name in maps:
        files = targets[f"{STUDY}_figure_{name}"]
        assert [Path(file).stem for file in files] == [f"map_{name}"] * 3


def test_a_rehearsal_keeps_every_name_and_trains_few_runs(loaded, rehearsed):
    """Data sets and networks are replaced; every name stays."""
    assert rehearsed.rows(STUDY) == loaded.rows(STUDY)
    assert pages.targets(rehearsed, STUDY).keys() == pages.targets(loaded, STUDY).keys()
    assert len(rehearsed.runs(STUDY)) < 60
    for row in rehearsed.rows(STUDY):
        spec = rehearsed.spec(row)
        assert (spec.dataset, spec.network.backbone.name) == ("rehearsal", "convnet")
        assert rehearsed.search_of(row) == loaded.search_of(row)
