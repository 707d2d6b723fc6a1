"""What a user asks for from the shell, and what is said where it cannot be had."""

import os
import re
import runpy
import shutil
import sys
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

import dmlbench
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.command import main
from dmlbench.errors import UserError
from dmlbench.inference.find import run_folder
from dmlbench.inference.gallery import Gallery, write_gallery
from dmlbench.inference.pictures import Pictures
from PIL import Image
from toy_training import train

DIGEST = "0123456789ab"


@pytest.fixture(scope="module")
def folder(toy_data, tmp_path_factory):
    """A folder with a finished run in its results, and five pictures."""
    folder = tmp_path_factory.mktemp("shell")
    train(folder / "results" / "runs" / "toy" / f"seed0-{DIGEST}", toy_data, {"epochs": 1})
    (folder / "pictures" / "more").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("a.png", "b.jpg", "more/c<1>.png", "d.png", "e.png"):
        Image.fromarray(rng.integers(0, 256, (20, 24), np.uint8)).save(folder / "pictures" / name)
    (folder / "pictures" / "notes.txt").write_text("not an image")
    return folder


@pytest.fixture
def called(folder, monkeypatch, capsys):
    """Calls in the folder: what each prints, with what the user is told if it fails."""
    monkeypatch.chdir(folder)

    def call(*arguments):
        try:
            main(list(map(str, arguments)))
        except SystemExit as ended:
            return f"{capsys.readouterr().out}{ended.code}"
        return capsys.readouterr().out

    return call


def test_a_folder_is_embedded_and_searched(folder, called):
    said = called("embed", DIGEST, "pictures")
    vectors = f"results/use/seed0-{DIGEST}/pictures.parquet"
    counted = "5 images, 8 numbers each; 1 other files left out"
    assert said.splitlines()[-1] == f"{counted}: {vectors}"
    rows = pq.read_table(folder / vectors)
    assert rows["path"].to_pylist()[:2] == ["pictures/a.png", "pictures/b.jpg"]
    lengths = np.linalg.norm(np.array(rows["embedding"].to_pylist()), axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)

    asked = ("search", DIGEST, "pictures/a.png")
    results = [called(*asked, among) for among in ("pictures", vectors)]
    assert results[0] == results[1]
    found = re.findall(r"^ +(\d+)  (\d\.\d{4})  (.*)$", results[0], re.MULTILINE)
    assert [place for place, _, _ in found] == ["1", "2", "3", "4"]
    assert [distance for _, distance, _ in found] == sorted(each[1] for each in found)
    assert {name for *_, name in found} == set(rows["path"].to_pylist()) - {"pictures/a.png"}
    page = (folder / f"results/use/seed0-{DIGEST}/search.html").read_text()
    assert page.count("<img") == 5
    assert "c&lt;1&gt;.png" in page
    assert "<1>" not in page


ODD = [
    """it's "quoted" & <b>: \\ # 50% {x} $HOME `date` $(date) [a-b]*? Ümläut 日本""",
    "-dash",
    "~no user",
    "dot.",
    "a.parquet",
    "line\nbreak",
    "x" * 250,
]


@pytest.mark.parametrize("name", ODD)
def test_folders_and_pictures_of_any_name_are_embedded_searched_and_exported(folder, called, name):
    """The names of the folder, a class folder, a picture and the files that are asked for."""
    picture = Path(name, name, f"{name[:200]}.png")
    picture.parent.mkdir(parents=True)
    for copied in (picture, picture.with_name("other.png")):
        shutil.copy(folder / "pictures" / "a.png", copied)
    called("embed", "--", DIGEST, name)
    vectors = Path(f"results/use/seed0-{DIGEST}/{name[:200]}.parquet")
    both = sorted(map(str, (picture, picture.with_name("other.png"))))
    assert pq.read_table(vectors)["path"].to_pylist() == both
    for among in (name, vectors):
        page = Path(f"{name[:200]}.html")
        said = called("search", f"--output={page}", "--", DIGEST, picture, among)
        assert f"   1  0.0000  {picture.with_name('other.png')}" in said
        links = re.findall('href="([^"]*)"', page.read_text())
        found = [Path(unquote(unescape(link)).removeprefix("file://")) for link in links]
        assert found == [picture.resolve(), picture.with_name("other.png").resolve()]
        assert f"<h1>Nearest to {escape(picture.name)}</h1>" in page.read_text()
    output = f"{name[:200]}.safetensors"
    called("export", f"--output={output}", "--", DIGEST)
    assert "2 images" in called("embed", "--output=again.parquet", "--", output, name)
    assert pq.read_table("again.parquet").equals(pq.read_table(vectors))


