"""The plan: errors are one line before a job starts; rows are those that a study lists."""

import gc
import re
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from dmlbench import plan
from dmlbench.plan import load_unless_checked
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.specs.combinations import combinations
from dmlbench.plan.specs.config_folder import RULES
from dmlbench.plan.views import pages

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGURATION = {"pathvars": {"results": "results"}, "studies": ["mine"]}


def test_a_study_is_every_combination(configured):
    loaded = configured.load()
    rows = loaded.rows("mine")
    assert len(rows) == len(set(rows)) == 2 * 3 * 2
    assert rows[0].label == "glyphs/convnet3/d8/untrained/glyphs/half/seed0"
    assert [loaded.run(row).spec.seed for row in rows] == [row.seed for row in rows]


def test_a_plan_computes_a_run_once_and_is_not_kept(configured):
    loaded = configured.load()
    first = loaded.rows("mine")[0]
    assert loaded.run(first) is loaded.run(first)
    combinations(loaded, "mine")
    forgotten = weakref.ref(loaded)
    del loaded
    gc.collect()
    assert forgotten() is None


def test_a_row_is_known_by_the_columns_of_the_long_table(configured):
    row = configured.load().rows("mine")[0]
    assert row.columns == {
        "dataset": "glyphs",
        "network": "convnet3",
        "embedding_dim": 8,
        "method": "untrained",
        "recipe": "glyphs",
        "variant": "",
        "split": "half",
        "fold": "",
        "seed": 0,
    }


def test_a_job_takes_the_plan_that_its_call_has_checked(configured):
    whole, again = (read(CONFIGURATION, configured.folder) for read in (plan.load, plan.reload))
    assert again.rows("mine") == whole.rows("mine")
    assert again.runs() == whole.runs()
    assert [run.spec for run in again.runs()] == [run.spec for run in whole.runs()]
    assert pages.files(again, "mine") == pages.files(whole, "mine")
    configured.change("studies/mine", ["tournament", "where"], {"seed": 7})
    assert "fits none of the study's 12 rows" in configured.problem()
    assert plan.reload(CONFIGURATION, configured.folder).runs("mine") == whole.runs("mine")


def test_overrides_apply_to_the_rows_that_fit(configured):
    override = {
        "where": {"method": "contrastive", "embedding_dim": 8},
        "set": {"loss": {"margin": 0.3}},
    }
    configured.override("glyphs", override)
    loaded = configured.load()
    margins = {
        row.embedding_dim: loaded.spec(row).loss.hyperparameters["margin"]
        for row in loaded.rows("mine", Where(method="contrastive"))
    }
    assert margins == {8: 0.3, 16: 0.5}


def test_an_override_of_a_seed_applies_to_that_seed_alone(configured):
    override = {"where": {"seed": 1}, "set": {"batch_size": 50}}
    configured.override("glyphs", override)
    loaded = configured.load()
    for row in loaded.rows("mine"):
        assert (loaded.spec(row).batch_size == 50) == (row.seed == 1)


@pytest.mark.parametrize(
    ("file", "keys", "value", "parts"),
    [
        ("recipes", ["glyphs", "epoch"], 3, ["recipes.yaml: glyphs.epoch", "'epochs'"]),
        ("recipes", ["glyphs", "epochs"], -1, ["recipes.yaml: glyphs.epochs: -1", "greater"]),
        (
            "recipes",
            ["glyphs", "optimizer", "name"],
            "adamx",
            ["glyphs.optimizer.name: 'adamx'", "'adamw'"],
        ),
        (
            "methods",
            ["triplet", "loss"],
            "triplett",
            ["methods.yaml: triplet.loss", "did you mean 'triplet'"],
        ),
        (
            "methods",
            ["triplet", "loss"],
            {"name": "triplet", "margn": 1},
            ["methods.yaml: triplet.loss", "'margn'", "did you mean 'margin'"],
        ),
        ("methods", ["triplet", "miner"], "multi_similarity", ["triplet", "Pairs", "Triplets"]),
        ("datasets", ["glyphs", "splits"], {}, ["datasets.yaml: glyphs.splits"]),
        ("datasets", ["glyphs", "metrics"], ["recal_at_1"], ["glyphs.metrics.0", "recal_at_1"]),
        ("datasets", ["x; touch pwned"], {}, ["datasets.yaml", "x; touch pwned"]),
        ("networks", ["convnet3", "mean"], [0.5, 0.5], ["convnet3.mean", "1 numbers"]),
        ("studies/mine", ["runs", 0, "dataset"], "glyph", ["mine.yaml: runs.0.dataset", "glyphs"]),
        ("studies/mine", ["runs", 0, "split"], "hal", ["mine.yaml: runs.0.split", "half"]),
        ("studies/mine", ["runs", 0, "method"], ["triple"], ["runs.0.method", "'triplet'"]),
        ("studies/mine", ["runs", 0, "embedding_dim"], -64, ["runs.0.embedding_dim", "-64"]),
        ("studies/mine", ["runs", 0, "seed"], "zero", ["runs.0.seed", "'zero'"]),
        ("studies/mine", ["tournament", "where"], {"seed": 7}, ["tournament.where", "none"]),
        (
            "studies/mine",
            ["tables"],
            {"a": {"title": "A", "kind": "scores_by_methd"}},
            ["tables.a.kind", "'scores_by_method'"],
        ),
    ],
)
def test_bad_input_is_one_line_that_names_it(configured, file, keys, value, parts):
    configured.change(file, keys, value)
    message = configured.problem()
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"studies": ["mien"]}, ["unknown study 'mien'", "'mine'"]),
        ({"studies": ["x; touch pwned"]}, ["config.yaml: studies.0"]),
        ({"device": "gpu"}, ["config.yaml: device: 'gpu'", "'cuda'"]),
        ({"devise": "cpu"}, ["config.yaml: devise", "did you mean 'device'"]),
    ],
)
def test_a_bad_configuration_is_one_line(configured, changes, parts):
    message = configured.problem(**changes)
    assert all(part in message for part in parts), message


