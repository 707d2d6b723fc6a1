"""A study of the user's images: written and loaded, or refused with nothing changed."""

import re
from pathlib import Path

import pytest
import yaml
from dmlbench import plan, registry
from dmlbench.command.new import features_of, pretrained, surveyed
from dmlbench.errors import UserError
from dmlbench.plan.new_studies import new_study
from dmlbench.plan.new_studies.forgotten import forget
from dmlbench.plan.new_studies.new_study import Pictures
from dmlbench.plan.specs.contents import Contents
from PIL import Image

CONFIG = Path(__file__).resolve().parents[2] / "config"
BIRDS = Pictures("~/my birds", "class_folders", "half", [30] * 100, [29] * 100)


def width(network):
    return 512


def own(config):
    return config.parent / "own"


def write_study(config, *arguments, **options):
    return new_study.write_study(config, own(config), *arguments, width, **options).files


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
    monkeypatch.setattr("dmlbench.plan.specs.data.read_contents", lambda folder, lists: known)


def loaded(config, *studies):
    given = {"pathvars": {"results": "results"}, "own": [f"{own(config)}/*"]}
    return plan.load(given | {"studies": list(studies)}, config)


def texts(config):
    return {path: path.read_text() for path in config.parent.rglob("*.yaml")}


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
    written = write_study(config, "birds", network, BIRDS._replace(train=train))
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
        ("resnet18", "resnet18_frozen", 224, ["datasets.yaml", "networks.yaml"]),
        ("bninception", "bninception_frozen", 224, ["datasets.yaml", "networks.yaml"]),
        ("efficientnet_lite0", "efficientnet_lite0_frozen", 160, ["datasets.yaml"]),
        ("efficientnet_lite0_frozen", "efficientnet_lite0_frozen", 160, ["datasets.yaml"]),
    ],
)
def test_heads_train_on_the_features_of_a_frozen_network(config, network, frozen, crop, files):
    given = loaded(config, "demo").networks[network]
    written = write_study(config, "birds", network, BIRDS, frozen=True)
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
    again = write_study(config, "wings", network, BIRDS._replace(folder="~/wings"), frozen=True)
    assert "networks.yaml" not in [path.name for path in again]


@pytest.mark.parametrize("frozen", [False, True])
def test_new_recipes_have_what_is_better_than_finished_results_have(config, frozen):
    write_study(config, "birds", "resnet18", BIRDS, frozen=frozen)
    study = loaded(config, "birds")
    assert [run.spec.miner.centered for run in study.runs("birds") if run.spec.miner] == [True] * 3
    methods = {name: each for name, each in study.methods.items() if each.miner}
    given = {name: study.recipes["birds"].methods[name]["miner"] for name in methods}
    for name, method in methods.items():
        assert given[name].items() >= registry.preferred("miners", method.miner.name).items()
    for run in loaded(config, "demo").runs("demo"):
        assert run.spec.miner is None or not run.spec.miner.centered


def test_a_network_without_weights_is_not_frozen(config):
    before = texts(config)
    with pytest.raises(UserError, match=r"convnet3: it has no pretrained weights.*--frozen"):
        write_study(config, "birds", "convnet3", BIRDS, frozen=True)
    assert texts(config) == before


def test_features_of_a_network_are_counted(config):
    networks = loaded(config, "demo").networks
    assert features_of(networks["efficientnet_lite0"]) == 1280


def test_other_studies_are_as_they_were(config):
    before = loaded(config, "demo").runs("demo")
    kept = texts(config)
    write_study(config, "birds", "resnet18", BIRDS)
    assert loaded(config, "demo").runs("demo") == before
    assert texts(config).items() >= kept.items()