def test_home_is_found_where_the_shell_does_not_replace_its_sign(folder, called, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    run = f"~/results/runs/toy/seed0-{DIGEST}"
    assert "5 images" in called("embed", run, "~/pictures", "--output", "~/at_home.parquet")
    assert (folder / "at_home.parquet").is_file()
    found = called("search", run, "~/pictures/a.png", "~/at_home.parquet", "--output", "~/s.html")
    assert "   4  " in found
    assert "   5  " not in found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("embed", DIGEST, "empty"), "empty: has no image (0 other files)"),
        (("embed", DIGEST, "nowhere"), "nowhere: No such file or directory"),
        (("embed", DIGEST, "damaged"), "damaged/x.png: not an image that can be read"),
        (("search", DIGEST, "pictures/notes.txt", "pictures"),
         "pictures/notes.txt: not an image that can be read (cannot identify image file"),
        (("search", DIGEST, "none.png", "pictures"), "none.png: no such file"),
        (("embed", "results/runs/begun", "pictures"), "begun: has not finished training; allowed"),
        (("embed", "mine", "pictures"), "mine: 0 runs; allowed: the folder of a finished run"),
        (("embed", "pictures", "pictures"), "pictures: 0 runs; allowed: the folder of a"),
        (("embed", f"results/runs/toi/seed0-{DIGEST}", "pictures"),
         f"0 runs; did you mean 'results/runs/toy/seed0-{DIGEST}'?; allowed"),
        (("embed", f"toy/seed1-{DIGEST}", "pictures"), f"did you mean 'toy/seed0-{DIGEST}'?"),
        (("embed", f"{DIGEST[:-1]}x", "pictures"), f"0 runs; did you mean '{DIGEST}'?; allowed"),
        (("embed", "results/runs", "pictures"), "results/runs: 0 runs; allowed"),
        (("embed", "results/runs/toy", "pictures"), "results/runs/toy: 0 runs; did you mean"),
        (("export", DIGEST, "--output", "model.txt"), "model.txt: a name for safetensors; allowed"),
        (("export", DIGEST, "--kind", "onx"), "unknown kind of export 'onx'; did you mean 'onnx'?"),
        (("search", DIGEST, "pictures/a.png", "pictures", "--k", "0"), "k: 0; allowed: a whole"),
        (("search", DIGEST, "pictures/a.png", "pictures", "--k", "x"), "is not a valid integer"),
        (("search", DIGEST, "pictures/a.png", "old.parquet"), "gone.png: no such file any more"),
        (("search", DIGEST, "pictures/a.png", "none.parquet"), "none.parquet: no such file"),
        (("embed", DIGEST, "caf\udce9"), r"the name 'caf\xe9' is not UTF-8; rename it"),
        (("embed", DIGEST, "of latin 1"), r"the name 'caf\xe9.png' is not UTF-8; rename it"),
        (("embed", "**", "pictures"), "**: 0 runs; allowed"),
        (("embed", "-x", "pictures"), "No such option '-x'"),
        (("embed", "--", "-x", "pictures"), "-x: 0 runs; allowed"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_one_line(folder, called, arguments, said):
    for name in ("empty", "damaged", "results/runs/begun"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "damaged" / "x.png").write_text("not an image")
    (folder / "of latin 1").mkdir(exist_ok=True)
    with open(os.fsencode(folder / "of latin 1") + b"/caf\xe9.png", "w"):
        pass
    if arguments[-1] == "old.parquet":
        model = dmlbench.load(folder / "results" / "runs" / "toy" / f"seed0-{DIGEST}")
        gone = Gallery(["gone.png"], np.ones((1, 8), np.float32))
        write_gallery(gone, model.origin, folder / "old.parquet")
    *before, line = called(*arguments).splitlines()
    assert said in line
    assert line.startswith("dmlbench: ")
    assert all(each.startswith("run: ") for each in before)


def test_a_study_stands_for_its_best_run(tmp_path):
    rows = [
        {"run": run, "method": run, "seed": 0, "role": role, "fold": "", "metric": "recall_at_1",
         "selection": rule, "value": value}
        for run, role, rule, value in (
            ("a", "test", "best_validation_epoch", 0.5),
            ("a", "test", "last_epoch", 0.9),
            ("b", "test", "last_epoch", 0.6),
            ("c", "validation", "last_epoch", 0.7),
        )
    ]  # fmt: skip
    (tmp_path / "studies" / "mine").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "studies" / "mine" / "scores.parquet")
    # As of a data set of this name.
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    with pytest.raises(UserError, match="mina: 0 runs; did you mean 'mine'"):
        run_folder("mina", tmp_path)
    (tmp_path / "studies" / "begun").mkdir()
    with pytest.raises(UserError, match="study begun: not finished; allowed after: dmlbench run"):
        run_folder("begun", tmp_path)
    found, said = run_folder("mine", tmp_path)
    assert found == tmp_path / "runs" / "b"
    assert "of 2 runs the one with the highest R@1, 60.0" in said


