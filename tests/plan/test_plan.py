"""The plan: what is wrong shows in one line before a job starts; runs belong to no study."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan import Run, pages
from dmlbench.plan.studies import Where
from hypothesis import given
from hypothesis import strategies as st

REPOSITORY = Path(__file__).resolve().parents[2]
STUDY = {
    "title": "A study",
    "question": "Which?",
    "description": "Of nothing.",
    "runs": [
        {
            "dataset": "glyphs",
            "network": "convnet3",
            "embedding_dim": [8, 16],
            "method": ["untrained", "contrastive", "triplet"],
            "recipe": "glyphs",
            "split": "half",
            "seed": [0, 1],
        }
    ],
    "tournament": {"metric": "recall_at_1", "where": {"method": ["contrastive", "triplet"]}},
}
CONFIGURATION = {"pathvars": {"results": "results"}, "studies": ["mine"]}


@pytest.fixture
def folder(tmp_path):
    """A copy of the catalogues with one study, `mine`."""
    copy = tmp_path / "config"
    shutil.copytree(REPOSITORY / "config", copy)
    write(copy / "studies" / "mine.yaml", STUDY)
    return copy


def write(path, values):
    path.write_text(yaml.safe_dump(values))


def change(path, keys, value):
    """Set the value at a path of keys in a YAML file."""
    values = yaml.safe_load(path.read_text())
    node = values
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    write(path, values)


def problem(folder, configuration=CONFIGURATION):
    with pytest.raises(UserError) as error:
        plan.load(configuration, folder)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_a_study_is_every_combination(folder):
    runs = plan.load(CONFIGURATION, folder).runs("mine")
    assert len(runs) == len(set(runs)) == 2 * 3 * 2
    assert runs[0].path == "glyphs/convnet3/d8/untrained/glyphs/half/seed0"


def test_a_job_takes_the_plan_that_its_call_has_checked(folder):
    whole, again = (read(CONFIGURATION, folder) for read in (plan.load, plan.reload))
    assert again.runs("mine") == whole.runs("mine")
    assert all(again.spec(run) == whole.spec(run) for run in whole.runs())
    assert pages.files(again, "mine") == pages.files(whole, "mine")
    change(folder / "studies" / "mine.yaml", ["tournament", "where"], {"seed": 7})
    assert "fits none of the study's 12 runs" in problem(folder)
    assert plan.reload(CONFIGURATION, folder).runs("mine") == whole.runs("mine")


def test_two_studies_share_their_runs(folder):
    write(folder / "studies" / "yours.yaml", STUDY | {"title": "Another"})
    both = plan.load(CONFIGURATION | {"studies": ["mine", "yours"]}, folder)
    assert both.runs("mine") == both.runs("yours") == both.runs()
    assert not any("mine" in run.path or "yours" in run.path for run in both.runs())


def test_what_is_shown_is_no_part_of_a_spec(folder):
    run = plan.load(CONFIGURATION, folder).runs("mine")[1]
    before = plan.load(CONFIGURATION, folder).spec(run).digest
    change(folder / "methods.yaml", ["contrastive", "title"], "Pairs")
    change(folder / "datasets.yaml", ["glyphs", "metrics"], ["map_at_r"])
    change(folder / "networks.yaml", ["convnet3", "threads"], 7)
    assert plan.load(CONFIGURATION, folder).spec(run).digest == before
    change(folder / "recipes.yaml", ["glyphs", "optimizer", "learning_rate"], 0.5)
    assert plan.load(CONFIGURATION, folder).spec(run).digest != before


def test_overrides_apply_to_the_runs_that_fit(folder):
    override = {
        "where": {"method": "contrastive", "embedding_dim": 8},
        "set": {"loss": {"margin": 0.3}},
    }
    change(folder / "recipes.yaml", ["glyphs", "overrides"], [override])
    loaded = plan.load(CONFIGURATION, folder)
    margins = {
        run.embedding_dim: loaded.spec(run).loss.hyperparameters["margin"]
        for run in loaded.runs("mine", Where(method="contrastive"))
    }
    assert margins == {8: 0.3, 16: 0.5}


def test_an_untrained_network_has_no_epochs(folder):
    loaded = plan.load(CONFIGURATION, folder)
    spec = loaded.spec(loaded.runs("mine")[0])
    assert (spec.loss, spec.epochs) == (None, 0)


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
def test_bad_input_is_one_line_that_names_it(folder, file, keys, value, parts):
    change(folder / f"{file}.yaml", keys, value)
    message = problem(folder)
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
def test_a_bad_configuration_is_one_line(folder, changes, parts):
    message = problem(folder, CONFIGURATION | changes)
    assert all(part in message for part in parts), message


def test_an_override_of_an_unknown_key_names_the_run(folder):
    override = {"where": {"method": "contrastive"}, "set": {"optimizer": {"rate": 1}}}
    change(folder / "recipes.yaml", ["glyphs", "overrides"], [override])
    message = problem(folder)
    assert "recipes.yaml: glyphs, for run glyphs/convnet3/d8/contrastive" in message
    assert "optimizer.rate" in message
    assert "learning_rate" in message


def test_a_key_written_twice_is_refused(folder):
    path = folder / "methods.yaml"
    path.write_text(path.read_text() + "\ntriplet:\n  title: Again\n")
    assert "'triplet' is written twice" in problem(folder)


def test_no_yaml_is_one_line(folder):
    (folder / "methods.yaml").write_text("triplet: [")
    assert problem(folder).startswith(f"{folder / 'methods.yaml'}: not YAML")


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
SPLITS = st.from_regex(r"[a-z][a-z0-9_]{0,8}(-[a-z0-9_]{1,4})?", fullmatch=True)
NUMBERS = st.integers(0, 2000)


@given(
    st.builds(
        Run, NAMES, NAMES, st.integers(1, 4096), NAMES, NAMES, SPLITS, st.none() | NUMBERS, NUMBERS
    )
)
def test_a_path_is_a_run_and_a_run_a_path(run):
    if not run.split.rpartition("-fold")[2].isdigit():
        assert Run.parse(run.path) == run


def test_the_plan_loads_neither_torch_nor_pandas():
    code = (
        "import sys, yaml; from pathlib import Path; from dmlbench import plan\n"
        "from dmlbench.plan.sources import stage_digest\n"
        "configuration = yaml.safe_load(Path('config/config.yaml').read_text())\n"
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
