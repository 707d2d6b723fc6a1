"""What trainings will cost: fits against NumPy, the prior against torch's own count."""

from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from dmlbench import plan, registry
from dmlbench.plan import cost_model, costs, searches
from dmlbench.plan.read import read_yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

CONFIG = Path(__file__).resolve().parents[2] / "config"
PRIOR = read_yaml(CONFIG / "costs.yaml", cost_model.Prior)
NETWORKS = yaml.safe_load((CONFIG / "networks.yaml").read_text())


@pytest.fixture
def loaded(tmp_path):
    """The plan of studies, whose results are in a folder of its own."""

    def load(*studies):
        configuration = {"pathvars": {"results": str(tmp_path)}, "studies": list(studies)}
        return plan.load(configuration, CONFIG)

    return load


def has_run(folder, run, seconds):
    file = folder / "costs" / "train" / f"{run.folder}.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0:00:00\t-\n")
    spec = folder / "runs" / run.folder / "spec.yaml"
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text(yaml.safe_dump(run.spec.as_dict()))


def is_done(folder, run):
    file = folder / "runs" / run.folder / "model.safetensors"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 10**7), min_size=2, max_size=20, unique=True),
    st.floats(0, 1000),
    st.floats(1e-4, 1),
)
def test_a_line_is_found_again(images, start, an_image):
    found = cost_model.fit([(count, start + an_image * count) for count in images])
    assert found.files == len(images)
    for count in images:
        predicted = found.start + found.an_image * count
        assert predicted == pytest.approx(start + an_image * count, rel=1e-6, abs=1e-3)


def test_scattered_trainings_are_fitted_as_numpy_fits_them():
    generator = np.random.default_rng(0)
    images = generator.integers(10**4, 10**6, 30).astype(float)
    seconds = 50 + 0.002 * images + generator.normal(0, 20, 30)
    slope, start = np.polyfit(images, seconds, 1)
    found = cost_model.fit(list(zip(images, seconds, strict=True)))
    assert (found.start, found.an_image) == (pytest.approx(start), pytest.approx(slope))


@pytest.mark.parametrize(
    ("points", "wanted"),
    [
        ([(100, 20)], (0, 0.2)),
        ([(100, 20), (100, 40)], (0, 0.3)),
        ([(100, 10), (200, 40)], (0, 0.18)),  # would start at -20 s
        ([(100, 40), (200, 20)], (30, 0)),  # would get faster with every image
        ([(0, 3)], (3, 0)),  # the untrained network
    ],
)
def test_no_part_of_a_fit_is_negative(points, wanted):
    found = cost_model.fit(points)
    assert (found.start, found.an_image) == (pytest.approx(wanted[0]), pytest.approx(wanted[1]))


@pytest.mark.parametrize("network", NETWORKS)
def test_multiply_adds_are_what_torch_counts(network):
    entry = NETWORKS[network]
    backbone = {"name": entry["backbone"]}
    if isinstance(entry["backbone"], dict):
        backbone = dict(entry["backbone"])
    work = PRIOR.networks[network]
    channels = 1 if entry["mode"] == "gray" else 3
    with torch.device("meta"):
        built = registry.build(
            "networks/backbones",
            backbone.pop("name"),
            context={"input_channels": channels},
            **backbone,
        )
        images = torch.randn(2, channels, work.pixels, work.pixels)
    with FlopCounterMode(display=False) as counter:
        built(images)
    per_image = counter.get_total_flops() / 2 / len(images)
    assert work.multiply_adds == pytest.approx(per_image / 1e9, rel=5e-3)


def test_the_prior_by_hand():
    # ResNet-50: 3 * 2 * 4.087e9 operations at 0.4 * 19.5e12 a second are 3.14 ms.
    assert PRIOR.seconds_an_image("resnet50", 224) == pytest.approx(3.144e-3, rel=1e-3)
    assert PRIOR.seconds_an_image("resnet50", 448) == pytest.approx(4 * 3.144e-3, rel=1e-3)
    assert PRIOR.seconds_an_image("unheard_of", 224) is None


def test_targets_by_name_ask_for_their_runs(loaded):
    both = loaded("demo", "omniglot")
    asked = {
        target: {study: len(rows) for study, rows in costs.asked(both, [target]).items()}
        for target in (
            "all",
            "demo",
            "demo_tournament",
            "demo_figure_recall_at_k",
            "demo_figure_unseen_characters",
            "demo_table_nothing",
            "data_all",
        )
    }
    demo = len(both.rows("demo"))
    assert asked["all"] == {"demo": demo, "omniglot": len(both.rows("omniglot"))}
    assert asked["demo"] == {"demo": demo, "omniglot": 0}
    assert asked["demo_tournament"]["demo"] == demo
    assert asked["demo_figure_recall_at_k"]["demo"] == demo // 2
    assert asked["demo_figure_unseen_characters"]["demo"] == 2
    assert asked["demo_table_nothing"] == asked["data_all"] == {"demo": 0, "omniglot": 0}
    assert costs.summary(both, ["data_all"]) == []


def test_the_prior_is_named_before_anything_has_run(loaded):
    demo = loaded("demo")
    lines = costs.summary(demo, ["demo"])
    # What is only scored, the untrained network, is no training.
    runs = len([run for run in demo.runs("demo") if run.spec.epochs])
    assert lines[0].startswith(f"{runs} trainings asked for, 0 shared with other studies, 0 done")
    assert lines[1].startswith("what is left takes about a minute")
    assert "assumed before any has run: 40% of the peak of one NVIDIA A100" in lines[2]


