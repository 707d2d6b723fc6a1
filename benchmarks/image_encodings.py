"""How far do scores move if the same photographs come in another encoding?

    python benchmarks/image_encodings.py               # every bird
    python benchmarks/image_encodings.py --every 4     # every fourth bird

Who makes `cub200_160` from the published archive has the pixels of other files than ours, which
are WebP that was resized by other code. Here our birds are encoded and resized again, and what the
study's pipeline makes of them is compared with what it makes of ours: features, heads on them with
the same seeds, scores on the same unseen classes. A shift is a mean over test classes, with its
interval over classes, of R@1 in percentage points. Writes results/benchmarks/encodings.json after
each encoding and prints a table.
"""

import argparse
import io
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402 (the library is on the path only now)
from dmlbench import plan  # noqa: E402
from dmlbench.data.embeddings import read_embeddings  # noqa: E402
from dmlbench.data.index import index  # noqa: E402
from dmlbench.data.pack import pack  # noqa: E402
from dmlbench.data.split import split  # noqa: E402
from dmlbench.evaluation import score, t_interval  # noqa: E402
from dmlbench.plan.catalogs.rows import Row  # noqa: E402
from dmlbench.training.export import export_embeddings  # noqa: E402
from dmlbench.training.extraction import extract_features  # noqa: E402
from dmlbench.training.loop import train  # noqa: E402
from machine import machine, write_report  # noqa: E402
from PIL import Image  # noqa: E402

LISTS = ("images.txt", "image_class_labels.txt", "train_test_split.txt")
ROWS = {"raw_features": (1280, [0]), "contrastive": (512, [0, 1]), "proxy_anchor": (512, [0])}
"""Method -> embedding size and seeds."""


def jpeg(quality: int, times: int = 1) -> Callable[[bytes], bytes]:
    """An encoder of our images as JPEG, enlarged before that as a photograph is larger."""

    def encoded(data: bytes) -> bytes:
        image, buffer = Image.open(io.BytesIO(data)).convert("RGB"), io.BytesIO()
        if times > 1:
            larger = [times * side for side in image.size]
            image = image.resize(larger, Image.Resampling.BICUBIC)
        image.save(buffer, "JPEG", quality=quality)
        return buffer.getvalue()

    return encoded


def softer(data: bytes) -> bytes:
    """Our image as a softer resampling leaves it: nine tenths as large, and enlarged again."""
    image, buffer = Image.open(io.BytesIO(data)).convert("RGB"), io.BytesIO()
    smaller = image.resize([round(0.9 * side) for side in image.size], Image.Resampling.LANCZOS)
    smaller.resize(image.size, Image.Resampling.BICUBIC).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


ENCODINGS = {
    "ours": lambda data: data,
    "JPEG of quality 75": jpeg(75),
    "twice as large, JPEG of quality 90": jpeg(90, times=2),
    "nine tenths as large, enlarged again": softer,
    "JPEG of quality 90": jpeg(90),
}
"""What is larger is reduced bilinearly with antialiasing by the pipeline, as a photograph is."""


def encoded(source: Path, encode: Callable[[bytes], bytes], every: int, output: Path) -> None:
    """Write an archive of every n-th image of ours in another encoding, by the names of ours."""
    with zipfile.ZipFile(source) as ours, zipfile.ZipFile(output, "w") as others:
        for name in LISTS:
            lines = ours.read(f"CUB_200_2011/{name}").decode().splitlines()[::every]
            others.writestr(name, "\n".join(lines))
            if name == "images.txt":
                chosen = [line.split()[1] for line in lines]
        for path in chosen:
            data = encode(ours.read(f"CUB_200_2011/images/{path}"))
            others.writestr(f"images/{path}", data)


