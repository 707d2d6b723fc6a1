"""A study of the user's images: written and loaded, or refused with nothing changed."""

import shutil
from pathlib import Path

import new_study
import pytest
import yaml
from dmlbench import plan
from dmlbench.data.generate import generate
from dmlbench.errors import UserError
from dmlbench.plan.contents import Contents, contents_digest
from dmlbench.plan.new_study import Pictures, write_study
from PIL import Image

CONFIG = Path(__file__).resolve().parents[2] / "config"
BIRDS = Pictures("~/my birds", "class_folders", "half", [30] * 100, [29] * 100)


def width(network):
    return 512


@pytest.fixture
def config(configured):
    """A configuration of two studies, which loads fast."""
    for file in (configured.folder / "studies").glob("*.yaml"):
        if file.stem not in ("mine", "demo"):
            file.unlink()
    return configured.folder


@pytest.fixture(autouse=True)
def unread(monkeypatch):
    """The folder need not exist: its content is given."""
    known = Contents("0" * 16, images=None, absent=None)
    monkeypatch.setattr("dmlbench.plan.data.read_contents", lambda folder, lists: known)


def loaded(config, *studies):
    return plan.load({"pathvars": {"results": "results"}, "studies": list(studies)}, config)


def texts(config):
    return {path: path.read_text() for path in config.rglob("*.yaml")}


@pytest.mark.parametrize(
    ("network", "train", "batch"),
    [
        ("resnet18", [30] * 100, 60),
        ("vit_s16", [8] * 7, 35),
        ("mobilenet_v2", [3] * 50, 60),
        ("convnet4", [1, 2, 2, 2, 9], 10),
    ],
)
def test_what_is_written_is_a_study_whose_batches_fit(config, network, train, batch):
    written = write_study(config, "birds", network, BIRDS._replace(train=train), width)
    assert [path.name for path in written] == ["datasets.yaml", "recipes.yaml", "birds.yaml"]
    study = loaded(config, "birds")
    assert study.datasets["birds"].folder == "~/my birds"
    assert study.studies["birds"].answer == ["gain"]
    specs = [run.spec for run in study.runs("birds")]
    raw = [spec for spec in specs if spec.loss is None]
    assert {(spec.head_initialization, spec.embedding_dim) for spec in raw} == {("identity", 512)}
    assert len(specs) == 4 * len(raw)
    for spec in specs:
        if spec.loss is None:
            continue
        assert spec.batch_size == batch
        assert spec.selection == "last_epoch"
        assert batch // spec.sampler.hyperparameters["images_per_class"] <= len(train)
        assert (spec.network.weights is None) == (network == "convnet4")


@pytest.mark.parametrize(
    ("network", "frozen", "crop", "files"),
    [
        ("resnet18", "resnet18_frozen", 224, ["networks.yaml", "datasets.yaml"]),
        ("mobilenet_v2", "mobilenet_v2_frozen", 160, ["networks.yaml", "datasets.yaml"]),
        ("efficientnet_lite0", "efficientnet_lite0_frozen", 160, ["datasets.yaml"]),
        ("efficientnet_lite0_frozen", "efficientnet_lite0_frozen", 160, ["datasets.yaml"]),
    ],
)
def test_heads_train_on_the_features_of_a_frozen_network(config, network, frozen, crop, files):
    given = loaded(config, "demo").networks[network]
    written = write_study(config, "birds", network, BIRDS, width, frozen=True)
    assert [path.name for path in written] == [*files, "recipes.yaml", "birds.yaml"]
    study = loaded(config, "birds")
    kept = {"frozen", "title", "threads"}
    now = study.networks[frozen]
    assert now.model_dump(exclude=kept) == given.model_dump(exclude=kept)
    assert {row.method: row.network for row in study.rows("birds")}["raw_features"] == frozen
    for run in study.runs("birds"):
        (step,) = run.spec.network.frozen
        assert (step.name, step.hyperparameters) == ("center_crop", {"size": crop})
        assert run.spec.embedding_dim == 512
        assert run.spec.selection == "last_epoch"
    # A second study shares the network.
    again = write_study(config, "wings", network, BIRDS, width, frozen=True)
    assert "networks.yaml" not in [path.name for path in again]


def test_a_network_without_weights_is_not_frozen(config):
    before = texts(config)
    with pytest.raises(UserError, match=r"convnet3: it has no pretrained weights.*FROZEN=1"):
        write_study(config, "birds", "convnet3", BIRDS, width, frozen=True)
    assert texts(config) == before


def test_features_of_a_network_are_counted(config):
    networks = loaded(config, "demo").networks
    assert new_study.features_of(networks["efficientnet_lite0"]) == 1280


def test_other_studies_are_as_they_were(config):
    before = loaded(config, "demo").runs("demo")
    kept = texts(config)
    write_study(config, "birds", "resnet18", BIRDS, width)
    assert loaded(config, "demo").runs("demo") == before
    for path, text in kept.items():
        assert path.read_text().startswith(text.rstrip())


