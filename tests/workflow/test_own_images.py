"""The README's "your own images" with generated pictures: from a folder to a report."""

import html
import os
import re
import shutil

import pandas as pd
import pytest
from dmlbench.data.generate import generate
from project import Project, dmlbench

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project next to a folder of class folders."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.results = project.folder / "results"
    drawn = project.folder / "drawn.zip"
    generate("glyphs", drawn, characters=16, images_per_character=6, size=16)
    shutil.unpack_archive(drawn, project.folder / PICTURES)
    for odd, folder in zip(CLASSES, sorted((project.folder / PICTURES).iterdir()), strict=False):
        folder.rename(folder.with_name(odd))
    shutil.unpack_archive(drawn, project.folder / "sorted" / "train")
    shutil.unpack_archive(drawn, project.folder / "sorted" / "test")
    return project


PICTURES = "mine & 'ü': 100% #1."
CLASSES = ("-dash", "dot.", 'a: \\ {x} $HOME `date` "q" <b> *?', "x" * 200, "Ümläut 日本")


def new_study(project, *arguments):
    return dmlbench(project.folder, "new", *arguments)


def lines_of(project, target):
    """What a target prints about the state of studies; nothing of Snakemake's follows it."""
    output = project.snakemake(target)
    assert "Finished job" not in output
    lines = output.partition("Using workflow specific profile")[0].splitlines()
    assert lines[0] == "results: no call is at work"
    return lines


def test_a_folder_becomes_a_trained_scored_and_reported_study(project):
    named = ("--network", "convnet3", "--name", "my_pictures")
    done = new_study(project, str(project.folder / PICTURES), *named)
    assert done.returncode == 0, done.stderr
    assert "48 images of 8 classes train, 48 images of 8 classes test" in done.stdout
    assert "  Images: 96 of 16 classes\n  Left out: nothing\n" in done.stdout
    folder = project.folder / "results" / "studies" / "my_pictures"

    begun, untouched = (lines_of(project, target) for target in ("my_pictures_status", "status"))
    assert begun[1:3] == ["", "my_pictures: not begun, 0 of 12 runs scored"]
    assert not any("demo" in line for line in begun)
    files = [*(project.folder / "config" / "studies").glob("*.yaml")]
    files += (project.folder / "own").glob("*/studies/*.yaml")
    studies = {file.stem for file in files}
    (line,) = untouched[2:]
    assert set(line.partition(": ")[2].split(", ")) == studies
    assert line.startswith(f"not begun, {len(studies)}: ")

    # The score before any training, which trains nothing.
    assert "dmlbench raw my_pictures" in done.stdout
    project.snakemake("my_pictures_table_raw")
    (before,) = pd.read_csv(folder / "tables" / "raw.csv").to_dict("records")
    assert before["Loss"].startswith("Raw features")

    # The remaining work, in a few lines.
    planned = project.snakemake("my_pictures", "-nq").splitlines()
    said = [line for line in planned if line.startswith("dmlbench:")]
    assert said[-1].startswith("dmlbench: 11 trainings")
    assert len(planned) < 30

    begun, rest = (lines_of(project, target) for target in ("my_pictures_status", "status"))
    assert begun[2] == "my_pictures: unfinished, 1 of 12 runs scored"
    assert begun[4].startswith("  left     11 trainings (2 of networks that stay untrained), ")
    assert rest[:-2] == begun[: len(rest) - 2]
    assert rest[-1].startswith(f"not begun, {len(studies) - 1}: ")
    assert "my_pictures" not in rest[-1]

    printed = project.snakemake("my_pictures")
    assert not re.search("jobid|Finished job", printed)
    runs = re.findall(
        r"^dmlbench: (\w+), seed (\d): loss [-\d.e]+, R@1 [\d.]+ % \| (\d+) of 11 runs, \d+ of ",
        printed,
        re.M,
    )
    assert len({(loss, seed) for loss, seed, _ in runs}) == len(runs) == 9
    assert [int(count) for *_, count in runs] == sorted(int(count) for *_, count in runs)
    after = pd.read_csv(folder / "tables" / "retrieval.csv")
    assert len(after) == 4
    page = html.unescape((project.folder / "results" / "report.html").read_text())
    assert "Losses on my_pictures" in page
    assert re.search(r"<dt>Images</dt><dd>96 of 16 classes</dd>", page)
    said = r"Training (adds|loses) .* points \[.*\] of R@1 (over|against) the network's own"
    assert re.search(said, page)
    assert lines_of(project, "my_pictures_status")[2] == "my_pictures: done, 12 of 12 runs scored"

    # Its disk is unplugged: only what needs the images stops.
    (project.folder / PICTURES).rename(project.folder / "unplugged")
    warning = r"warning: data set my_pictures: .*; what was made of it can be used"
    for target in ("help", "status", "my_pictures", "my_pictures_table_raw"):
        assert re.search(warning, project.snakemake(target)), target
    assert project.planned("my_pictures") == {}
    assert project.planned("demo_table_recall")["train"]
    (folder / "tables" / "raw.csv").unlink()
    project.snakemake("my_pictures")
    assert (folder / "tables" / "raw.csv").is_file()
    (index,) = (project.folder / "results" / "data").glob("my_pictures-*/images.parquet")
    index.rename(index.with_name("kept"))
    needed = project.snakemake(str(index.relative_to(project.folder)), check=False)
    (line,) = (line for line in needed.splitlines() if "its images are needed now" in line)
    assert line.startswith("dmlbench: data set my_pictures: ")
    assert "Traceback" not in needed
    index.with_name("kept").rename(index)
    (project.folder / "unplugged").rename(project.folder / PICTURES)
    assert project.planned("my_pictures") == {}


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (b"caf\xe9", r"dmlbench: the name 'caf\xe9' is not UTF-8; rename it"),
        (b"y" * 300, "File name too long"),
        (b"-birds", "'-birds': is not a path; allowed: ./-name"),
        (b"a{b}", "'a{b}': has '{' '}'; allowed: a path without them"),
    ],
)
def test_a_name_that_cannot_be_is_one_line(project, folder, said):
    if len(folder) < 255:
        drawn = project.folder / "drawn.zip"
        shutil.unpack_archive(drawn, os.fsdecode(os.fsencode(project.folder) + b"/" + folder))
    done = new_study(project, "--network=convnet3", "--name=odd", "--", folder)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert said in line
    assert not (project.folder / "own" / "odd").exists()


def test_folders_of_subsets_are_refused_until_a_layout_says_so(project):
    arguments = (str(project.folder / "sorted"), "--network", "convnet3")
    refused = new_study(project, *arguments)
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert "`layout: subset_folders`" in line
    done = new_study(project, *arguments, "--layout", "subset_folders")
    assert "96 images of 16 classes train, 96 images of 16 classes test" in done.stdout
    assert (
        "official_closed"
        in (project.folder / "own" / "sorted" / "studies" / "sorted.yaml").read_text()
    )
    assert project.planned("sorted_table_raw")["train"] == 1
