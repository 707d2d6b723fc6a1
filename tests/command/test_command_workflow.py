"""The command `dmlbench` on studies: what it calls, prints and writes, and an upgrade around it."""

import shutil
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from dmlbench.command import commands, main, workflow
from dmlbench.data.generate import generate
from PIL import Image
from project import REPOSITORY, copy_project

CALLS = {
    "raw": (["raw", "demo"], ["--cores", "all", "demo_table_raw"]),
    "plan": (["plan", "demo", "omniglot"], ["demo", "omniglot", "-nq"]),
    "run": (["run", "demo_table_x", "--cores", "2"], ["--cores", "2", "demo_table_x"]),
    "profile": (["run", "demo_x", "--profile=gpu"], ["--profile", "profiles/gpu", "demo_x"]),
    "status": (["status"], ["--cores", "1", "status"]),
    "status of one": (["status", "demo"], ["--cores", "1", "demo_status"]),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the project, which is the working folder, next to pictures of several shapes."""
    (tmp_path / "dmlbench").mkdir()
    copy_project(tmp_path / "dmlbench")
    shutil.copy(REPOSITORY / ".gitignore", tmp_path / "dmlbench")
    generate("glyphs", tmp_path / "a.zip", characters=12, images_per_character=4, size=16)
    shutil.unpack_archive(tmp_path / "a.zip", tmp_path / "birds")
    monkeypatch.chdir(tmp_path / "dmlbench")
    return tmp_path / "dmlbench"


@pytest.mark.parametrize("case", CALLS)
def test_a_command_makes_and_prints_a_call_of_snakemake(project, monkeypatch, capsys, case):
    arguments, expected = CALLS[case]
    called = []

    def run(command, *, cwd, check):
        called.append((command[1:], cwd))
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(workflow.subprocess, "run", run)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 3
    assert called == [(expected, project)]
    printed = capsys.readouterr().err
    assert printed.startswith("$ ")
    assert printed.endswith(f"snakemake {' '.join(expected)}\n")


def test_a_home_without_a_cache_is_a_line_that_says_what_to_set(project, monkeypatch):
    monkeypatch.setenv("HOME", f"{project}/Snakefile/home")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(workflow.subprocess, "run", lambda *_, **__: pytest.fail("it is called"))
    with pytest.raises(SystemExit, match=r"no folder .*/home/\.cache; set XDG_CACHE_HOME to one"):
        main(["plan", "demo"])


def test_another_folder_calls_the_workflow_of_the_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert workflow.home() == REPOSITORY
    monkeypatch.setattr(workflow, "_CHECKOUT", tmp_path)
    with pytest.raises(SystemExit, match="this needs the workflow"):
        main(["plan", "demo"])


def test_new_writes_outside_of_what_git_tracks_and_forget_removes_it(project, capsys):
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    main(["new", "../birds", "--network", "convnet3"])
    said = capsys.readouterr().out
    assert "24 images of 6 classes train, 24 images of 6 classes test" in said
    assert "written: own/birds/datasets.yaml" in said
    main(["new", "../birds", "--network", "convnet4"])
    assert "the data set is that of birds" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="dmlbench forget birds_convnet4"):
        main(["new", "../birds", "--network", "convnet4"])
    main(["forget", "birds_convnet4"])
    main(["forget", "birds"])
    after = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--frozen", "--network", "convnet3"], "has no pretrained weights"),
        (["--netwrok", "resnet50"], "Did you mean '--network'?"),
        (["--network", "resnet5"], "did you mean 'resnet50'"),
        (["--label", "species"], "--label names a column of a list; allowed with --list"),
        (["--frozen=0"], "'--frozen' does not take a value"),
    ],
)
def test_what_new_refuses_is_one_line(project, options, words):
    with pytest.raises(SystemExit) as ended:
        main(["new", "../birds", *options])
    assert words in ended.value.code
    assert "\n" not in ended.value.code
    assert not (project / "own").exists()


def test_an_upgrade_leaves_what_is_the_users(project, tmp_path, monkeypatch):
    """Upstream appends to the files that studies used to be written into; `git pull` works."""

    def git(folder, *arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0"]
        return subprocess.run(
            ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
        ).stdout

    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    git(tmp_path, "clone", "-q", "dmlbench", "mine")
    monkeypatch.chdir(tmp_path / "mine")
    main(["new", "../birds", "--network", "convnet3"])
    for name in ("datasets", "recipes", "networks"):
        with open(project / "config" / f"{name}.yaml", "a") as file:
            file.write("\n# newer\n")
    git(project, "commit", "-qam", "second")
    git(tmp_path / "mine", "pull", "-q")
    assert git(tmp_path / "mine", "status", "--porcelain") == ""
    assert "# newer" in (tmp_path / "mine" / "config" / "recipes.yaml").read_text()
    assert (tmp_path / "mine" / "own" / "birds" / "studies" / "birds.yaml").is_file()


def test_the_machine_and_the_configuration_are_checked(project, capsys):
    shutil.copy(REPOSITORY / "requirements.lock", project)
    main(["new", "../birds", "--network", "convnet3"])
    (project / "own" / "odd" / "studies").mkdir(parents=True)
    (project / "own" / "odd" / "studies" / "odd.yaml").write_text("title: 3")
    capsys.readouterr()
    main(["check"])
    said = capsys.readouterr().out
    studies = len(list((project / "config" / "studies").glob("*.yaml"))) + 2
    assert f"studies      {studies}, 2 of them yours, 1 that cannot be used" in said
    assert "own/odd/studies/odd.yaml: " in said
    assert "images       birds: ../birds is there" in said
    assert "GB free at" in said


def test_pictures_of_several_shapes_train_a_network_that_takes_one(project):
    """A crop is in the recipe, so that the plan's check of batches and transforms passes."""
    for number, file in enumerate(sorted((project.parent / "birds").rglob("*.png"))):
        shape = (24, 16) if number % 2 else (16, 24)
        Image.fromarray(np.zeros(shape, np.uint8)).save(file)
    main(["new", "../birds", "--network", "convnet4"])
    assert "center_crop, size: 28" in (project / "own" / "birds" / "recipes.yaml").read_text()


def test_every_command_has_help():
    for name in commands.commands:
        found = CliRunner().invoke(commands, [name, "--help"])
        assert found.exit_code == 0
        assert "..." not in commands.commands[name].get_short_help_str(60)