@pytest.mark.parametrize(
    ("name", "network", "pictures", "said"),
    [
        ("demo", "resnet18", BIRDS, "is there under recipes"),
        ("mine", "resnet18", BIRDS, "is there under studies"),
        ("glyphs", "resnet18", BIRDS, "is there under datasets"),
        ("My Birds", "resnet18", BIRDS, "name 'My Birds'; allowed: .* --name birds"),
        (
            "train",
            "resnet18",
            BIRDS,
            "'train': a rule of the workflow has it; .* --name birds",
        ),
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
        write_study(config, name, network, pictures)
    assert texts(config) == before


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
    found, account = surveyed(str(tmp_path), "listed", options)
    assert (found.split, found.train, found.test) == ("official", [4] * 8, [4] * 4)
    assert account["Images"] == "48 of 12 classes"
    write_study(config, "birds", "convnet3", found)
    written = loaded(config, "birds").datasets["birds"].layout
    assert (written.name, written.hyperparameters) == ("listed", options)
    colors, _ = surveyed(str(tmp_path), "listed", options | {"label": "color", "group": None})
    assert colors.split == "official_closed"


def test_networks_with_published_weights_are_offered():
    networks = yaml.safe_load((CONFIG / "networks.yaml").read_text())
    offered = pretrained(CONFIG)
    assert {"resnet18", "resnet50"} <= set(offered) < set(networks)
    assert "mobilenet_v2" not in offered  # only mirrors have its file


def test_a_folder_is_one_data_set_of_several_studies(config):
    """The second network's study has its own name; a third call says what is there."""
    first = new_study.write_study(config, own(config), "birds", "resnet18", BIRDS, width)
    again = BIRDS._replace(folder=str(Path("~/my birds").expanduser()))
    second = new_study.write_study(
        config, own(config), "birds", "resnet18", again, width, frozen=True
    )
    assert (first.study, second.study) == ("birds", "birds_resnet18_frozen")
    assert second.dataset == "birds"
    study = loaded(config, "birds", "birds_resnet18_frozen")
    assert {row.dataset for row in study.rows(second.study)} == {"birds"}
    with pytest.raises(UserError, match="dmlbench run birds_resnet18_frozen; to remove it: "):
        write_study(config, "birds", "resnet18", BIRDS, frozen=True)
    # Another task of the same images is another data set.
    other = BIRDS._replace(layout="every_folder")
    with pytest.raises(UserError, match="name 'birds': is there"):
        write_study(config, "birds", "resnet50", other)


def test_what_is_forgotten_leaves_nothing_and_only_what_nothing_needs(config):
    before = texts(config)
    write_study(config, "birds", "resnet18", BIRDS)
    write_study(config, "birds", "resnet50", BIRDS, frozen=True)
    with pytest.raises(UserError, match="first: dmlbench forget birds_resnet50_frozen"):
        forget(config, own(config), "birds")
    with pytest.raises(UserError, match="did you mean 'birds'"):
        forget(config, own(config), "bird")
    for name in ("birds_resnet50_frozen", "resnet50_frozen", "birds"):
        assert forget(config, own(config), name)
    assert texts(config) == before
    assert not list(own(config).iterdir())


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("studies/broken.yaml", "title: 3", "broken.yaml: "),
        ("recipes.yaml", "glyphs: {title: Mine}", "glyphs: .*recipes.yaml has it too"),
        ("datasets.yaml", "mine: {folder: x", "datasets.yaml: not YAML"),
    ],
)
def test_an_error_in_a_folder_of_the_user_stops_what_is_in_it_alone(config, file, text, said):
    write_study(config, "birds", "resnet18", BIRDS)
    path = own(config) / "other" / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    given = {"pathvars": {"results": "results"}, "own": [f"{own(config)}/*"]}
    found = plan.load_unless_checked(given, config, config / "none" / "mark")
    assert {"demo", "birds"} <= set(found.studies)
    (problem,) = found.broken.values()
    assert re.search(said, problem)


def test_images_of_several_shapes_are_cropped_for_a_network_that_takes_one(config):
    written = write_study(config, "birds", "convnet4", BIRDS._replace(one_shape=False))
    recipe = next(path for path in written if path.name == "recipes.yaml")
    crop = {"name": "center_crop", "size": 28}
    assert yaml.safe_load(recipe.read_text())["birds"]["transforms"]["test"] == [crop]
    write_study(config, "wings", "convnet4", BIRDS._replace(folder="~/wings"))
    assert "transforms" not in (own(config) / "wings" / "recipes.yaml").read_text()