def test_a_picture_is_read_as_the_same_file_would_be(tmp_path):
    """Turned upright, in the mode of the run, whatever its own."""
    rng = np.random.default_rng(0)
    colors = Image.fromarray(rng.integers(0, 256, (30, 20, 4), np.uint8), "RGBA")
    turned = Image.Exif()
    turned[0x0112] = 6
    for mode, options in (("RGBA", {}), ("L", {}), ("P", {}), ("RGB", {"exif": turned})):
        path = tmp_path / f"{mode}.png"
        colors.convert(mode).save(path, **options)
        with Image.open(path) as opened:
            both = Pictures([path, opened], 16, "rgb").batch(np.arange(2))
        assert (both[0] == both[1]).all(), mode
        assert both.shape[-2:] == ((16, 24) if options else (24, 16)), mode


@pytest.mark.parametrize(
    ("picture", "said"),
    [
        (np.zeros((4, 4), np.float32), r"an array of float32 \[4, 4\]; allowed: uint8"),
        (np.zeros((4, 4, 4), np.uint8), r"\[4, 4, 4\]; allowed: uint8 \[H, W\]"),
        (7, "a picture of type int; allowed: a path"),
    ],
)
def test_another_kind_of_picture_is_one_line(picture, said):
    with pytest.raises(UserError, match=said):
        Pictures([picture], 16, "gray").batch(np.arange(1))


def test_an_untrained_networks_run_is_exported_and_loaded_back(toy_data, folder, called):
    untrained = {"epochs": 0, "loss": None, "selection": "last_epoch"}
    train(folder / "untrained", toy_data, untrained)
    exported = "results/use/untrained/model.safetensors"
    said = called("export", "untrained")
    assert said.splitlines()[-1] == f"safetensors: {exported}"
    assert "5 images" in called("embed", exported, "pictures", "--output", "vectors.parquet")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize(
    ("run", "said"),
    [("mine", "dmlbench: mine: 0 runs"), ("x" * 300, "dmlbench: .*: File name too long")],
)
def test_a_failed_call_is_a_failure_to_the_shell(tmp_path, monkeypatch, run, said):
    """A message as the status of `sys.exit` is printed, and the status is then 1."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dmlbench", "embed", run, "pictures"])
    with pytest.raises(SystemExit, match=said) as failed:
        runpy.run_module("dmlbench", run_name="__main__")
    assert len(failed.value.code.splitlines()) == 1
