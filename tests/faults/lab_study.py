"""A study that runs every rule in a minute, for the fault lab."""

from pathlib import Path

import yaml
from dmlbench.data.generate import generate
from dmlbench.provenance import digest
from project import Project

NETWORK = {
    "title": "Toy network",
    "backbone": {"name": "convnet", "widths": [8, 8]},
    **{"pixels": 16, "mode": "gray", "mean": [0.5], "std": [0.5], "threads": 1},
}
RECIPE = {
    "title": "Two short epochs",
    **{"epochs": 2, "iterations_per_epoch": 4, "batch_size": 40, "evaluate_every": 1},
    "sampling": {
        "random": "random",
        "balanced": {"name": "class_balanced", "images_per_class": 5},
    },
    "methods": {"contrastive": {"loss": {"margin": 0.5}}},
    "optimizer": {"name": "adamw", "learning_rate": 0.001, "weight_decay": 0.0001},
    "transforms": {
        "train": [{"name": "random_resized_crop", "size": 16}, "random_horizontal_flip"],
        "test": [{"name": "center_crop", "size": 16}],
    },
    "selection": "best_test_epoch",
    "overrides": [{"where": {"split": "half4fold"}, "set": {"selection": "best_validation_epoch"}}],
}
DATASET = {
    "title": "Toy images",
    "layout": "class_folders",
    "splits": {"half": "half", "half4fold": "half4fold"},
    "metrics": ["recall_at_1", "map_at_r"],
}
DRAWN = DATASET | {
    "title": "Drawn toy images",
    "generator": {
        **{"name": "glyphs", "characters": 44, "images_per_character": 10, "size": 16, "seed": 0},
    },
}
ROW = {
    **{"dataset": "toy", "network": "toy", "embedding_dim": 8, "method": "contrastive"},
    **{"recipe": "toy", "split": "half", "seed": 0},
}
IN_FOLDS = ROW | {"dataset": "drawn", "split": "half4fold"}
SEARCH = {
    "title": "A toy search",
    "run": IN_FOLDS,
    "folds": [0],
    "set": {"epochs": 1},
    "strategy": "coordinate",
    "budget": 3,
    "workers": 2,
    "parameters": {"loss.margin": {"title": "margin", "low": 0.2, "high": 0.6, "step": 0.2}},
}
EXPERIMENT = {"title": "Toy spaces", "experiment": {"name": "toy_spaces"}, "seeds": [0]}
KIND = {"name": "scores_next_to_printed", "metrics": ["recall_at_1", "map_at_r"]}
STUDY = {
    "title": "A toy study",
    "question": "What breaks it?",
    "description": "Every rule at toy size.",
    "audit": "can2019",
    "variants": {"tuned": {"title": "tuned by", "search": "{value}"}},
    "runs": [
        ROW | {"method": ["untrained", "contrastive"]},
        IN_FOLDS | {"fold": [0, 1]},
        IN_FOLDS | {"fold": 0, "variant": "tuned=toy"},
    ],
    "combine": [{"where": {"split": "half4fold", "variant": "base"}, "forms": ["concatenated"]}],
    "measures": ["training_structure"],
    "experiments": ["toy"],
    "tournament": {"metric": "recall_at_1", "where": {"split": "half"}},
    "tables": {
        "recall": {"title": "Recall", "kind": KIND, "where": {"split": "half", "dataset": "toy"}},
        "folds": {
            "title": "Folds",
            "kind": KIND | {"panel": "fold"},
            "where": {"split": "half4fold"},
        },
        "structure": {
            "title": "Structure",
            "kind": KIND | {"metrics": ["pi_ratio"], "role": "train"},
            "where": {"split": "half"},
            "measures": ["training_structure"],
        },
    },
    "figures": {
        "recall": {
            "title": "Recall by loss",
            "kind": {"name": "recall_by_embedding_dim"},
            "where": {"split": "half"},
        }
    },
    "embedding_maps": {
        "toy": {"title": "A map", "where": {"split": "half"}},
    },
}
ENTRIES = {
    "networks": {"toy": NETWORK},
    "recipes": {"toy": RECIPE},
    "searches": {"toy": SEARCH},
    "experiments": {"toy": EXPERIMENT},
}


class LabProject(Project):
    """A copy of the project whose one study, `toy`, is all that it makes.

    Args:
        folder: for the project, with its archive to be downloaded in `published`.
    """

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.results = folder / "results"
        archive = folder / "published" / "toy.zip"
        archive.parent.mkdir()
        generate("glyphs", archive, characters=44, images_per_character=10, size=16, seed=1)
        published = {"urls": [archive.as_uri()], "sha256": digest(archive)}
        toy = DATASET | {"archives": {archive.name: published}}
        added = ENTRIES | {"datasets": {"toy": toy, "drawn": DRAWN}}
        for name, entries in added.items():
            with open(folder / "config" / f"{name}.yaml", "a") as file:
                file.write("\n" + yaml.safe_dump(entries, sort_keys=False))
        for path in (folder / "config" / "studies").iterdir():
            path.unlink()
        (folder / "config" / "studies" / "toy.yaml").write_text(
            yaml.safe_dump(STUDY, sort_keys=False)
        )
