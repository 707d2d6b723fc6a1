"""The options with which each part is computed: those of the toy, and other values of each."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Annotated, Any, Literal, get_args, get_origin

from dmlbench import registry, values

# Options that a part needs, or with which it fits the toy input.
GIVEN: dict[str, dict[str, Any]] = {
    "data/generators/drawings": {"renderer": version("resvg-py"), "size": 16, "designers": 2},
    "data/generators/glyphs": {"characters": 3, "images_per_character": 2, "size": 16},
    "data/layouts/vectors": {"file": "vectors.npy"},
    "data/splits/fixed": {"validation": 0.25},
    "data/transforms/center_crop": {"size": 12},
    "data/transforms/normalize": {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]},
    "data/transforms/random_crop": {"size": 12},
    "data/transforms/random_resized_crop": {"size": 12},
    "data/transforms/resize": {"size": 12},
    "experiments/distance_sensitive_toy": {
        "samples": 8,
        "iterations": 1,
        "optimizer": "sgd",
        "margins": [0.1],
        "m1": [-2.25],
        "m2": [5],
    },
    "experiments/gaussian_classes": {"classes": 6, "training_classes": 3, "samples": 5},
    "experiments/loss_forces": {"losses": ["triplet", "facenet"], "grid": 3},
    "experiments/mined_regions": {"grid": 12},
    "experiments/projection_toy": {
        "classes": 6,
        "samples": 4,
        "projections": 1,
        "batch_size": 4,
        "rho": 1.0,
    },
    "experiments/random_embeddings": {"points": 60, "embedding_dim": 4, "classes": [3, 5]},
    "experiments/rho_lines": {"iterations": 1},
    "experiments/toy_spaces": {"samples": 8},
    "experiments/triplet_forces": {"triplets": 2, "grid": 3},
    "networks/backbones/convnet": {"widths": [4, 6]},
    "networks/backbones/torchvision": {"model": "mobilenet_v3_small"},
    "networks/backbones/vit_s16": {"image_size": 32},
    "samplers/class_balanced": {"images_per_class": 2},
    "samplers/class_balanced_with_replacement": {"images_per_class": 2},
    "samplers/distance_distribution": {"pool_size": 16, "bins": 8},
    "samplers/frd": {"pool_size": 16},
    "samplers/greedy_coreset": {"pool_size": 16},
    "search/pruners/median": {"startup_trials": 1},
    "search/strategies/tpe": {"startup_trials": 2},
}


# Another value of an option for which none can be derived from its type.
OTHER: dict[str, Any] = {
    # Neither changes a picture: other renderers and other pictures are refused.
    "data/generators/drawings.renderer": version("resvg-py"),
    "data/generators/drawings.sha256": "e3c5cd8e2ed439a94fef578c55b0c6a9cfac24fd5e2e8a4f4b1812f6268b1fb7",  # noqa: E501
    "data/layouts/listed.file": "others.csv",
    "data/layouts/listed.path": "file",
    "data/layouts/vectors.file": "others.npy",
    "data/layouts/vectors.label": "species",
    "data/layouts/vectors.path": "picture",
    "data/layouts/listed.label": "species",
    "data/layouts/listed.box": "box",
    "data/layouts/listed.group": "scene",
    "data/transforms/random_affine.degrees": 20.0,
    "data/transforms/random_affine.scale": [0.8, 1.2],
    "data/transforms/random_resized_crop.ratio": [0.5, 2.0],
    "data/transforms/random_resized_crop.scale": [0.2, 0.5],
    "data/transforms/normalize.mean": [0.1, 0.2, 0.3],
    "data/transforms/normalize.std": [0.5, 0.6, 0.7],
    "experiments/distance_sensitive_toy.margins": [0.1, 2.5],
    "experiments/distance_sensitive_toy.m1": [-2.5],
    "experiments/distance_sensitive_toy.m2": [5],
    "experiments/distance_sensitive_toy.optimizer": "rmsprop",
    "experiments/loss_forces.losses": ["ratio"],
    "experiments/loss_forces.options": {"triplet": {"margin": 0.4}},
    "experiments/projection_toy.batch_size": 6,
    "experiments/projection_toy.images_per_class": 4,
    "experiments/random_embeddings.classes": [4],
    "experiments/rho_lines.lines": "diagonal",
    "experiments/rho_lines.regularizer": "rho_anchor",
    "experiments/rho_lines.optimizer": "sgd",
    "experiments/rho_lines.miner": "multi_similarity",
    "experiments/rho_lines.batch_size": 8,
    "experiments/rho_lines.p_switch": 0.5,
    "miners/karaman_region.regions": [1, 3, 4],
    "networks/backbones/convnet.widths": [5],
    "networks/backbones/torchvision.model": "shufflenet_v2_x0_5",
    "networks/backbones/vit_s16.image_size": 48,
    "losses/recall_at_k_surrogate.ks": [1, 3],
    "samplers/class_balanced.images_per_class": 4,
    "samplers/class_balanced_with_replacement.images_per_class": 4,
    "samplers/spc.images_per_class": 4,
    "samplers/spc_with_replacement.images_per_class": 4,
    "samplers/profs.images_per_class": 4,
    "samplers/profs_hncm.images_per_class": 4,
    "search/strategies/coordinate.start": {"b": "y"},
}


def variations(package: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A part's options: those of the toy, and with each of its options at other values."""
    part = f"{package}/{name}"
    given = GIVEN.get(part, {})
    yield "", given
    for key, option in registry.options(package, name).items():
        if option.is_fact:
            continue
        usual = given.get(key, option.default)
        written = f"{part}.{key}"
        others = [OTHER[written]] if written in OTHER else list(_others(option.kind, usual))
        if not others:
            raise LookupError(f"{written} is {option.kind}: give another value of it in OTHER")
        for other in others:
            yield f"{key}={other}", given | {key: other}


def _others(kind: Any, usual: Any) -> Iterator[Any]:
    """Other values of an option: all of a choice, one of a range."""
    choices = [word for each in (kind, *get_args(kind)) for word in _words(each)]
    yield from (word for word in choices if word != usual)
    if isinstance(usual, bool):
        yield not usual
    elif not choices:
        start = 1 if usual is None or usual == float("inf") else usual
        if isinstance(start, int | float):
            steps = (start * 1.5, start / 2, start + 1, start - 1, 0.3, 2)
            found = (other for other in steps if not values.refusal(kind, other) and other != usual)
            yield from list(found)[:1]


def _words(kind: Any) -> tuple:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_args(kind) if get_origin(kind) is Literal else ()
