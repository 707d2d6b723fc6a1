"""A run on pictures: embedded, searched and exported as it was scored."""

import json
import shutil
import warnings
from collections import defaultdict
from pathlib import Path

import dmlbench
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from dmlbench import provenance
from dmlbench.data.archives import Archive
from dmlbench.data.embeddings import read_embeddings
from dmlbench.data.generate import generate
from dmlbench.data.index import index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.errors import DamagedError, MisplacedError, UserError
from dmlbench.inference.gallery import Gallery, write_gallery
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.specs.run import folder_of
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.export import export_embeddings
from dmlbench.training.extraction import extract_features
from PIL import Image
from project import REPOSITORY
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.neighbors import NearestNeighbors
from toy_data import ToyData
from toy_training import VALUES, merged, train_values

CROP = [{"name": "center_crop", "size": 12}]
RGB = {"mode": "rgb", "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]}
KINDS = {
    "images": {"transforms": {"train": CROP, "test": CROP}},
    "colors": {
        "network": RGB | {"channels": "bgr", "scale": 255},
        "transforms": {"train": CROP, "test": CROP},
        "normalize": False,
    },
    "frozen": {"network": {"frozen": CROP}, "transforms": {"train": [], "test": []}},
}
PHOTOGRAPHS = {
    "photographs": "efficientnet_lite0",
    "frozen photographs": "efficientnet_lite0_frozen",
}
WEIGHTS = "efficientnet_lite0-acf4645b.pth"
EXPORTS = {"torch": ".pt2", "onnx": ".onnx", "safetensors": ".safetensors"}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of drawn characters, all larger than they are packed, of several sizes."""
    folder = tmp_path_factory.mktemp("pictures")
    generate("glyphs", folder / "drawn.zip", characters=12, images_per_character=4, size=40)
    with Archive(folder / "drawn.zip") as archive:
        for number, member in enumerate(archive.images()):
            target = folder / "classes" / member
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as file:
                Image.open(file).convert("RGB").resize((24 + number % 3, 26)).save(target)
    return folder / "classes"


@pytest.fixture(scope="module")
def photographs(shared, tmp_path_factory):
    """Four photographs of each of ten birds, of several sizes, in folders of any name."""
    folder = tmp_path_factory.mktemp("Vögel: it's 100% & #1")
    with Archive(shared / "datasets" / "cub200_160" / "cub200_160.zip") as archive:
        of_class = defaultdict(list)
        for member in archive.images():
            of_class[Path(member).parent.name].append(member)
        for name in sorted(of_class)[::20]:
            target = folder / f"{name[4:]} 'ü' & \\"
            target.mkdir()
            for member in sorted(of_class[name])[:4]:
                with archive.open(member) as file:
                    (target / Path(member).name).write_bytes(file.read())
    return folder


def values_of(kind):
    """The spec of a run of one epoch, as plain values."""
    if kind in KINDS:
        return merged(VALUES, KINDS[kind] | {"epochs": 1})
    entry = read_mapping(REPOSITORY / "config" / "networks.yaml")[PHOTOGRAPHS[kind]]
    network = {key: value for key, value in entry.items() if key not in ("title", "threads")}
    network["weights"] = {key: entry["weights"][key] for key in ("file", "sha256")}
    network["pooling"] = "average"
    crop = [] if "frozen" in network else [{"name": "center_crop", "size": 128}]
    changes = {"epochs": 1, "network": network, "transforms": {"train": crop, "test": crop}}
    return VALUES | changes


@pytest.fixture(
    scope="module",
    params=[*KINDS, *(pytest.param(kind, marks=pytest.mark.slow) for kind in PHOTOGRAPHS)],
)
def run(request, tmp_path_factory):
    """A finished run, its images and their stored embeddings."""
    folder = tmp_path_factory.mktemp(request.param) / "runs" / "toy" / "seed0-0123"
    made, values, published = folder.parent, values_of(request.param), {}
    pictures = request.getfixturevalue("pictures" if request.param in KINDS else "photographs")
    if request.param in PHOTOGRAPHS:
        shared = request.getfixturevalue("shared")
        (made / "weights").mkdir(parents=True)
        published["weights"] = made / "weights" / WEIGHTS
        published["weights"].symlink_to(shared / "datasets" / "weights" / WEIGHTS)
    data = ToyData(*(made / name for name in ("i.parquet", "s.parquet", "p.npy", "p.parquet")))
    index([pictures], "class_folders", data.index)
    split(data.index, "half", data.split)
    size, mode = (values["network"][key] for key in ("pixels", "mode"))
    pack(data.index, [pictures], size, mode, data.pixels, data.pixel_table)
    if values["network"].get("frozen"):
        network = Spec.model_validate(values).known["network"]
        stored = {"pixels": data.pixels, "pixel_table": data.pixel_table} | published
        extract_features(network, **stored, device="cpu", threads=1, output=made / "f.safetensors")
        data = data.with_features(made / "f.safetensors")
        published = {}
    train_values(folder, data, values, **published)
    export_embeddings(
        values,
        model=folder / "model.safetensors",
        last=folder / "last.safetensors",
        **data.as_arguments(),
        device="cpu",
        threads=1,
        output=folder / "embeddings.parquet",
    )
    files = {file.name: provenance.digest(file) for file in folder.glob("*.*")}
    provenance.write(provenance.Record("train", files, {}, "", ""), folder)
    members = pq.read_table(data.index)["member"].to_pylist()
    stored = read_embeddings(folder / "embeddings.parquet")["best_test_epoch"]["test"]
    return folder, [pictures / members[each] for each in stored.image_ids], stored


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_embeddings_are_the_stored_ones(run):
    folder, paths, stored = run
    model = dmlbench.load(folder, device="cpu")
    found = model.embed(paths)
    assert found.dtype == np.float32
    assert found.std() > 0.01
    close(found, stored.embeddings)
    opened = [Image.open(path) for path in paths[:3]]
    close(model.embed([opened[0], np.asarray(opened[1]), str(paths[2])]), stored.embeddings[:3])


@pytest.mark.parametrize("kind", EXPORTS)
def test_exports_give_the_stored_embeddings(run, kind, tmp_path):
    folder, paths, stored = run
    model = dmlbench.load(folder, device="cpu")
    if kind == "onnx":
        runtime = pytest.importorskip("onnxruntime", reason="needs ONNX: make test-optional")
    file = model.export(kind, tmp_path / f"model{EXPORTS[kind]}")
    # Other batches than the exporter saw.
    images = model.images(paths[:5])
    if kind == "safetensors":
        found = dmlbench.load(file, device="cpu").embed(paths[:5])
    elif kind == "torch":
        described = {"preprocessing": ""}
        with warnings.catch_warnings(action="error"):
            program = torch.export.load(file, extra_files=described).module()
            found = program(images).detach().numpy()
        check_of_others(json.loads(described["preprocessing"]), program)
    else:
        session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"images": images.numpy()})
        assert "shorter_side" in session.get_modelmeta().custom_metadata_map["preprocessing"]
    close(found, stored.embeddings[:5])
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def check_of_others(said, program):
    """The check vector, by Pillow and NumPy alone and what the metadata say."""
    height, width, *_ = said["check"]["shape"]
    y, x, c = np.indices((height, width, 3))
    picture = ((3 * x + 5 * y + 7 * c) % 256).astype(np.uint8)
    if len(said["check"]["shape"]) == 2:
        picture = picture[..., 0]
    shorter = said["shorter_side"]
    sides = [shorter * each // min(height, width) for each in (width, height)]
    values = np.asarray(Image.fromarray(picture).resize(sides, Image.Resampling.BILINEAR))
    values = values.reshape(*values.shape[:2], -1).transpose(2, 0, 1).astype(np.float32) / 255
    for step in said["transforms"]:
        size = step["center_crop"]["size"]
        top, left = (round((side - size) / 2) for side in values.shape[1:])
        values = values[:, top : top + size, left : left + size]
    close(program(torch.from_numpy(values[None].copy())).detach()[0], said["check"]["embedding"])


def test_neighbors_are_the_nearest_by_cosine(run):
    folder, paths, stored = run
    model = dmlbench.load(folder, device="cpu")
    distance, nearest = (
        NearestNeighbors(n_neighbors=4, metric="cosine", algorithm="brute")
        .fit(stored.embeddings)
        .kneighbors(stored.embeddings[:1])
    )
    for among, names in ((None, stored.image_ids.tolist()), (paths, list(map(str, paths)))):
        found = model.neighbors(paths[0], 4, among=among)
        assert [names.index(each.picture) for each in found] == nearest[0].tolist()
        close([each.distance for each in found], distance[0])
    assert model.neighbors(paths[0], 1)[0].label == stored.labels[0]
    assert len(model.neighbors(paths[0], 99, among=paths[:2])) == 2


def test_weights_are_compared_with_the_record(run, tmp_path):
    copied = shutil.copytree(run[0], tmp_path / "copied", dirs_exist_ok=True)
    weights = load_file(copied / "model.safetensors")
    weights[max(weights)] += 1e-3
    save_file(weights, copied / "model.safetensors")
    with pytest.raises(DamagedError, match="SHA-256 digest is not the one that train recorded"):
        dmlbench.load(copied)
    exported = dmlbench.load(run[0], device="cpu").export("safetensors", tmp_path / "m.safetensors")
    changed = load_file(exported)
    changed[max(changed)] += 1e-3
    with safe_open(exported, "pt") as file:
        save_file(changed, exported, file.metadata())
    with pytest.raises(DamagedError, match="not those that were exported"):
        dmlbench.load(exported)


def test_another_networks_vectors_are_refused(run, tmp_path):
    model = dmlbench.load(run[0], device="cpu")
    gallery = Gallery(["a.png"], np.ones((1, 8), np.float32))
    write_gallery(gallery, model.origin, tmp_path / "own.parquet")
    write_gallery(gallery, {}, tmp_path / "other.parquet")
    assert model.gallery(str(tmp_path / "own.parquet")).pictures == ["a.png"]
    with pytest.raises(UserError, match=r"other\.parquet: not of this run's network"):
        model.gallery(tmp_path / "other.parquet")


def test_a_run_under_another_runs_name_is_not_loaded(run, tmp_path):
    """Also without records, as those of an earlier version or of a copy of some files."""
    folder = run[0]
    spec = dmlbench.load(folder, device="cpu").spec
    own = folder_of(spec, data="birds-01234567", versions={})
    others = [
        folder_of(spec.model_copy(update=other), data="birds-01234567", versions={})
        for other in ({"seed": spec.seed + 1}, {"embedding_dim": 99}, {"dataset": "cars"})
    ]
    if (published := folder.parent / "weights").exists():
        (tmp_path / "weights").symlink_to(published)
    for name in (own, *others):
        shutil.copytree(folder, tmp_path / "runs" / name)
    assert dmlbench.load(tmp_path / "runs" / own, device="cpu").spec == spec
    for name in others:
        with pytest.raises(MisplacedError, match=f"{name}: belongs to a run "):
            dmlbench.load(tmp_path / "runs" / name, device="cpu")


def test_what_is_not_finite_is_near_to_nothing():
    rows = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
    gallery = Gallery([f"{n}.png" for n in range(20)], rows)
    broken = np.where(np.arange(20)[:, None] == 7, np.nan, rows)
    wrong = {
        "query: its embedding is not finite": (gallery, rows[0] * np.nan),
        r"7\.png: its embedding is not finite": (Gallery(gallery.pictures, broken), rows[0]),
        "no picture to search": (Gallery([], rows[:0]), rows[0]),
        r"query: an embedding \[4\]; allowed: \[8\]": (gallery, rows[0][:4]),
    }
    for said, (searched, query) in wrong.items():
        with pytest.raises(UserError, match=said):
            searched.nearest(query, 3)
    assert [each.picture for each in gallery.nearest(rows[3], 1)] == ["3.png"]
