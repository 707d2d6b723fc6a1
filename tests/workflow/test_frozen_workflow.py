"""Features of a frozen network: made once, shared by runs, made again if they are damaged."""

import pytest
import yaml
from project import Project

pytestmark = pytest.mark.workflow

STUDY = {
    "title": "Heads",
    "question": "Which?",
    "description": "Of birds that are drawn characters.",
    "runs": [
        {
            "dataset": "cub200_160",
            "network": "efficientnet_lite0_frozen",
            "embedding_dim": 512,
            "method": ["raw_features", "proxy_anchor"],
            "recipe": "heads",
            "split": "half",
            "seed": 0,
        }
    ],
    "tables": {
        "recall": {"title": "R@1", "kind": {"name": "scores_by_method", "metrics": ["recall_at_1"]}}
    },
}
TARGET = (
    *("--quiet", "rules", "--configfile", "config/config.yaml", "config/rehearsal.yaml"),
    *("--", "heads_table_recall"),
)


def test_runs_share_features_which_damage_makes_again(tmp_path):
    project = Project(tmp_path)
    (tmp_path / "config/studies/heads.yaml").write_text(yaml.safe_dump(STUDY))
    planned = project.planned(*TARGET)
    assert (planned["features"], planned["train"]) == (1, 2)
    project.snakemake(*TARGET)
    (features,) = project.results.glob("data/*/features-convnet-*.safetensors")
    good = features.read_bytes()

    # A metric trains nothing, and needs no features.
    features.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    metrics = ("config/datasets.yaml", "metrics: [recall_at_1", "metrics: [nmi, recall_at_1")
    with project.edited(*metrics):
        planned = project.planned(*TARGET)
        assert planned.keys() & {"features", "train", "embed"} == set()
        assert planned["evaluate"] == 2

    with project.edited("config/studies/heads.yaml", "- proxy_anchor", "- triplet"):
        output = project.snakemake(*TARGET, check=False)
        assert f"{features.name}: " in output
        assert "it is removed: run again, and it is made again" in output
        project.snakemake(*TARGET)
    assert features.read_bytes() == good
