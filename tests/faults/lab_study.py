"""A study that runs every rule in a minute, for the fault lab."""

import shutil
from pathlib import Path

import numpy as np
import yaml
from dmlbench.data.generate import generate
from dmlbench.provenance import digest
from project import Project
from safetensors.numpy import save_file

NETWORK = {
    "title": "Toy network",
    "backbone": {"name": "convnet", "widths": [8, 8]},
    **{"pixels": 16, "mode": "gray", "mean": [0.5], "std": [0.5], "threads": 1},
}
FROZEN = NETWORK | {
    "title": "Frozen toy network",
    "backbone": "one_convolution",
    **{"mode": "rgb", "mean": [0.5] * 3, "std": [0.5] * 3},
    "frozen": [{"name": "center_crop", "size": 16}],
}
BACKBONE = '''"""A backbone whose published weights are a few numbers."""

from torch import Tensor, nn

from dmlbench.networks.backbones._published import Published


class OneConvolution(Published):
    """A convolution with a kernel of 4 x 4 pixels."""

    def __init__(self, input_channels: int):
        super().__init__(nn.Conv2d(3, 8, 4, stride=4), 8, input_channels)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 8, H / 4, W / 4] of images [B, 3, H, W]."""
        return self.body(images).relu()
'''
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
ON_IMAGES = {"split": "half", "network": "toy"}
IN_FOLDS = ROW | {"dataset": "drawn", "split": "half4fold"}
SEARCH = {
    "title": "A toy search",
    "run": IN_FOLDS,
    "folds": [0],
    "set": {"epochs": 1},
    "strategy": "coordinate",
    "budget": 3,
    "workers": 4,
    "parameters": {"loss.margin": {"title": "margin", "low": 0.2, "high": 0.6, "step": 0.2}},
}
EXPERIMENT = {"title": "Toy spaces", "experiment": {"name": "toy_spaces"}, "seeds": [0]}
KIND = {"name": "scores_next_to_printed", "metrics": ["recall_at_1", "map_at_r"]}
STUDY = {
    "title": "A toy study",
    "question": "What breaks it?",
    "description": "Every rule at toy size.",
    "audit": "toy",
    "variants": {"tuned": {"title": "tuned by", "search": "{value}"}},
    "runs": [
        ROW | {"method": ["untrained", "contrastive"]},
        IN_FOLDS | {"fold": [0, 1]},
        IN_FOLDS | {"fold": 0, "variant": "tuned=toy"},
        ROW | {"network": "frozen"},
    ],
    "combine": [{"where": {"split": "half4fold", "variant": "base"}, "forms": ["concatenated"]}],
    "measures": ["training_structure"],
    "experiments": ["toy"],
    "tournament": {"metric": "recall_at_1", "where": ON_IMAGES},
    "tables": {
        "recall": {
            "title": "Recall",
            "kind": KIND | {"panel": "network"},
            "where": {"split": "half"},
        },
        "folds": {
            "title": "Folds",
            "kind": KIND | {"panel": "fold"},
            "where": {"split": "half4fold"},
        },
        "structure": {
            "title": "Structure",
            "kind": KIND | {"metrics": ["pi_ratio"], "role": "train"},
            "where": ON_IMAGES,
            "measures": ["training_structure"],
        },
    },
    "figures": {
        "recall": {
            "title": "Recall by loss",
            "kind": {"name": "recall_by_embedding_dim"},
            "where": ON_IMAGES,
        }
    },
    "embedding_maps": {
        "toy": {"title": "A map", "where": ON_IMAGES},
    },
}
COLUMNS = (
    "study,table,panel,dataset,network,embedding_dim,method,variant,split,metric,value,std,note\n"
)
PRINTED = {
    "table_01.csv": f"{COLUMNS}"
    "toy,table_01,,toy,toy,8,untrained,,test,recall_at_1,30.0,1.0,\n"
    "toy,table_01,,toy,toy,8,contrastive,,test,recall_at_1,50.0,1.0,\n",
    "mapping.yaml": "rules: [{then: {split: half}}]\n",
    "margins.yaml": "noise: {deviations: {}}\n",
    "margins.csv": "dataset,network,embedding_dim,split,fold,role,metric,"
    "numbers,spread,noise,error,freedom,margin,source\n"
    "toy,toy,8,half,,test,recall_at_1,2,14.14,1,1,2,5,printed deviations\n",
    "audit.yaml": "counts: [{where: {}, queries: 220}]\n",
    "claims.yaml": yaml.safe_dump(
        {
            "smallest": {"recall_at_1": 0.5},
            "because": "it is a toy",
            "claims": [
                {
                    **{"id": "training_helps", "says": "Training helps", "place": "", "line": 1},
                    **{"arm": {"method": "contrastive"}, "control": {"method": "untrained"}},
                }
            ],
        }
    ),
}
"""The folder of printed numbers of a paper that has the study's name."""
ENTRIES = {
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
        networks = {"toy": NETWORK, "frozen": FROZEN | {"weights": self._published_weights()}}
        added = ENTRIES | {"networks": networks, "datasets": {"toy": toy, "drawn": DRAWN}}
        for name, entries in added.items():
            with open(folder / "config" / f"{name}.yaml", "a") as file:
                file.write("\n" + yaml.safe_dump(entries, sort_keys=False))
        for path in (folder / "config" / "studies").iterdir():
            path.unlink()
        (folder / "config" / "studies" / "toy.yaml").write_text(
            yaml.safe_dump(STUDY, sort_keys=False)
        )
        self._print()

    def _published_weights(self) -> dict:
        """Add a backbone and its file of weights; returns the entry of a network's weights."""
        parts = self.folder / "workflow/scripts/dmlbench/networks/backbones"
        (parts / "one_convolution.py").write_text(BACKBONE)
        file, chance = self.folder / "published" / "toy.safetensors", np.random.default_rng(0)
        shapes = {"weight": (8, 3, 4, 4), "bias": (8,)}
        values = {name: chance.normal(size=shape) for name, shape in shapes.items()}
        save_file({name: each.astype(np.float32) for name, each in values.items()}, file)
        return {"file": file.name, "sha256": digest(file), "urls": [file.as_uri()]}

    def _print(self) -> None:
        """Write printed numbers of the study instead of those of the papers."""
        reference = self.folder / "config" / "reference"
        shutil.rmtree(reference)
        (reference / "toy").mkdir(parents=True)
        for name, text in PRINTED.items():
            (reference / "toy" / name).write_text(text)
