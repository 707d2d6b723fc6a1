"""The whole workflow at toy size, in a folder of its own."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from dmlbench.plan.costs.progress import Progress, of_study
from project import REPOSITORY, Project, dmlbench

pytestmark = pytest.mark.workflow

STUDY = {
    "title": "A toy study",
    "question": "Does it run?",
    "description": "Three losses on toy data.",
    "audit": "psomas2020",
    "runs": [
        {
            "dataset": "glyphs",
            "network": "convnet3",
            "embedding_dim": [4, 8],
            "method": ["untrained", "contrastive", "proxy_anchor"],
            "recipe": "glyphs",
            "split": "half",
            "seed": 0,
        }
    ],
    "tournament": {},
    "tables": {
        "recall": {
            "title": "Recall of a toy",
            "kind": {"name": "scores_by_method", "metrics": ["recall_at_1", "recall_at_2"]},
        },
        "small": {
            "title": "One size",
            "kind": {"name": "scores_by_method", "metrics": ["recall_at_1"]},
            "where": {"embedding_dim": 4, "method": ["untrained", "contrastive"]},
        },
    },
    "figures": {
        "sizes": {"title": "Recall by size", "kind": "recall_by_embedding_dim"},
    },
    "embedding_maps": {
        "toy": {
            "title": "A map",
            "where": {"method": ["untrained", "proxy_anchor"], "embedding_dim": 4},
        },
    },
}

MARGIN = "contrastive: {loss: {margin: 0.5}}"
"""In the recipe of the study's runs."""


class Workflow(Project):
    """A copy of the project with one study, `toy`, on rehearsal data."""

    def __init__(self, folder):
        super().__init__(folder)
        self.study = folder / "config" / "studies" / "toy.yaml"
        self.study.write_text(yaml.safe_dump(STUDY))
        config = folder / "config" / "config.yaml"
        rehearsal = yaml.safe_load((folder / "config" / "rehearsal.yaml").read_text())
        values = yaml.safe_load(config.read_text()) | rehearsal
        config.write_text(yaml.safe_dump(values | {"studies": ["toy"]}))


