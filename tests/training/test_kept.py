"""A finished training is restored from its second name, if it is of the spec that is asked for."""

import shutil

from dmlbench.training.kept import keep, put_back
from toy_training import VALUES, train_values

NAMES = ("model.safetensors", "last.safetensors", "history.parquet", "spec.yaml")


def test_a_kept_training_of_another_spec_is_not_restored(tmp_path, toy_data):
    values = VALUES | {"epochs": 1}
    other = values | {"seed": values["seed"] + 1}
    train_values(tmp_path / "first", toy_data, values)
    keep(tmp_path / "first" / name for name in NAMES)
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    for folder in ("first", "second"):
        for name in NAMES:
            (tmp_path / folder / name).unlink()
    assert put_back([tmp_path / "first" / name for name in NAMES], values)
    assert not put_back([tmp_path / "second" / name for name in NAMES], other)
    assert not (tmp_path / "second" / NAMES[0]).exists()