def test_an_override_of_an_unknown_key_names_the_row(configured):
    override = {"where": {"method": "contrastive"}, "set": {"optimizer": {"rate": 1}}}
    configured.override("glyphs", override)
    message = configured.problem()
    assert "recipes.yaml: glyphs.overrides." in message
    assert ", for row glyphs/convnet3/d8/contrastive" in message
    assert "optimizer.rate" in message
    assert "learning_rate" in message


def test_a_key_written_twice_is_refused(configured):
    path = configured.folder / "methods.yaml"
    path.write_text(path.read_text() + "\ntriplet:\n  title: Again\n")
    assert "'triplet' is written twice" in configured.problem()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("triplet: [", "line 2, column 1: did not find expected node content"),
        ("triplet:\n\tyear: 1\n", "line 2, column 1: a tab indents: '\\tyear: 1'; allowed: spaces"),
        ("triplet: 1\n\tyear: 1\n", "line 2, column 1: a tab indents"),
        ("\ntitle: My: title\n", "line 2, column 10: mapping values are not allowed"),
    ],
)
def test_no_yaml_is_one_line_that_names_the_line(configured, text, said):
    path = configured.folder / "methods.yaml"
    path.write_text(text)
    message = configured.problem()
    assert message.startswith(f"{path}: not YAML: {said}")
    assert "\n" not in message
    assert "<unicode string>" not in message


def test_a_misspelled_key_is_named_before_the_one_that_it_replaces(configured):
    path = configured.folder / "studies" / "mine.yaml"
    path.write_text(re.sub(r"\bseed:", "seeds:", path.read_text()))
    assert "unknown key 'seeds'; did you mean 'seed'?" in configured.problem()


@pytest.mark.parametrize("name", ["train", "all"])
def test_a_study_with_the_name_of_a_rule_is_refused(configured, name):
    made = configured.folder / "studies" / f"{name}.yaml"
    made.write_text((configured.folder / "studies" / "mine.yaml").read_text())
    said = f"{made}: {name!r} is the name of a rule; allowed: all names but "
    assert configured.problem(studies=["mine", name]).startswith(said)


def test_every_rule_is_known_by_name():
    files = [REPOSITORY / "Snakefile", *(REPOSITORY / "rules").glob("*.smk")]
    named = {
        name
        for file in files
        for name in re.findall(r"(?m)^(?:use rule \w+ as|rule) (\w+)", file.read_text())
    }
    assert named == RULES


@pytest.mark.slow
def test_the_plan_loads_neither_torch_nor_pandas():
    code = (
        "import sys, yaml; from pathlib import Path; from dmlbench import plan\n"
        "from dmlbench.plan.sources import stage_digest\n"
        "configuration = yaml.safe_load(Path('config/config.yaml').read_text())\n"
        "configuration['studies'] = ['demo', 'can2019', 'karaman2021']\n"
        "loaded = plan.load(configuration, Path('config'))\n"
        "assert loaded.runs()\n"
        "stage_digest('evaluate.py')\n"
        "heavy = {'torch', 'pandas', 'numpy', 'pyarrow', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(REPOSITORY / "workflow" / "scripts")},
    )


def test_what_was_checked_is_not_checked_again_until_something_changes(configured, tmp_path):
    mark = tmp_path / "results" / ".checked"

    def load():
        return load_unless_checked(CONFIGURATION, configured.folder, mark)

    load()
    assert not mark.exists()  # no results, nothing is written
    mark.parent.mkdir()
    load()
    passed = mark.read_text()
    rows = load().rows("mine")
    assert rows == configured.load().rows("mine")
    assert mark.read_text() == passed
    configured.change("studies/mine", ["tables"], {"one": {"title": "T", "kind": "no"}})
    for _ in range(2):
        assert "unknown" in load().broken["mine"]
    assert mark.read_text() == passed
    configured.change("studies/mine", ["tables"], {})
    load()
    assert mark.read_text() != passed