def hits(embeddings: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether the nearest other image of each has its class: float [N]."""
    rows = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    similarities = rows @ rows.T
    np.fill_diagonal(similarities, -np.inf)
    return (labels[similarities.argmax(axis=1)] == labels).astype(float)


def scores(folder: Path, archive: Path, weights: Path, threads: int) -> dict[str, dict]:
    """Row -> R@1 of each test class and MAP@R, by the pipeline of heads on birds."""
    loaded = plan.load({"pathvars": {"results": "results"}, "studies": ["demo"]}, CONFIG)
    names = ("images.parquet", "half.parquet", "pixels.npy", "pixels.parquet")
    listed, halves, pixels, table = (folder / name for name in names)
    index([archive], "cub200", listed)
    split(listed, "half", halves)
    pack(listed, [archive], 160, "rgb", pixels, table, threads=threads, reduced_to=160)
    data = {"index": listed, "split": halves, "features": folder / "features.safetensors"}
    found = {}
    for method, (embedding_dim, seeds) in ROWS.items():
        for seed in seeds:
            where = {"dataset": DATASET, "network": NETWORK, "split": "half"}
            how = {"recipe": "heads", "variant": "", "fold": None, "seed": seed}
            row = Row(study="", method=method, embedding_dim=embedding_dim, **where, **how)
            spec = loaded.spec(row).as_dict()
            if not data["features"].exists():
                extract_features(
                    spec["network"],
                    pixels=pixels,
                    pixel_table=table,
                    weights=weights,
                    device="cpu",
                    threads=threads,
                    output=data["features"],
                )
            found[f"{method}, seed {seed}"] = scored(folder / f"{method}{seed}", spec, data)
    return found


def scored(folder: Path, spec: dict, data: dict[str, Path]) -> dict:
    """Train and embed a row; R@1 of each test class, and MAP@R, in percent."""
    folder.mkdir()
    files = {name: folder / f"{name}.safetensors" for name in ("model", "last")}
    written = {"spec_file": folder / "spec.yaml", "history": folder / "history.parquet"}
    train(spec, **data, **files, **written, device="cpu", threads=1)
    output = folder / "embeddings.parquet"
    export_embeddings(spec, **files, **data, device="cpu", threads=1, output=output)
    test = read_embeddings(output)["last_epoch"]["test"]
    embeddings, labels = np.asarray(test.embeddings), np.asarray(test.labels)
    found = hits(embeddings, labels)
    return {
        "recall_of_classes": [100 * found[labels == label].mean() for label in np.unique(labels)],
        "recall_at_1": 100 * found.mean(),
        "map_at_r": 100 * score(embeddings, labels, metrics=["map_at_r"])["map_at_r"],
    }


def shifts(ours: dict[str, dict], others: dict[str, dict]) -> dict[str, dict]:
    """Row -> how far its scores are from those of our encoding."""
    found = {}
    for row, other in others.items():
        own = ours[row]
        moved = np.subtract(other["recall_of_classes"], own["recall_of_classes"])
        found[row] = {
            "recall_at_1": other["recall_at_1"] - own["recall_at_1"],
            "mean_of_classes": float(moved.mean()),
            "interval": list(map(float, t_interval(moved)[1:])),
            "map_at_r": other["map_at_r"] - own["map_at_r"],
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared = Path(os.environ.get("DMLBENCH_MIRROR", REPOSITORY.parent / "shared" / "datasets"))
    parser.add_argument("--mirror", type=Path, default=shared)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, default=REPORT)
    given = parser.parse_args()
    report = {"machine": machine(["torch", "pillow"]), "dataset": DATASET, "network": NETWORK}
    report |= {"every": given.every, "encodings": {}}
    for name, encode in ENCODINGS.items():
        start = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "birds.zip")
            encoded(given.mirror / DATASET / f"{DATASET}.zip", encode, given.every, archive)
            weights = given.mirror / "weights" / "efficientnet_lite0-acf4645b.pth"
            found = scores(Path(folder), archive, weights, given.threads)
        report["encodings"][name] = {"scores": found, "seconds": time.process_time() - start}
        report["encodings"][name]["shifts"] = shifts(report["encodings"]["ours"]["scores"], found)
        write_report(given.output, report)
        for row, shift in report["encodings"][name]["shifts"].items():
            low, high = shift["interval"]
            print(
                f"{name:36}{row:24}R@1 {found[row]['recall_at_1']:6.2f} {shift['recall_at_1']:+.2f}"
                f" [{low:+.2f}, {high:+.2f}]  MAP@R {shift['map_at_r']:+.2f}",
                flush=True,
            )


CONFIG = REPOSITORY / "config"
DATASET = "cub200_160"
NETWORK = "efficientnet_lite0_frozen"
REPORT = REPOSITORY / "results" / "benchmarks" / "encodings.json"

if __name__ == "__main__":
    main()