@pytest.mark.parametrize(
    ("name", "network", "pictures", "said"),
    [
        ("demo", "resnet18", BIRDS, "has it under recipes"),
        ("mine", "resnet18", BIRDS, "has it under studies"),
        ("glyphs", "resnet18", BIRDS, "has it under datasets"),
        ("My Birds", "resnet18", BIRDS, "name 'My Birds'; allowed: .* NAME=birds"),
        ("train", "resnet18", BIRDS, "name 'train': a rule of the workflow has it; .* NAME=birds"),
        ("birds", "resnet19", BIRDS, "did you mean 'resnet18'"),
        ("birds", "resnet18", BIRDS._replace(train=[5, 5]), "2 classes train; allowed: 4 .* 8"),
        (
            "birds",
            "resnet18",
            BIRDS._replace(split="official", test=[5, 5]),
            "2 classes test; allowed: 4 or more$",
        ),
        (
            "birds",
            "resnet18",
            BIRDS._replace(test=[1] * 9),
            "each of the 9 classes that test has one image; allowed: ",
        ),
        ("birds", "resnet18", BIRDS._replace(layout="folders"), "unknown data/layouts 'folders'"),
    ],
)
def test_what_cannot_be_a_study_changes_nothing(config, name, network, pictures, said):
    before = texts(config)
    with pytest.raises(UserError, match=said):
        write_study(config, name, network, pictures, width)
    assert texts(config) == before


def test_a_folder_is_surveyed(tmp_path):
    drawn = tmp_path / "drawn.zip"
    generate("glyphs", drawn, characters=9, images_per_character=3, size=16)
    found, account = new_study.surveyed(str(drawn), "class_folders")
    assert account["Images"] == "27 of 9 classes"
    assert (found.split, found.train, found.test) == ("half", [3] * 5, [3] * 4)
    folder = tmp_path / "folder"
    shutil.unpack_archive(drawn, folder / "train")
    shutil.unpack_archive(drawn, folder / "test")
    with pytest.raises(UserError, match="`layout: subset_folders`"):
        new_study.surveyed(str(folder), "class_folders")


def test_home_is_found_where_the_shell_does_not_replace_its_sign(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for folder in ("birds", "~no user"):
        generate("glyphs", tmp_path / "a.zip", characters=9, images_per_character=3, size=16)
        shutil.unpack_archive(tmp_path / "a.zip", tmp_path / folder)
    for given in ("~/birds", "~no user"):
        found, _ = new_study.surveyed(given, "class_folders")
        assert (found.folder, len(found.train)) == (given, 5)
        assert contents_digest(given, tmp_path / "memory")


def test_a_folder_without_images_names_what_is_an_image(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.heic").touch()
    with pytest.raises(UserError, match=r"no image found .*; allowed: files that end in \.jpg, "):
        new_study.surveyed(str(tmp_path), "class_folders")


@pytest.mark.parametrize("tests", [["test"], ["query", "gallery"]])
@pytest.mark.parametrize(("tested", "split"), [("b", "official"), ("a", "official_closed")])
def test_subsets_are_split_as_they_come(tmp_path, tests, tested, split):
    for folder in ("train/a", *(f"{each}/{tested}" for each in tests)):
        (tmp_path / folder).mkdir(parents=True)
        Image.new("L", (1, 1)).save(tmp_path / folder / "1.png")
    found, _ = new_study.surveyed(str(tmp_path), "subset_folders")
    assert (found.split, found.train, found.test) == (split, [1], [len(tests)])


def test_a_list_with_every_column_is_surveyed_and_written(config, tmp_path):
    """Split, roles, boxes and groups of the list; the second column of classes is another task."""
    rows = ["path;species;color;split;role;box;scene"]
    for number in range(48):
        species, side = number % 12, "train" if number % 12 < 8 else "test"
        role = ("query", "gallery")[number // 24] if side == "test" else ""
        box = "1 2 7 8" if number % 2 else ""
        rows.append(f"{number}.png;s{species};c{species % 8};{side};{role};{box};g{species}")
        Image.new("L", (8, 9), number).save(tmp_path / f"{number}.png")
    (tmp_path / "birds.csv").write_text("\n".join(rows))
    options = {"file": "birds.csv", "label": "species", "box": "box", "group": "scene"}
    found, account = new_study.surveyed(str(tmp_path), "listed", options)
    assert (found.split, found.train, found.test) == ("official", [4] * 8, [4] * 4)
    assert account["Images"] == "48 of 12 classes"
    write_study(config, "birds", "convnet3", found, width)
    written = loaded(config, "birds").datasets["birds"].layout
    assert (written.name, written.hyperparameters) == ("listed", options)
    colors, _ = new_study.surveyed(
        str(tmp_path), "listed", options | {"label": "color", "group": None}
    )
    assert colors.split == "official_closed"


def test_networks_with_published_weights_are_offered():
    networks = yaml.safe_load((CONFIG / "networks.yaml").read_text())
    offered = new_study.pretrained()
    assert {"resnet18", "resnet50"} <= set(offered) < set(networks)
    assert "mobilenet_v2" not in offered  # only mirrors have its file
