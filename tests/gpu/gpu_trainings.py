"""Small trainings that take each of the ways through a step, for a pretended GPU."""

from dmlbench.training import loop
from safetensors.torch import load_file
from toy_training import VALUES, merged, outputs

MINED = {"loss": {"name": "triplet", "margin": 0.1}, "miner": {"name": "semi_hard_random"}}
PROFS = {"name": "profs", "images_per_class": 4}
TRAININGS = {
    "proxies": {},
    "random tuples": MINED,
    "exchanged tuples": MINED | {"regularizers": [{"name": "rho", "p_switch": 0.5}]},
    "mixup": {"regularizers": [{"name": "manifold_mixup"}]},
    "proximity": {"regularizers": [{"name": "proximity", "weight": 10.0}]},
    "unnormalized": {
        "normalize": False,
        "loss": {"name": "n_pair"},
        "regularizers": [{"name": "embedding_l2"}],
    },
    "sgd, clipped": {
        "optimizer": {"name": "sgd", "momentum": 0.9, "learning_rate": 0.01},
        "clip_value": 0.01,
    },
    "rmsprop, warmup": {
        "optimizer": {"name": "rmsprop", "learning_rate": 0.01},
        "warmup_epochs": 1,
    },
    "adam, schedule": {
        "optimizer": {"name": "adam", "learning_rate": 0.01},
        "schedule": {"step": 1, "gamma": 0.5},
    },
    "fused": {"optimizer": {"fused": True}},
    "profs": MINED | {"sampler": PROFS},
    "profs, soft triple": {"loss": {"name": "soft_triple"}, "sampler": PROFS},
    "profs_hncm": MINED | {"sampler": {"name": "profs_hncm", "images_per_class": 4}},
    "profs_hncm, soft triple": {
        "loss": {"name": "soft_triple"},
        "sampler": {"name": "profs_hncm", "images_per_class": 4},
        "regularizers": [{"name": "proximity", "weight": 1.0}],
    },
    "greedy_coreset": {"sampler": {"name": "greedy_coreset", "pool_size": 40}},
    "greedy_coreset, groups": {
        "sampler": {"name": "greedy_coreset", "pool_size": 40, "group_size": 2}
    },
    "distance_distribution": {"sampler": {"name": "distance_distribution", "pool_size": 40}},
    "distance_distribution, groups": {
        "sampler": {"name": "distance_distribution", "pool_size": 40, "group_size": 2}
    },
    "frd": {"sampler": {"name": "frd", "pool_size": 40}},
    "frd, groups": {"sampler": {"name": "frd", "pool_size": 40, "group_size": 2}},
}


def train(folder, data, changes, device="cpu", **arguments):
    values = merged(VALUES, {"epochs": 2, "iterations_per_epoch": 5} | changes)
    loop.train(
        values, **data.as_arguments(), **outputs(folder), device=device, threads=1, **arguments
    )
    return load_file(folder / "last.safetensors")
