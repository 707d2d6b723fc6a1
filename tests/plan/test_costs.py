"""The cost of trainings: fits against NumPy, the prior against torch's count."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from dmlbench import plan
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.costs import costs, estimates
from dmlbench.plan.costs.estimates import Estimator, Prior
from dmlbench.plan.specs.searches import trial_specs

CONFIG = Path(__file__).resolve().parents[2] / "config"
PRIOR = read_yaml(CONFIG / "costs.yaml", Prior)


@pytest.fixture
def loaded(tmp_path):
    """The plan of studies, with its own results folder."""

    def load(*studies):
        configuration = {"pathvars": {"results": str(tmp_path)}, "studies": list(studies)}
        return plan.reload(configuration, CONFIG)

    return load


def has_run(folder, run, seconds):
    file = folder / "costs" / "train" / f"{run.folder}.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0:00:00\t-\n")
    spec = folder / "runs" / run.folder / "spec.yaml"
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text(yaml.safe_dump(run.spec.as_dict()))


def ahead(loaded, study, **others):
    """All trainings of a study, as if none had run."""
    return costs.Ahead({loaded.run(row): row for row in loaded.rows(study)}, **others)


def seconds_of(loaded, tmp_path, run, *, gpu=True):
    row = loaded.known[run.folder]
    return Estimator(loaded, tmp_path, gpu=gpu).training(row.network, run.spec)


def test_the_prior_is_named_before_anything_has_run(loaded):
    demo = loaded("demo")
    of_network, total = costs.lines(demo, ahead(demo, "demo"), gpu=True)
    # By hand: 20 trainings of 332 steps of 6 ms each; all 22 start, 16 seconds each.
    assert of_network.startswith("  convnet4_tiny at 28 pixels, 22 trainings: about 7 minutes")
    assert "assumed: 20,400 billion operations per second" in of_network
    assert total == (
        "22 trainings (2 of networks that stay untrained): about 7 minutes, one job after the other"
    )


def test_without_a_gpu_trainings_take_what_they_took_on_a_core(loaded):
    demo = loaded("demo")
    of_network, total = costs.lines(demo, ahead(demo, "demo"), gpu=False)
    # By hand: 20 trainings learn from 15 epochs of 2,000 images, and look five times at the
    # others, each a third as costly: 30,000 + 5 * 2,000 / 3 images. All 22 start.
    timing = PRIOR.cpu.networks["convnet4_tiny"].float32.image / 1000
    seconds = 22 * PRIOR.cpu.start + 20 * timing * (30_000 + 5 * 2_000 / 3)
    assert f"about {seconds / 60:.0f} minutes (as timed on a core of an AMD EPYC, if " in of_network
    assert "H200" not in of_network + total


@pytest.mark.parametrize(
    ("seconds", "time"),
    [
        (600, "about 10 minutes, one job after the other"),
        (108_000, "about 30 hours, one job after the other (about 2.0 hours elsewhere)"),
    ],
)
def test_what_is_unknown_comes_before_the_time_of_the_rest(seconds, time):
    parts = [
        costs.Cost("2 small trainings", seconds, "timed"),
        costs.Cost("9 large trainings", None, ""),
        costs.Cost("1 search", None, ""),
    ]
    assert costs.left(parts, "about 2.0 hours elsewhere") == (
        f"unknown here: 9 large trainings and 1 search; the rest: {time}"
    )


@pytest.mark.parametrize(("cores", "used"), [(1, 1), (2, 2), (64, 2)])
def test_where_no_core_was_timed_its_speed_is_assumed(loaded, tmp_path, monkeypatch, cores, used):
    monkeypatch.setattr(estimates, "usable_cores", lambda: cores)
    thesis = loaded("psomas2020")
    run = next(run for run in thesis.runs() if run.spec.network.backbone.name == "resnet50")
    here = seconds_of(thesis, tmp_path, run, gpu=False)
    # CUB's 5,894 images in each of 100 epochs, and as many tested at a third of the cost, with
    # three times the network's operations by hand.
    expected = 100 * 5_894 * (1 + 1 / 3) * 6 * 4.087e9 / (80e9 * used)
    assert here.seconds == pytest.approx(PRIOR.cpu.start + expected)
    assert here.source == (
        f"assumed: {80 * used} billion operations per second, if nothing else is running"
    )


def test_long_trainings_on_cpus_say_what_they_take_on_a_gpu(loaded):
    thesis = loaded("psomas2020")
    todo = ahead(thesis, "psomas2020")
    here, there = (costs.lines(thesis, todo, gpu=gpu)[-1] for gpu in (False, True))
    hours = there.partition(": ")[2].removesuffix(", one job after the other")
    assert hours.startswith("about ")
    assert here.endswith(f"one job after the other ({hours} of trainings on one NVIDIA H200)")


def test_searches_of_an_unknown_network_do_not_hide_the_others(loaded, monkeypatch):
    thesis = loaded("psomas2020")
    of = {search.run.network: name for name, search in thesis.searches.items()}
    names = [of["bninception"], of["convnet4_small"]]
    known = dict(PRIOR.networks)
    del known["bninception"]
    gpu = PRIOR.gpu.model_copy(update={"networks": {}})
    prior = PRIOR.model_copy(update={"networks": known, "gpu": gpu})
    monkeypatch.setattr(estimates, "read_yaml", lambda *_: prior)
    total = costs.lines(thesis, costs.Ahead(searches=names), gpu=True)[-1]
    budget = thesis.searches[names[0]].budget
    unknown = f"bninception, 1 search, at most {budget} trials"
    assert total.startswith(f"2 searches: unknown here: {unknown}; the rest: about ")


def test_an_untrained_run_says_nothing_about_trainings(loaded, tmp_path):
    demo = loaded("demo")
    trained = next(run for run in demo.runs("demo") if run.spec.epochs)
    before = seconds_of(demo, tmp_path, trained)
    has_run(tmp_path, next(run for run in demo.runs("demo") if not run.spec.epochs), 7)
    assert seconds_of(demo, tmp_path, trained) == before
    has_run(tmp_path, trained, 100)
    assert seconds_of(demo, tmp_path, trained).seconds == pytest.approx(100)


def test_a_network_that_is_not_in_the_catalogue_is_unknown_here(loaded, tmp_path):
    demo = loaded("demo")
    run = next(run for run in demo.runs("demo") if run.spec.epochs)
    model = Estimator(demo, tmp_path, gpu=False)
    unknown = model.training("unheard_of", run.spec)
    assert unknown.seconds is None
    assert unknown.source == "nothing like it has run here"


def test_done_trainings_give_the_estimate_of_the_others(loaded, tmp_path):
    demo = loaded("demo")
    trained = [run for run in demo.runs("demo") if run.spec.epochs]
    untrained = [run for run in demo.runs("demo") if not run.spec.epochs]
    for run in trained[:4]:
        has_run(tmp_path, run, 3607)
    for run in untrained:
        has_run(tmp_path, run, 7)
    left = {run: demo.known[run.folder] for run in trained[4:]}
    for gpu in (True, False):
        of_network, total = costs.lines(demo, costs.Ahead(left), gpu=gpu)
        hours = len(left) * 3607 / 3600
        start = PRIOR.gpu.start if gpu else PRIOR.cpu.start
        assert f"about {hours:.0f} hours (fitted on 4 trainings here: {start:.0f} s +" in of_network
        assert total == f"16 trainings: about {hours:.0f} hours, one job after the other"


def test_a_loss_profits_from_trainings_of_heads_with_more_or_fewer_centers(loaded, tmp_path):
    drawings = loaded("psomas2020_drawings")
    heads = {run.spec.loss.name: run for run in drawings.runs() if run.spec.epochs}

    def estimates():
        found = {}
        for name in ("contrastive", "proxy_nca", "soft_triple"):
            found[name] = seconds_of(drawings, tmp_path, heads[name], gpu=False).seconds
        return found

    start = PRIOR.cpu.start
    expected = {name: start + 3 * (took - start) for name, took in estimates().items()}
    # Three times as slow as expected: so are those that have not run.
    for name in ("contrastive", "soft_triple"):
        has_run(tmp_path, heads[name], expected[name])
        assert estimates() == pytest.approx(expected)
    file = tmp_path / "costs" / "train" / f"{heads['contrastive'].folder}.tsv"
    file.unlink()
    assert estimates() == pytest.approx(expected)


def test_images_of_a_folder_are_counted_before_and_after_it_is_indexed(configured, tmp_path):
    results = tmp_path / "results"
    for label in range(8):
        (tmp_path / "pictures" / str(label)).mkdir(parents=True)
        (tmp_path / "pictures" / str(label) / "0.png").touch()
    own = {"title": "Own", "splits": {"half": "half"}, "metrics": ["recall_at_1"]}
    own["folder"] = str(tmp_path / "pictures")
    configured.change("datasets", ["own"], own)
    configured.grid(dataset="own")
    plan_of_own = configured.load(pathvars={"results": str(results)})
    spec = next(run.spec for run in plan_of_own.runs() if run.spec.loss)

    def estimate():
        return Estimator(plan_of_own, results, gpu=False).training("convnet3", spec)

    before = estimate()
    assert before.seconds == pytest.approx(PRIOR.cpu.start, rel=0.01)
    assert before.source.endswith("EPYC, if nothing else is running")
    index = results / "data" / plan_of_own.data("own").folder / "images.parquet"
    index.parent.mkdir(parents=True)
    index.write_bytes(b"damaged")
    assert estimate() == before
    pq.write_table(pa.table({"image_id": range(400)}), index)
    few = estimate().seconds
    pq.write_table(pa.table({"image_id": range(4000)}), index)
    assert 0 < few < estimate().seconds


def test_other_networks_and_specs_of_other_versions_do_not_count(loaded, tmp_path):
    both = loaded("demo", "omniglot")
    run = both.runs("demo")[-1]
    has_run(tmp_path, both.runs("omniglot")[-1], 10**6)
    has_run(tmp_path, run, 10**6)
    file = tmp_path / "runs" / run.folder / "spec.yaml"
    file.write_text(yaml.safe_dump(run.spec.as_dict() | {"forgotten": 1}))
    estimate = seconds_of(both, tmp_path, run)
    assert estimate.source.startswith("assumed")
    assert estimate.seconds < 60


def test_a_rehearsal_is_estimated_from_what_ran(tmp_path):
    rehearsal = yaml.safe_load((CONFIG / "rehearsal.yaml").read_text())
    configuration = rehearsal | {"pathvars": {"results": str(tmp_path)}, "studies": ["demo"]}
    demo = plan.reload(configuration, CONFIG)
    todo = ahead(demo, "demo")
    assert costs.lines(demo, todo, gpu=False)[-1].endswith("unknown here")
    has_run(tmp_path, next(run for run in todo.trainings if run.spec.epochs), 360)
    assert "fitted on 1 trainings here" in costs.lines(demo, todo, gpu=False)[0]


def test_searches_cost_their_trials(loaded):
    thesis = loaded("psomas2020")
    names = thesis.studies["psomas2020"].tables["16"].searches
    budgets = sum(thesis.searches[name].budget for name in names)
    trials, total = costs.lines(thesis, costs.Ahead(searches=names), gpu=True)
    assert trials.startswith(f"  bninception, {len(names)} searches, at most {budgets:,} trials: ")
    # CUB's 5,894 training images in each of 20 epochs, and as many tested at a third of the cost.
    time = PRIOR.gpu.networks["bninception"].float32
    batch = trial_specs(thesis, names[0])[0].batch_size
    an_image = (time.step / batch + time.image) / 1000
    # A trial takes the start of its worker along only where it is the worker's first.
    starts = sum(thesis.searches[name].workers for name in names) * PRIOR.gpu.start
    hours = (20 * budgets * 5_894 * (1 + 1 / 3) * an_image + starts) / 3600
    assert total == f"{len(names)} searches: about {hours:.0f} hours, one job after the other"
    model = Estimator(thesis, Path(thesis.configuration.pathvars.results), gpu=True)
    seconds = sum(model.search(name).seconds for name in names)
    assert seconds == pytest.approx(3600 * hours, rel=0.02)


def test_a_worker_of_a_search_starts_once(loaded):
    birds = loaded("psomas2020_birds")
    name = "heads_cub200_160_contrastive_128_folds_half"
    assert (birds.searches[name].workers, birds.searches[name].budget) == (1, 12)
    model = Estimator(birds, Path(birds.configuration.pathvars.results), gpu=False)
    # Two trainings a trial: 1,000 batches of 128, and 5,894 embedded at a third of the cost.
    images = 128_000 + 5_894 / 3
    head = PRIOR.cpu.head
    steps = 24 * images * (head.image + head.dimension * 128) / 1000
    assert model.search(name).seconds == pytest.approx(PRIOR.cpu.start + steps)


def test_downloads_are_said_in_bytes(loaded):
    demo = loaded("demo")
    both = costs.Ahead(downloads=[9_464_212, 6_462_886])
    assert costs.lines(demo, both, gpu=False) == [
        "  2 downloads: 16 MB",
        "16 MB to download: a matter of the network",
    ]
    large = costs.Ahead(downloads=[1_150_585_339, None, None])
    assert costs.lines(demo, large, gpu=False)[0] == (
        "  3 downloads: 1.2 GB and 2 files of unknown size"
    )


def test_other_jobs_take_what_they_took(loaded, tmp_path):
    demo = loaded("demo")
    todo = costs.Ahead(others={"evaluate": 20, "table": 2, "report": 1})
    (jobs, total) = costs.lines(demo, todo, gpu=False)
    assert jobs == "  23 other jobs: unknown here: none of them has run here"
    assert total == "23 other jobs: unknown here"
    for number, seconds in enumerate((20, 40)):
        file = tmp_path / "costs" / "evaluate" / f"{number}.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"s\th:m:s\n{seconds}\t0:00:00\n")
    (tmp_path / "costs" / "report.tsv").write_text("s\th:m:s\n60\t0:01:00\n")
    (jobs, _) = costs.lines(demo, todo, gpu=False)
    assert jobs == "  23 other jobs: about 11 minutes (as timed here, without table)"


def test_nothing_left_costs_nothing(loaded):
    assert costs.lines(loaded("demo"), costs.Ahead(), gpu=False) == []
