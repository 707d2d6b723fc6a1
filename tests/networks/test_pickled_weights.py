"""Files of weights in formats of earlier torches: what they hold is read, no code is run."""

import pickle
from pathlib import Path

import pretrainedmodels
import pytest
import torch
from weight_files import backbone, load, refused


class Legacy(pickle.Pickler):
    """Writes tensors like torch 0.3, with which BNInception's weights were published."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = {}

    def reducer_override(self, value):
        if not isinstance(value, torch.Tensor):
            return NotImplemented
        key = str(len(self.storages))
        self.storages[key] = value.contiguous().numpy()
        place = ("storage", torch.FloatStorage, key, "cpu", value.numel(), None)
        arguments = (Place(place), 0, tuple(value.shape), value.contiguous().stride())
        return torch._utils._rebuild_tensor, arguments

    def persistent_id(self, value):
        return value.place if isinstance(value, Place) else None


class Place:
    """Where a tensor's numbers are."""

    def __init__(self, place):
        self.place = place


def save_as_torch_0_3(tensors, path):
    sizes = {"short": 2, "int": 4, "long": 4}
    with open(path, "wb") as file:
        pickle.dump(torch.serialization.MAGIC_NUMBER, file, protocol=2)
        pickle.dump(1001, file, protocol=2)
        facts = {"protocol_version": 1001, "little_endian": True, "type_sizes": sizes}
        pickle.dump(facts, file, protocol=2)
        pickler = Legacy(file)
        pickler.dump(tensors)
        pickle.dump(sorted(pickler.storages), file, protocol=2)
        for key in sorted(pickler.storages):
            numbers = pickler.storages[key]
            file.write(numbers.size.to_bytes(8, "little") + numbers.tobytes())


def save_before_zip_files(tensors, path):
    torch.save(tensors, path, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("save", [save_before_zip_files, save_as_torch_0_3])
def test_bninceptions_weights_are_read_from_the_formats_of_their_time(tmp_path, save):
    torch.manual_seed(1)
    published = {
        name: torch.randn_like(tensor)
        for name, tensor in pretrainedmodels.bninception(pretrained=None).state_dict().items()
        if "num_batches" not in name
    }
    path = tmp_path / "bn_inception.pth"
    save(published, path)
    built = backbone("bn_inception")
    load(built, path)
    own = built.body.state_dict()
    assert {name for name in published if not name.startswith("last_linear")} <= set(own)
    for name, tensor in own.items():
        assert "num_batches" in name or torch.equal(tensor, published[name])


class Code:
    """What a pickle runs when it is read."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


@pytest.mark.parametrize(
    "save",
    [torch.save, save_before_zip_files, lambda w, path: path.write_bytes(pickle.dumps(w, 2))],
)
def test_code_in_a_file_of_any_format_is_refused_and_not_run(tmp_path, save):
    path, trace = tmp_path / "resnet18.pth", tmp_path / "run"
    save({"conv1.weight": Code(trace)}, path)
    assert "not a file of weights" in refused(backbone("resnet18"), path)[0]
    assert not trace.exists()
