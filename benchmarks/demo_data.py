"""Would drawings make a better demo than glyphs? Its ten losses on both, as the demo trains them.

    python benchmarks/demo_data.py results/data/raw/drawings      # ten minutes of two cores

Of the sets without share-alike, 200 things that five of them draw, at 48 pixels in color, with a
wider network than the demo's; in the demo they would be packed in the repository. Writes
results/benchmarks/demo-data.json: CPU seconds of each study's processes, the R@1 of each loss in
the last epoch, in percent, and bytes of the pictures.
"""

import argparse
import os
import sys
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import yaml  # noqa: E402
from dmlbench.data.generators.drawings import Drawings  # noqa: E402
from dmlbench.plan.catalogs.read import read_mapping  # noqa: E402
from machine import machine, write_report  # noqa: E402
from planning import copy_project  # noqa: E402
from process_costs import make  # noqa: E402

CONFIG = REPOSITORY / "config"
SETS = ("twemoji", "noto", "noto-v1", "fluent-emoji-flat", "fxemoji", "emojione")
CLASSES, DESIGNERS, SIDE, SEED = 200, 5, 48, 0


def drawings(sets: Path, folder: Path) -> int:
    """Write a folder of pictures per thing; the bytes of them all."""
    files = [next(sets.glob(f"{name}-[0-9]*.json")) for name in SETS]
    drawn = folder.with_suffix(".zip")
    renderer = read_mapping(CONFIG / "datasets.yaml")["drawings"]["generator"]["renderer"]
    Drawings(renderer=renderer, size=SIDE, designers=DESIGNERS).draw(drawn, *files)
    with zipfile.ZipFile(drawn) as archive:
        members = defaultdict(list)
        for member in archive.namelist():
            members[member.split("/")[0]].append(member)
        chosen = np.random.default_rng(SEED).choice(sorted(members), CLASSES, replace=False)
        for name in chosen:
            archive.extractall(folder, members[name])
    return sum(file.stat().st_size for file in folder.rglob("*.png"))


def add_study(project: Path, folder: Path) -> None:
    """The demo on a folder of pictures, as a user's study `drawn`."""
    demo = read_mapping(CONFIG / "studies" / "demo.yaml")
    own = project / "own" / "drawn"
    (own / "studies").mkdir(parents=True)
    metrics = ["recall_at_1", "recall_at_2", "recall_at_4", "recall_at_8"]
    data = {"title": "Drawn", "folder": str(folder), "splits": {"half": "half"}, "metrics": metrics}
    runs = [demo["runs"][0] | {"dataset": "drawn", "network": "convnet4_color"}]
    study = demo | {"runs": runs, "embedding_maps": {}}
    (own / "datasets.yaml").write_text(yaml.safe_dump({"drawn": data}))
    (own / "studies" / "drawn.yaml").write_text(yaml.safe_dump(study))


def measured(project: Path, study: str) -> dict:
    """CPU seconds of all processes of a study, and R@1 of the last epoch by loss and size."""
    used = make(project, [study], cores=os.cpu_count())
    scores = pd.read_parquet(project / "results" / "studies" / study / "scores.parquet")
    last = scores[(scores["metric"] == "recall_at_1") & (scores["selection"] == "last_epoch")]
    return {
        "cpu_seconds": sum(process.cpu_seconds for process in used),
        "recall_at_1": {
            f"{row.method}, {row.embedding_dim}-D": round(100 * row.value, 2)
            for row in last.sort_values(["method", "embedding_dim"]).itertuples()
        },
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", type=Path, help="the folder of the sets' JSON files")
    sets = parser.parse_args().sets
    report = machine(["torch", "snakemake"])
    with tempfile.TemporaryDirectory() as name:
        project = Path(name, "project")
        project.mkdir()
        copy_project(project)
        size = drawings(sets, Path(name, "drawn"))
        add_study(project, Path(name, "drawn"))
        report |= {"glyphs": measured(project, "demo")}
        report |= {"drawings": {"bytes": size, **measured(project, "drawn")}}
    write_report(REPOSITORY / "results" / "benchmarks" / "demo-data.json", report)
    for data in ("glyphs", "drawings"):
        print(data, report[data])


if __name__ == "__main__":
    main()