def test_done_trainings_give_the_estimate_of_the_others(loaded, tmp_path):
    demo = loaded("demo")
    trained = [run for run in demo.runs("demo") if run.spec.epochs]
    untrained = [run for run in demo.runs("demo") if not run.spec.epochs]
    for run in trained[:4]:
        has_run(tmp_path, run, 3607)
        is_done(tmp_path, run)
    for run in untrained:
        has_run(tmp_path, run, 7)
    lines = costs.summary(demo, ["demo"])
    assert lines[0].endswith(", 4 done already")
    hours = (len(trained) - 4) * 3607 / 3600
    assert f"takes about {hours:.0f} hours" in lines[1]
    assert f"fitted on {4 + len(untrained)} trainings here: 7 s +" in lines[2]


def test_other_networks_and_specs_of_other_versions_do_not_count(loaded, tmp_path):
    demo, run = loaded("demo", "omniglot"), loaded("demo").runs("demo")[-1]
    has_run(tmp_path, demo.runs("omniglot")[-1], 10**6)
    has_run(tmp_path, run, 10**6)
    file = tmp_path / "runs" / run.folder / "spec.yaml"
    file.write_text(yaml.safe_dump(run.spec.as_dict() | {"forgotten": 1}))
    seconds, source = cost_model.CostModel(demo, tmp_path).seconds("convnet3", run.spec)
    assert source.startswith("assumed")
    assert seconds < 60


def test_runs_of_another_study_are_shared(loaded, monkeypatch):
    # Omniglot is asked for by one study alone; what another lists as well is shared.
    both = loaded("demo", "omniglot")
    listed = {study: both.rows(study) for study in both.studies}
    listed["omniglot"] = [*listed["omniglot"], *listed["demo"][-3:]]
    monkeypatch.setattr(both, "rows", lambda study, where=None: listed[study])
    assert ", 3 shared with other studies," in costs.summary(both, ["demo"])[0]
    assert ", 0 shared with other studies," in costs.summary(both, ["all"])[0]


def test_folds_that_are_scored_together_are_trained(loaded):
    examples = loaded("examples")
    asked = costs.asked(examples, ["examples_table_folds"])["examples"]
    assert {(row.method, row.fold) for row in asked} == {
        (method, fold) for method in ("contrastive", "multi_similarity") for fold in range(4)
    }


def test_a_tuned_row_needs_its_search(loaded):
    examples = loaded("examples")
    assert costs.asked_searches(examples, ["examples_table_tuned"]) == ["examples_contrastive"]
    assert costs.asked_searches(examples, ["examples_table_folds"]) == []


def test_a_rehearsal_counts_runs_and_is_estimated_from_those_that_ran(tmp_path):
    rehearsal = yaml.safe_load((CONFIG / "rehearsal.yaml").read_text())
    configuration = rehearsal | {"pathvars": {"results": str(tmp_path)}, "studies": ["demo"]}
    demo = plan.load(configuration, CONFIG)
    runs = [run for run in demo.runs("demo") if run.spec.epochs]
    lines = costs.summary(demo, ["demo"])
    assert lines[0].startswith(f"{len(runs)} trainings asked for")
    assert "nothing like it has run" in lines[-1]
    has_run(tmp_path, runs[0], 360)
    lines = costs.summary(demo, ["demo"])
    assert "fitted on 1 trainings here" in lines[-1]


def test_searches_cost_their_trials(loaded, tmp_path):
    thesis = loaded("psomas2020")
    asked_for = thesis.studies["psomas2020"].tables["16"].searches
    budgets = sum(thesis.searches[name].budget for name in asked_for)
    trainings, asked, total, tuned, trials = costs.summary(thesis, ["psomas2020_table_16"])
    assert trainings.startswith(f"{len(asked_for)} trainings asked for")
    assert asked == f"{len(asked_for)} searches asked for, 0 done"
    assert trials.startswith(f"  {len(asked_for)} searches, at most {budgets} trials: ")
    # CUB's 5,894 training images in each of 20 epochs, and as many tested at a third of the cost.
    an_image = PRIOR.seconds_an_image("bninception", 224)
    # The best values of each search are trained for 100 epochs.
    assert tuned.startswith(f"  bninception at 224 pixels, {len(asked_for)} trainings: ")
    epochs = 20 * budgets + 100 * len(asked_for)
    hours = epochs * 5_894 * (1 + 1 / 3) * an_image / 3600
    assert f"takes about {hours:.0f} hours" in total
    for name in asked_for[:-1]:
        folder = tmp_path / searches.folder(thesis, name)
        folder.mkdir(parents=True)
        (folder / "best.yaml").touch()
    last = asked_for[-1]
    lines = costs.summary(thesis, ["psomas2020_table_15"])
    assert lines[1].endswith(f"{len(asked_for) - 1} done")
    assert lines[-1].startswith(f"  1 searches, at most {thesis.searches[last].budget} trials")
    assert costs.asked_searches(thesis, ["psomas2020"]) == asked_for
    assert costs.summary(thesis, [f"search_{last}"])[1].startswith("1 searches asked for, 0 done")
