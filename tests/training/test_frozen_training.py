"""A head on stored features trains as it does on images through a network that stays as it is."""

import threading

import numpy as np
import pytest
import torch
from dmlbench.data.features import Features
from dmlbench.data.feed import Feed
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms.center_crop import CenterCrop
from dmlbench.errors import DamagedError, UserError
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.assembly import assemble
from dmlbench.training.data import read_roles
from dmlbench.training.embedding import embed_images
from dmlbench.training.extraction import extract_features
from dmlbench.training.seeds import seed_everything
from stores import images_of
from toy_training import VALUES, equal, run_epoch, train, trainer

CROP = [{"name": "center_crop", "size": 12}]
FROZEN = {"network": {"frozen": CROP}, "transforms": {"train": [], "test": []}}
# The same on images: the backbone learns nothing, and its BatchNorm only normalizes.
ON_IMAGES = {
    "transforms": {"train": CROP, "test": CROP},
    "warmup_epochs": VALUES["epochs"],
    "frozen_batchnorm": "both",
}


@pytest.fixture(scope="module")
def features(toy_data, tmp_path_factory):
    """A file of the features of all toy images."""
    output = tmp_path_factory.mktemp("features") / "features.safetensors"
    network = Spec.model_validate(merged(VALUES, FROZEN)).known["network"]
    stored = {"pixels": toy_data.pixels, "pixel_table": toy_data.pixel_table}
    extract_features(network, **stored, device="cpu", threads=1, output=output)
    return output


@pytest.fixture
def data(toy_data, features):
    return toy_data.with_features(features)


def test_features_come_in_the_order_asked_for_without_a_thread(features):
    store, threads = Features(features), threading.active_count()
    wanted = [np.array([3, 1]), np.array([0, 0, 2])]
    for batch, ids in zip(Feed(store, torch.device("cpu")).batches(wanted), wanted, strict=True):
        assert torch.equal(batch, store.batch(ids))
        assert threading.active_count() == threads


def on_features(data, features, changes=None):
    spec = Spec.model_validate(merged(merged(VALUES, FROZEN), changes or {}))
    cpu = torch.device("cpu")
    roles = read_roles(data.index, data.split, spec.fold)
    return assemble(spec, Feed(Features(features), cpu), roles, cpu)


def test_features_are_what_the_network_pools(toy_data, features):
    seed_everything(0, "initial weights")
    network = Embedder(Spec.model_validate(VALUES)).eval()
    store, stored = Pixels(toy_data.pixels, toy_data.pixel_table), Features(features)
    assert len(stored) == len(store) == 160
    ids = [3, 159, 0, 77]
    images = CenterCrop(size=12)(images_of(store, ids)) / 255
    with torch.no_grad():
        pooled = network.backbone((images - 0.5) / 0.5).mean(dim=(2, 3))
    torch.testing.assert_close(stored.batch(ids), pooled, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": {"name": "triplet"}, "miner": {"name": "semi_hard"}},
        {"sampler": {"name": "greedy_coreset", "pool_size": 40}},
        {"hidden_layers": [6]},
    ],
)
def test_a_head_learns_the_same_from_features_as_from_images(toy_data, features, changes):
    image_run = trainer(toy_data, ON_IMAGES | changes)
    frozen_run = on_features(toy_data, features, changes)
    # Only the backbone's draws are missing before those of head and loss.
    frozen_run.network.head.load_state_dict(image_run.network.head.state_dict())
    frozen_run.objective.load_state_dict(image_run.objective.state_dict())
    for _ in range(2):
        run_epoch(image_run)
        run_epoch(frozen_run)
    for on_image, on_feature in zip(image_run.history, frozen_run.history, strict=True):
        assert on_feature == pytest.approx(on_image, rel=1e-4)
    heads = [run.network.head.state_dict() for run in (image_run, frozen_run)]
    torch.testing.assert_close(*heads, rtol=1e-3, atol=1e-5)


def test_a_frozen_training_leaves_the_files_of_any_other(data, tmp_path):
    one, other = (train(tmp_path / name, data, FROZEN) for name in "ab")
    assert equal(one, other)
    assert one.keys() == {"head.weight", "head.bias"}


def test_an_identity_head_gives_the_features_themselves(toy_data, features):
    raw = {"loss": None, "epochs": 0, "head_initialization": "identity"}
    made = on_features(toy_data, features, raw)
    spec = Spec.model_validate(merged(merged(VALUES, FROZEN), raw))
    stored = Features(features).batch(range(160))
    expected = torch.nn.functional.normalize(stored)
    found = embed_images(spec, made.network, made.batches.inputs.feed, range(160))
    torch.testing.assert_close(found, expected)
    with pytest.raises(UserError, match=r"embedding_dim 5: .* allowed: 8$"):
        on_features(toy_data, features, raw | {"embedding_dim": 5})


@pytest.mark.parametrize("change", ["one bit", "half of it", "another file"])
def test_damage_is_noticed(features, tmp_path, change):
    content = bytearray(features.read_bytes())
    if change == "one bit":
        content[-5] ^= 1
    damaged = tmp_path / "features.safetensors"
    damaged.write_bytes(
        {"half of it": content[: len(content) // 2], "another file": b"{}"}.get(change, content)
    )
    with pytest.raises(DamagedError, match=r"features\.safetensors"):
        Features(damaged)


def test_an_image_without_features_is_named(features):
    with pytest.raises(UserError, match=r"features\.safetensors: no image has the id 160"):
        Features(features).batch([0, 160])


def test_transforms_of_images_are_refused(toy_data):
    with pytest.raises(ValueError, match="transforms: the network is frozen; allowed: none"):
        Spec.model_validate(merged(VALUES, {"network": {"frozen": CROP}}))
