"""Data sets through Snakemake: the catalogue, files without an address, a user's pictures."""

import re
import shutil
from importlib.metadata import version

import pandas
import pytest
import yaml
from dmlbench.data.generate import generate
from dmlbench.data.pixels import Pixels
from dmlbench.files import digest
from icon_sets import three_sets
from test_workflow import Workflow

pytestmark = pytest.mark.workflow

FOUR_LINES = """
my_flowers:
  title: My flowers
  folder: {folder}
  splits: {{half: half}}
  metrics: [recall_at_1, r_precision, map_at_r]
"""

MINE = {
    "title": "My pictures",
    "question": "Which loss?",
    "description": "One training of seconds.",
    "variants": {
        "short": {
            "set": {
                "epochs": 1,
                "batch_size": 8,
                "sampler": {"name": "class_balanced", "images_per_class": 2},
            }
        }
    },
    "runs": [
        {
            "dataset": "my_flowers",
            "network": "convnet3",
            "embedding_dim": 4,
            "method": "contrastive",
            "recipe": "glyphs",
            "variant": "short",
            "split": "half",
            "seed": 0,
        }
    ],
}


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """The project with its real data sets, not those of a rehearsal."""
    workflow = Workflow(tmp_path_factory.mktemp("workflow"))
    path = workflow.folder / "config" / "config.yaml"
    values = yaml.safe_load(path.read_text())
    del values["rehearsal"]
    path.write_text(yaml.safe_dump(values))
    return workflow


@pytest.fixture
def catalogue(workflow):
    """The catalogue of data sets, which is restored afterwards."""
    path = workflow.folder / "config" / "datasets.yaml"
    text = path.read_text()
    yield path
    path.write_text(text)


@pytest.fixture(scope="module")
def pictures(workflow):
    """A folder of class folders, and a zip of it next to it."""
    folder = workflow.folder / "my pictures"
    generate("glyphs", folder.with_suffix(".zip"), characters=20, images_per_character=2, size=16)
    shutil.unpack_archive(folder.with_suffix(".zip"), folder)
    return folder


def said(output):
    return [line for line in output.splitlines() if line.startswith("dmlbench")]


def test_data_all_prepares_every_data_set_of_the_catalogue(workflow, catalogue):
    datasets = yaml.safe_load(catalogue.read_text())
    assert {"cub200", "cars196", "sop", "inshop", "fgvc_aircraft", "omniglot", "grocery81"} < set(
        datasets
    )
    planned = workflow.planned("data_all", "--forceall")
    assert planned["index"] == len(datasets)
    assert planned["download"] == sum(len(one.get("archives", [])) for one in datasets.values())


def test_four_lines_make_a_data_set(workflow, catalogue, pictures):
    catalogue.write_text(catalogue.read_text() + FOUR_LINES.format(folder=pictures))
    data = workflow.data("my_flowers")
    split = f"{data}/splits/half.parquet"
    workflow.snakemake(f"{data}/pixels-16-rgb.npy", split)
    index = pandas.read_parquet(workflow.folder / data / "images.parquet")
    assert sorted(index["member"]) == sorted(
        path.relative_to(pictures).as_posix() for path in pictures.rglob("*.png")
    )
    assert index["class_name"].nunique() == len([p for p in pictures.rglob("*") if p.is_dir()])
    roles = pandas.read_parquet(workflow.folder / split).merge(index, on="image_id")
    assert roles.groupby("role")["label"].nunique().to_dict() == {"train": 10, "test": 10}
    pixels = [workflow.folder / data / f"pixels-16-rgb.{kind}" for kind in ("npy", "parquet")]
    assert len(Pixels(*pixels)) == len(index)
    # The counts of an index are checked when it is made; a change does not make it again.
    with workflow.edited(
        "config/datasets.yaml", "\n  title: My flowers", "\n  title: Mine\n  images: 39"
    ):
        assert workflow.data("my_flowers") == data
        assert workflow.planned(f"{data}/images.parquet", split) == {}