def bytes_of(folder):
    """Name -> content, of the files below a folder that are results."""
    aside = {".checked", ".claimed", ".rendered", "plan.json", "provenance.jsonl"}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in aside and "logs" not in path.parts
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A workflow that has run its study."""
    workflow = Workflow(tmp_path_factory.mktemp("workflow"))
    workflow.snakemake("toy")
    return workflow


def test_every_declared_file_is_there_and_none_is_empty(finished):
    folder = finished.results / "studies" / "toy"
    files = (
        path for path in folder.rglob("*") if path.is_file() and path.name != "provenance.jsonl"
    )
    names = {path.relative_to(folder).as_posix() for path in files}
    tables = {f"tables/{t}.{f}" for t in ("recall", "small") for f in ("csv", "md", "tex", "html")}
    figures = {f"figures/{f}.{e}" for f in ("sizes", "map_toy") for e in ("pdf", "svg", "png")}
    own = {"scores.parquet", "classes.parquet", "runs.csv", "timings.csv"}
    own |= {"tournament.csv", "tournament.parquet", "runs.html", "study.tex"}
    pictures = {name for name in names if name.startswith("neighbors/")}
    assert names - pictures == own | tables | figures
    pictures.discard("neighbors/.snakemake_timestamp")
    runs = pd.read_csv(folder / "runs.csv")["run"].unique()
    sheets = {f"neighbors/{run.rpartition('-')[2]}.webp" for run in runs}
    assert pictures == sheets | {"neighbors/neighbors.parquet"}
    assert all((folder / name).stat().st_size for name in pictures | own | tables | figures)
    assert not list(finished.folder.rglob("*.unfinished"))


def test_progress_knows_the_outputs_and_logs_of_all_jobs(finished):
    with contextlib.chdir(finished.folder):
        loaded = finished.plan()
        progress = Progress(finished.results, of_study(loaded, "toy"))
    assert progress.missing == []
    assert {stage.rule for stage in progress.stages} > {"draw", "pack", "train", "table"}
    for stage in progress.stages:
        assert (finished.results / stage.output).exists(), stage
        assert (finished.results / stage.log).exists(), stage
    assert "toy: done, 3 of 3 runs scored" in finished.snakemake("status")
    assert "toy_table_recall " in finished.snakemake("toy_status")


def test_scores_are_complete(finished):
    scores = pd.read_parquet(finished.results / "studies" / "toy" / "scores.parquet")
    row = "run dataset network embedding_dim method recipe variant split fold seed"
    assert " ".join(scores.columns) == f"{row} role selection metric value"
    assert {"recall_at_1", "r_precision", "map_at_r"} < set(scores["metric"])
    assert len(scores) == 6 * 2 * scores["metric"].nunique()
    assert scores["value"].between(0, 1).all()
    assert set(scores["selection"]) == {"best_test_epoch", "last_epoch"}


def test_the_table_shows_the_scores(finished):
    folder = finished.results / "studies" / "toy"
    table = pd.read_csv(folder / "tables" / "recall.csv")
    scores = pd.read_parquet(folder / "scores.parquet")
    mine = scores[(scores.metric == "recall_at_1") & (scores.selection == "best_test_epoch")]
    expected = mine[mine.embedding_dim == 8].set_index("method")["value"]
    shown = dict(zip(table["Loss"], table["d8_recall_at_1"], strict=True))
    assert len(shown) == 3
    for method, title in (("contrastive", "Contrastive"), ("untrained", "Untrained")):
        (value,) = (value for name, value in shown.items() if name.startswith(title))
        assert value == pytest.approx(100 * expected[method], abs=0.0051)


def test_the_tournament_ranks_what_trains(finished):
    board = pd.read_csv(finished.results / "studies" / "toy" / "tournament.csv")
    columns = ["rehearsal", "method", "total_rank", "average_rank", "rank_std"]
    assert list(board.columns[:5]) == columns
    assert set(board["method"]) == {"contrastive", "proxy_anchor"}
    assert board["total_rank"].sum() == 2 * 3


def test_embeddings_and_runs_name_no_study(finished):
    runs = sorted((finished.results / "runs").rglob("embeddings.parquet"))
    # Both embedding sizes use the same toy network, which is trained once.
    assert len(runs) == 3
    assert not any("toy" in path.relative_to(finished.results).as_posix() for path in runs)
    assert {b"spec", b"model", b"split"} <= set(pq.read_schema(runs[0]).metadata)
    assert not list(finished.results.rglob("checkpoint-*"))


def test_the_report_shows_the_study_and_the_printed_error(finished):
    page = (finished.results / "report.html").read_text()
    for text in ("A toy study", "Recall of a toy", "Recall by size", "A map", "8.85", "8.58"):
        assert text in page


def test_the_terminal_says_what_was_found(finished):
    done = dmlbench(finished.folder, "run", "toy")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0].endswith("snakemake --cores all toy")
    for text in ("A toy study", "Contrastive", "ProxyAnchor", "report.html", "dmlbench run"):
        assert text in done.stdout
    wrong = dmlbench(finished.folder, "run", "toi")
    assert "did you mean 'toy'" in wrong.stderr
    assert wrong.returncode == 1
    assert "Traceback" not in wrong.stderr


def test_nothing_is_left_to_do(finished):
    assert finished.planned("toy") == {}
    assert finished.planned() == {}


def test_a_dry_run_ends_with_the_cost_of_the_jobs_that_it_counts(finished):
    def printed(*arguments):
        lines = finished.snakemake(*arguments).splitlines()
        return [line for line in lines if line.startswith("dmlbench: ")]

    assert printed("--dry-run", "toy") == printed("--dry-run") == printed("toy") == []
    scored = [file.parent for file in (finished.results / "runs").rglob("scores.parquet")]
    # As many as in the table of jobs, whatever exists, for any target.
    for again in ("--forceall",), ("--forcerun", "train"):
        of_network, _, total = printed("--dry-run", *again, "toy", "toy_table_recall")
        assert finished.planned(*again, "toy")["train"] == len(scored)
        assert total.startswith(f"dmlbench: {len(scored)} trainings (1 of networks that stay")
        # The untrained one says nothing about the cost of training.
        assert f"fitted on {len(scored) - 1} trainings here" in of_network
    whole = printed("--dry-run", "--forceall", "toy_tournament")
    assert whole[-1].startswith(f"dmlbench: {len(scored)} trainings")
    model = next(file for file in (finished.results / "runs").rglob("model.safetensors"))
    one = printed("--dry-run", "--force", str(model.relative_to(finished.folder)))
    assert one[-1].startswith("dmlbench: 1 training")


def test_a_caption_never_trains_again(finished):
    text = finished.study.read_text()
    finished.study.write_text(text.replace("Recall of a toy", "Recall, renamed"))
    assert finished.planned("toy") == {"table": 1, "document": 1, "report": 1, "toy": 1}
    finished.study.write_text(text)


def test_a_metric_is_scored_again_and_not_trained(finished):
    path = finished.folder / "config" / "datasets.yaml"
    text = path.read_text()
    path.write_text(text.replace("recall_at_8, ", "recall_at_9, "))
    planned = finished.planned("toy")
    assert planned["evaluate"] == 3
    assert "train" not in planned
    assert "embed" not in planned
    path.write_text(text)


def test_an_edit_trains_elsewhere_and_its_undoing_finds_what_was_there(finished):
    old = f"{finished.run('toy', 'contrastive')}/scores.parquet"
    before = bytes_of(finished.results / "runs")
    with finished.edited("config/recipes.yaml", MARGIN, MARGIN.replace("0.5", "0.4")):
        new = f"{finished.run('toy', 'contrastive')}/scores.parquet"
        planned = finished.planned("toy")
        assert (planned["train"], planned["evaluate"]) == (1, 1)
        finished.snakemake(new)
        assert finished.planned(new) == {}
    assert finished.planned(old) == {}
    assert finished.planned("toy") == {}
    after = bytes_of(finished.results / "runs")
    assert before.items() < after.items()
    spec = yaml.safe_load((finished.folder / new).with_name("spec.yaml").read_text())
    assert spec["loss"]["margin"] == 0.4


def test_a_bad_value_fails_before_any_job_and_removes_nothing(finished):
    before = bytes_of(finished.results)
    with finished.edited("config/recipes.yaml", MARGIN, MARGIN.replace("0.5", "big")):
        output = finished.snakemake("toy", check=False)
    (line,) = (line for line in output.splitlines() if line.startswith("dmlbench:"))
    assert "recipes.yaml: glyphs" in line
    assert "margin" in line
    assert "'big'" in line
    assert "Traceback" not in output
    assert bytes_of(finished.results) == before
    assert finished.planned("toy") == {}


def test_data_made_again_train_nothing(finished):
    data = finished.data()
    before = bytes_of(finished.folder / data)
    shutil.rmtree(finished.results / "data")
    assert finished.planned("toy") == {}
    finished.snakemake(*(f"{data}/{name}" for name in before))
    assert bytes_of(finished.folder / data) == before
    assert finished.planned("toy") == {}


def test_studies_that_list_equal_specs_train_once(finished):
    """Whatever names the studies give the runs, and whatever else they list."""
    grid = STUDY["runs"][0] | {"method": ["contrastive", "triplet"], "variant": ["base", "same"]}
    change = {"where": {"method": "contrastive"}, "set": {"loss": {"margin": 0.5}}}
    variants = {"same": {"overrides": [change]}}
    views = {"tournament": None, "tables": {}, "figures": {}, "embedding_maps": {}}
    second = STUDY | {"runs": [grid], "variants": variants} | views
    (finished.folder / "config" / "studies" / "second.yaml").write_text(yaml.safe_dump(second))
    with finished.edited("config/config.yaml", "- toy", "- toy\n- second"):
        assert finished.planned("second")["train"] == 1
        assert "train" not in finished.planned("toy")


def test_a_page_shows_other_studies_once_they_are_finished_and_never_makes_them(finished):
    grid = STUDY["runs"][0] | {"method": ["untrained", "contrastive"]}
    other = STUDY | {"title": "Another study", "runs": [grid], "figures": {}, "embedding_maps": {}}
    (finished.folder / "config" / "studies" / "other.yaml").write_text(yaml.safe_dump(other))
    with finished.edited("config/config.yaml", "- toy", "- toy\n- other"):
        finished.snakemake("other_table_recall")
        assert finished.planned("toy") == {}
        finished.snakemake("other")
        assert finished.planned("toy") == {"report": 1, "toy": 1}
        finished.snakemake("toy")
        assert finished.planned("toy") == {}
        assert "Another study" in (finished.results / "report.html").read_text()
        with finished.edited("config/studies/other.yaml", "Recall of a toy", "Recall, renamed"):
            assert set(finished.planned("toy")) == {"report", "toy"}
    finished.snakemake("toy")
    assert "Another study" not in (finished.results / "report.html").read_text()


def test_a_training_is_put_back_and_a_damaged_one_is_made_again(finished):
    run = finished.folder / finished.run("toy", "contrastive")
    names = ("spec.yaml", "model.safetensors", "last.safetensors", "history.parquet")
    model = str((run / "model.safetensors").relative_to(finished.folder))
    path = run.relative_to(finished.results / "runs")
    log = finished.results / "logs" / "train" / path.parent / f"{path.name}.log"
    before = {name: (run / name).read_bytes() for name in names}
    for damaged in (False, True):
        for name in names:
            (run / name).unlink()
        if damaged:
            (run / ".kept" / "last.safetensors").write_bytes(b"a crash")
        finished.snakemake(model)
        assert ("kept from an earlier call" in log.read_text()) != damaged
        assert {name: (run / name).read_bytes() for name in names} == before


def test_edited_library_code_is_noticed_and_a_comment_is_not(finished):
    path = finished.folder / "workflow" / "scripts" / "dmlbench" / "statistics" / "tournament.py"
    text = path.read_text()
    path.write_text(text + "# a comment\n")
    assert finished.planned("toy") == {}
    path.write_text(text + "CHANGED = True\n")
    assert "tournament" in finished.planned("toy")
    path.write_text(text)


def test_an_option_that_a_loss_gets_later_trains_nothing_again(finished):
    loss, declared = "workflow/scripts/dmlbench/losses/contrastive.py", "margin: float = 0.5"
    imports = "from torch import Tensor\n"
    known = f"from typing import Annotated\n\n{imports}\nfrom dmlbench.values import Added\n"
    added = f"{declared}\n    weight: Annotated[float, Added()] = 1.0"
    with finished.edited(loss, imports, known), finished.edited(loss, declared, added):
        assert finished.planned("toy") == {}
        with finished.edited(
            "config/recipes.yaml", MARGIN, MARGIN.replace("0.5", "0.5, weight: 2")
        ):
            assert finished.planned("toy")["train"] == 1
    with finished.edited(loss, declared, f"{declared}\n    weight: float = 1.0"):
        assert finished.planned("toy")["train"] == 1


def test_an_edit_of_another_network_embeds_nothing_again(finished):
    networks = "workflow/scripts/dmlbench/networks/backbones"
    with finished.edited(
        f"{networks}/resnet50.py", "\n\n\nclass ", "\n\nCHANGED = True\n\n\nclass "
    ):
        assert finished.planned("toy") == {}
    with finished.edited(
        f"{networks}/convnet.py", "\n\n\nclass ", "\n\nCHANGED = True\n\n\nclass "
    ):
        assert finished.planned("toy")["embed"] == 3


def test_one_table_plans_only_what_it_needs(finished):
    assert finished.planned("toy_table_small", "--forceall")["evaluate"] == 2
    # Both embedding sizes are the same toy network.
    assert finished.planned("toy_table_recall", "--forceall")["train"] == 3
    assert finished.planned("toy_table_recall", "--forceall")["evaluate"] == 3


def test_bad_configuration_is_one_line_before_any_job(finished):
    text = finished.study.read_text()
    finished.study.write_text(text.replace("contrastive", "contrastiv"))
    output = finished.snakemake("--dry-run", "toy", check=False)
    finished.study.write_text(text)
    (line,) = (line for line in output.splitlines() if line.startswith("dmlbench:"))
    assert "toy.yaml: runs.0.method" in line
    assert "'contrastive'" in line
    assert "Job stats" not in output
    assert "Traceback" not in output


def test_a_broken_archive_is_one_line_and_leaves_nothing(tmp_path):
    workflow = Workflow(tmp_path)
    data = Path(workflow.data())
    drawn = data.parent / "drawn" / f"{data.name}.zip"
    workflow.snakemake(str(drawn))
    archive = workflow.folder / drawn
    archive.write_bytes(archive.read_bytes()[:2000])
    output = workflow.snakemake(f"{data}/images.parquet", check=False)
    (line,) = (line for line in output.splitlines() if line.startswith("dmlbench index:"))
    assert archive.name in line
    assert not (workflow.folder / data / "images.parquet").exists()


def test_a_new_loss_is_one_file_and_appears_in_the_table(finished):
    """A loss of the user's, written by the command into a folder that git ignores."""
    made = dmlbench(finished.folder, "add-loss", "throw_away")
    assert made.returncode == 0, made.stderr
    own = finished.folder / "own" / "throw_away"
    methods = yaml.safe_load((own / "methods.yaml").read_text())
    # With a smaller margin the toy's positive pairs, which are all similar, have no loss.
    methods["throw_away"] |= {"year": 2026, "loss": {"name": "throw_away", "margin": 1}}
    (own / "methods.yaml").write_text(yaml.safe_dump(methods))
    ignored = ["git", "-C", str(REPOSITORY), "check-ignore", "own/throw_away/losses/throw_away.py"]
    assert subprocess.run(ignored, check=True, stdout=subprocess.PIPE).stdout
    study = yaml.safe_load(finished.study.read_text())
    study["runs"][0]["method"].append("throw_away")
    finished.study.write_text(yaml.safe_dump(study))
    planned = finished.planned("toy_table_recall")
    assert (planned["train"], planned["evaluate"]) == (1, 1)
    finished.snakemake("toy_table_recall", "toy_tournament")
    folder = finished.results / "studies" / "toy"
    assert "ThrowAway (2026)" in (folder / "tables" / "recall.md").read_text()
    assert "throw_away" in (folder / "tournament.csv").read_text()