def test_a_generator_draws_from_what_was_downloaded(workflow, catalogue, tmp_path):
    toys = {
        "title": "Toys",
        "archives": {
            file.name: {"urls": [file.as_uri()], "sha256": digest(file)}
            for file in three_sets(tmp_path)
        },
        "generator": {"name": "drawings", "renderer": version("resvg-py"), "designers": 3},
        "layout": "drawings",
        "images": 6,
        "classes": 2,
        "splits": {"half": "half"},
        "metrics": ["recall_at_1"],
    }
    catalogue.write_text(catalogue.read_text() + yaml.safe_dump({"toys": toys}))
    large = workflow.data("toys")
    workflow.snakemake(f"{large}/images.parquet")
    index = pandas.read_parquet(workflow.folder / large / "images.parquet")
    assert index["designer"].tolist() == ["one", "three-v1", "two"] * 2
    named = "designers: 3\n    name: drawings"
    with workflow.edited("config/datasets.yaml", named, f"{named}\n    size: 16"):
        small = workflow.data("toys")
        assert workflow.planned(f"{small}/images.parquet") == {"draw": 1, "index": 1}
    # Another file is other data, whatever is drawn from it.
    sha256 = toys["archives"]["one-1.0.0.json"]["sha256"]
    with workflow.edited("config/datasets.yaml", sha256, "f" * 64):
        assert workflow.data("toys") not in (large, small)


def test_a_new_picture_trains_elsewhere_and_its_removal_finds_what_was_there(
    workflow, catalogue, pictures
):
    catalogue.write_text(catalogue.read_text() + FOUR_LINES.format(folder=pictures))
    (workflow.folder / "config" / "studies" / "mine.yaml").write_text(yaml.safe_dump(MINE))
    with workflow.edited("config/config.yaml", "- toy", "- mine"):
        old = f"{workflow.run('mine', 'contrastive')}/scores.parquet"
        workflow.snakemake(old)
        added = next(pictures.rglob("*.png")).with_name("added.png")
        shutil.copy(next(pictures.rglob("*.png")), added)
        try:
            new = f"{workflow.run('mine', 'contrastive')}/scores.parquet"
            planned = workflow.planned(new)
            assert {planned[rule] for rule in ("index", "split", "pack", "train")} == {1}
            assert not (workflow.folder / new).exists()
        finally:
            added.unlink()
        assert workflow.planned(f"{workflow.run('mine', 'contrastive')}/scores.parquet") == {}
        assert workflow.run("mine", "contrastive") in old


def test_what_is_available_on_request_says_so_and_the_rest_continues(workflow, catalogue, pictures):
    catalogue.write_text(catalogue.read_text() + FOUR_LINES.format(folder=pictures))
    indices = [f"{workflow.data(name)}/images.parquet" for name in ("inshop", "my_flowers")]
    (workflow.folder / indices[1]).unlink(missing_ok=True)
    output = workflow.snakemake("--keep-going", *indices, check=False)
    *lines, last = said(output)
    assert "what is finished is kept" in last
    assert 1 <= len(lines) <= 2
    for line in lines:
        assert re.search(r"(img\.zip|partition\.txt): no source works: none is known\.", line)
        assert re.search(r"Put the file \((Img|Eval)/.*, given out .*\) into a folder", line)
        assert "name that folder in DMLBENCH_MIRROR or under data.mirrors" in line
    assert "Traceback" not in output
    assert (workflow.folder / indices[1]).exists()


def test_a_new_address_is_no_reason_to_fetch_again(workflow, catalogue, pictures):
    archive = {"urls": [pictures.with_suffix(".zip").as_uri()]}
    entry = yaml.safe_load(FOUR_LINES.format(folder=pictures))["my_flowers"]
    del entry["folder"]
    text = catalogue.read_text()

    def publish(**changes):
        archives = {"pictures.zip": archive | changes}
        catalogue.write_text(text + yaml.safe_dump({"fetched": entry | {"archives": archives}}))

    publish()
    index = f"{workflow.data('fetched')}/images.parquet"
    workflow.snakemake(index)
    publish(urls=["https://example.org/pictures.zip", *archive["urls"]], note="ask us")
    assert workflow.planned(index) == {}
    publish(sha256="0" * 64)
    assert "download" in workflow.planned(f"{workflow.data('fetched')}/images.parquet")
