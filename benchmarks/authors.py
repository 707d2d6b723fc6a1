"""Record what the authors' public code computes on fixed batches, for tests/authors.

    git clone https://github.com/Confusezius/Revisiting_Deep_Metric_Learning_PyTorch roth
    git clone https://github.com/billpsomas/metric-learning psomas
    git -C roth worktree add ../roth_first 3883ff4
    python -m pip install --no-deps --target library pytorch-metric-learning==0.9.78
    python benchmarks/authors.py --roth roth --roth-first roth_first --psomas psomas \\
        --library library

Writes tests/authors/recorded.json: values, gradients and counts of draws, each with repository,
commit and library. It calls their code and holds none of it. Their code asks for a GPU in places;
here everything stays on the CPU, in float64 where their code allows it.
"""

import argparse
import ast
import functools
import importlib
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tests" / "authors"), str(REPOSITORY / "workflow" / "scripts")]

from author_batches import (  # noqa: E402
    CLASSES,
    DIMENSIONS,
    DRAWS,
    RHO_SWITCH,
    Fixed,
    features,
    fixed_batches,
    long_batches,
    mined_batches,
    proxies,
    wide_batch,
)

RECORD = REPOSITORY / "tests" / "authors" / "recorded.json"
MUSGRAVE = "the losses of the library, as musgrave2020's code configures them"


class DistanceOf2020(torch.nn.Module):
    """torch's distance when their code was written: along dimension 1, now along the last one."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.norm(a - b + 1e-6, p=self.p, dim=1)


class Drawn:
    """A miner of theirs that remembers what it drew."""

    def __init__(self, miner: Any):
        self.miner, self.name, self.tuples = miner, getattr(miner, "name", ""), None

    def __call__(self, *batch: Any) -> Any:
        self.tuples = self.miner(*batch)
        if self.name == "npair":
            # Today's torch refuses a list of arrays as an index.
            self.tuples = [np.array(part) for part in self.tuples]
        return self.tuples


def roth(folder: Path, first: Path) -> Iterator[tuple[str, dict]]:
    """The losses, miners, sampler and measures of roth2020's code."""
    with imported_from(folder):
        source = {"repository": "Confusezius/Revisiting_Deep_Metric_Learning_PyTorch"}
        source |= {"commit": commit(folder), "library": f"torch {torch.__version__}"}
        criteria = importlib.import_module("criteria")
        miners = importlib.import_module("batchminer")
        for name in ("contrastive", "triplet", "margin", "snr"):
            yield f"roth2020/{name}", source | losses(_roth_mined(criteria, miners, name))
            made = _roth_mined(criteria, miners, name, "rho_distance")
            yield f"roth2020/{name} with rho", source | losses(made)
        made = _roth_mined(criteria, miners, "quadruplet")
        yield "roth2020/quadruplet", source | losses(made)
        for ours, theirs, miner in (
            ("n_pair", "npair", "npair"),
            ("angular", "angular", "npair"),
            ("generalized_lifted", "lifted", "lifted"),
        ):
            made = _roth_mined(criteria, miners, theirs, miner)
            yield f"roth2020/{ours}", source | losses(made, long_batches())
        plain = {
            "proxy_nca": ("proxynca", "proxies"),
            "normalized_softmax": ("softmax", "class_map"),
            "histogram": ("histogram", None),
            "multi_similarity": ("multisimilarity", None),
        }
        for ours, (theirs, weights) in plain.items():
            yield f"roth2020/{ours}", source | losses(_roth_plain(criteria, theirs, weights))
        for name in ("softhard", "semihard", "distance", "rho_distance", "random", "npair"):
            counted = draws(functools.partial(miners.select, name, options()), mined_batches())
            yield f"roth2020/miner {name}", source | counted
        yield "roth2020/soft_triple", source | {"raises": _error_of(criteria.softtriplet)}
        yield "roth2020/crops", source | _roth_crops()
        yield "roth2020/runs", source | {"runs": _roth_runs(folder)}
        yield "roth2020/sampler", source | {"classes": _roth_sampler()}
        yield "roth2020/pi", source | {"batches": _roth_distances()}
    with imported_from(first):
        criteria = importlib.import_module("criteria")
        made = _roth_plain(criteria, "arcface", "class_map")
        yield "roth2020/arcface", source | {"commit": commit(first)} | losses(made)


def _roth_mined(criteria: Any, miners: Any, name: str, miner: str = "distance") -> Callable:
    def call(x: torch.Tensor, labels: torch.Tensor) -> tuple:
        drawn = Drawn(miners.select(miner, options()))
        built = getattr(criteria, name).Criterion(options(), drawn)
        np.random.seed(0)  # noqa: NPY002 (their generator)
        return built(x, labels), [], drawn.tuples

    return call


def _roth_plain(criteria: Any, name: str, weights: str | None) -> Callable:
    def call(x: torch.Tensor, labels: torch.Tensor) -> tuple:
        built = getattr(criteria, name).Criterion(options()).double()
        parameters = [built_in(built, weights)] if weights else []
        return built(x, labels), parameters, None

    return call


def options() -> SimpleNamespace:
    """Their options at their own defaults; p_switch is that of their runs of CUB200-2011."""
    theirs, parser = importlib.import_module("parameters"), argparse.ArgumentParser()
    for kind in ("basic_training", "loss_specific", "batchmining_specific", "batch_creation"):
        getattr(theirs, f"{kind}_parameters")(parser)
    given = {"n_classes": CLASSES, "embed_dim": DIMENSIONS, "device": "cpu", "arch": "resnet50"}
    return SimpleNamespace(
        **vars(parser.parse_args([])) | given | {"miner_rho_distance_cp": RHO_SWITCH}
    )


def _error_of(criterion: Any) -> str:
    try:
        criterion.Criterion(options())
    except AttributeError as error:
        return f"AttributeError: {error.name}"
    raise SystemExit(f"{criterion.__name__} runs: record its values")


def _roth_crops() -> dict[str, list[float]]:
    """The scale and ratio of their random crops."""
    given = SimpleNamespace(**vars(options()) | {"augmentation": "base"})
    dataset = importlib.import_module("datasets.basic_dataset_scaffold").BaseDataset({0: []}, given)
    crop = dataset.normal_transform.transforms[0]
    return {"scale": list(crop.scale), "ratio": list(crop.ratio)}


def _roth_runs(folder: Path) -> dict[str, dict]:
    """What the commands of their sample runs say: normalization, p_switch, images of a class."""
    found = {}
    for line in (
        (folder / "Sample_Runs" / "ICML2020_RevisitDML_SampleRuns.sh").read_text().split("\n")
    ):
        words = line.split()
        if "--group" not in words:
            continue
        given = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
        name = given["--group"].rstrip("_").removesuffix("_3")
        rho = given.get("--miner_rho_distance_cp")
        found[name] = {
            "loss": given["--loss"],
            "miner": given.get("--batch_mining"),
            "normalize": "normalize" in given["--arch"],
            "p_switch": rho and float(rho),
        }
    return found


def _roth_sampler() -> dict[str, float]:
    """Means over batches of 112 of 100 classes of 59 images: classes, positive pairs, repeats."""
    sampler = importlib.import_module("datasampler.class_random_sampler").Sampler
    images = {c: [["", 59 * c + i] for i in range(59)] for c in range(100)}
    batches = list(sampler(options(), images, range(5900 * 20)))
    labels = [np.array(batch) // 59 for batch in batches]
    pairs = [(of[:, None] == of).sum() / 2 - 56 for of in labels]
    return {
        "classes": float(np.mean([len(set(of)) for of in labels])),
        "positive_pairs": float(np.mean(pairs)),
        "different_images": float(np.mean([len(set(batch)) for batch in batches])),
    }


def _roth_distances() -> dict[str, dict[str, float]]:
    metric = importlib.import_module("metrics.dists").Metric
    ours = {"pi_intra": "intra", "pi_inter": "inter", "pi_ratio": "intra_over_inter"}
    return {
        name: {key: float(metric(mode)(x.numpy(), labels.numpy())) for key, mode in ours.items()}
        for name, (x, labels) in fixed_batches().items()
    }


def library(folder: Path, psomas: Path) -> Iterator[tuple[str, dict]]:
    """The library's losses as musgrave2020's code configures them, then psomas2020's code."""
    with imported_from(folder):
        losses_of, miners = (
            importlib.import_module(f"pytorch_metric_learning.{name}")
            for name in ("losses", "miners")
        )
        version = next(folder.glob("pytorch_metric_learning-*.dist-info")).stem.rpartition("-")[2]
        named = {"library": f"pytorch-metric-learning {version}, torch {torch.__version__}"}
        source = {"repository": "KevinMusgrave/pytorch-metric-learning", "what": MUSGRAVE} | named
        for ours, made in _of_musgrave(losses_of, miners).items():
            yield f"musgrave2020/{ours}", source | losses(made)
        yield "musgrave2020/pca", source | {"cosines": _pca()}
        source = {"repository": "billpsomas/metric-learning", "commit": commit(psomas)} | named
        with imported_from(psomas):
            code = importlib.import_module("losses")
            for ours, made in _of_psomas(code).items():
                yield f"psomas2020/{ours}", source | losses(made)
            yield "psomas2020/batches", source | {"images_per_class": _default(psomas, "--IPC")}
            of_margin = code.MarginLoss().miner
            counted = draws(lambda: of_margin, {"wide": wide_batch(), **fixed_batches()})
            yield "psomas2020/miner distance", source | counted


def _of_musgrave(losses_of: Any, miners: Any) -> dict[str, Callable]:
    sizes = {"num_classes": CLASSES, "embedding_size": DIMENSIONS}
    made = {
        "contrastive": lambda: losses_of.ContrastiveLoss(pos_margin=0.2, neg_margin=0.9),
        "triplet": lambda: losses_of.TripletMarginLoss(margin=0.1),
        "proxy_nca": lambda: losses_of.ProxyNCALoss(softmax_scale=8, **sizes),
        "margin": lambda: losses_of.MarginLoss(
            margin=0.1, nu=0, beta=1.1, learnable_param_names=["beta"]
        ),
        "normalized_softmax": lambda: losses_of.NormalizedSoftmaxLoss(temperature=0.1, **sizes),
        "cosface": lambda: losses_of.CosFaceLoss(margin=0.35, scale=16, **sizes),
        "arcface": lambda: losses_of.ArcFaceLoss(margin=20, scale=16, **sizes),
        "fastap": lambda: losses_of.FastAPLoss(num_bins=10),
        "snr_contrastive": lambda: losses_of.SignalToNoiseRatioContrastiveLoss(0.2, 0.9, 0.1),
        "multi_similarity": lambda: losses_of.MultiSimilarityLoss(alpha=2, beta=50, base=0.5),
        "soft_triple": lambda: losses_of.SoftTripleLoss(
            la=18, gamma=0.5, reg_weight=0.4, margin=0.1, centers_per_class=2, **sizes
        ),
    }

    def calls(build: Callable, miner: Any = None) -> Callable:
        def call(x: torch.Tensor, labels: torch.Tensor) -> tuple:
            built = build().double()
            parameters = [built_in(built, name) for name, _ in built.named_parameters()]
            tuples = [miner(x.detach(), labels)] if miner else []
            return built(x, labels, *tuples), parameters, None

        return call

    found = {name: calls(build) for name, build in made.items()}
    found["multi_similarity_miner"] = calls(
        made["multi_similarity"], miners.MultiSimilarityMiner(epsilon=0.3)
    )
    return found


def _pca() -> list:
    tester = importlib.import_module("pytorch_metric_learning.testers").BaseTester
    reduced = tester(pca=3).maybe_normalize(features().float().numpy())
    return rounded(torch.from_numpy(reduced @ reduced.T))


def _of_psomas(code: Any) -> dict[str, Callable]:
    sizes = {"nb_classes": CLASSES, "sz_embed": DIMENSIONS}
    soft_triple = {"margin": 0.01, "lamda": 20, "gamma": 10, "tau": 0.4}
    made = {
        "contrastive": lambda: code.ContrastiveLoss(),
        "triplet": lambda: code.TripletLoss(),
        "lifted_structure": lambda: code.LiftedStructureLoss(),
        "n_pair": lambda: code.NPairLoss(),
        "proxy_nca": lambda: code.Proxy_NCA(**sizes),
        "margin": lambda: code.MarginLoss(),
        "arcface": lambda: code.ArcFaceLoss(**sizes),
        "multi_similarity": lambda: code.MultiSimilarityLoss(),
        "soft_triple": lambda: code.SoftTripleLoss(**soft_triple, **sizes),
        "psomas_proxy_2": lambda: code.Proxy_Anchor(**sizes),
    }

    def calls(build: Callable) -> Callable:
        def call(x: torch.Tensor, labels: torch.Tensor) -> tuple:
            built = build().double()
            inner = getattr(built, "loss_func", built)
            parameters = [built_in(inner, name) for name, _ in inner.named_parameters()]
            drawn = []
            if isinstance(built, code.MarginLoss):
                built.miner.register_forward_hook(lambda _, __, tuples: drawn.append(tuples))
            value = built(x, labels)
            return value, parameters, list(zip(*drawn[0], strict=True)) if drawn else None

        return call

    return {name: calls(build) for name, build in made.items()}


def built_in(loss: Any, name: str) -> torch.nn.Parameter:
    """A parameter of theirs, its values set to those of the fixed proxies."""
    parameter = getattr(loss, name)
    if parameter.numel() % (CLASSES * DIMENSIONS) == 0:
        vectors = proxies(parameter.numel() // (CLASSES * DIMENSIONS)).to(parameter.dtype)
        turned = parameter.shape[0] == DIMENSIONS
        parameter.data = (vectors.T if turned else vectors).clone()
    return parameter


def _default(folder: Path, option: str) -> Any:
    """The default of an option of psomas2020's script of trainings, which cannot be imported."""
    for call in ast.walk(ast.parse((folder / "train.py").read_text())):
        if isinstance(call, ast.Call) and [
            each.value for each in call.args[:1] if isinstance(each, ast.Constant)
        ] == [option]:
            return next(word.value.value for word in call.keywords if word.arg == "default")
    raise SystemExit(f"train.py: no {option}")


def losses(call: Callable, batches: dict[str, Fixed] | None = None) -> dict:
    """Value, gradients and drawn tuples of a loss on every fixed batch, or on these."""
    found = {}
    for name, (x, labels) in (batches or fixed_batches()).items():
        x = x.clone().requires_grad_()
        value, parameters, tuples = call(x, labels)
        gradients = torch.autograd.grad(value.sum(), [x, *parameters])
        found[name] = {"value": rounded(value.sum()), "gradient": rounded(gradients[0])}
        if parameters:
            found[name]["parameter_gradient"] = rounded(gradients[1])
        if tuples is not None:
            found[name]["tuples"] = plain(tuples)
    return {"batches": found}


def draws(build: Callable, batches: dict[str, Fixed]) -> dict:
    """How often each positive and negative of an anchor was drawn, [B, B] each."""
    found = {}
    for name, (x, labels) in batches.items():
        # Their generators.
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        miner = build()
        counts = np.zeros((2, len(x), len(x)), int)
        for _ in range(DRAWS):
            tuples = miner(x.float(), labels.clone())
            anchors, positives, negatives = (
                tuples if isinstance(tuples, tuple) else zip(*tuples, strict=True)
            )
            for anchor, positive, negative in zip(anchors, positives, negatives, strict=True):
                counts[0, int(anchor), int(positive)] += 1
                counts[1, int(anchor), negative] += 1
        found[name] = {"positive": counts[0].tolist(), "negative": counts[1].tolist()}
    return {"draws": DRAWS, "batches": found}


def rounded(tensor: torch.Tensor) -> Any:
    """Numbers with seven digits."""
    if tensor.ndim == 0:
        return float(f"{tensor.item():.7g}")
    return [rounded(each) for each in tensor]


def plain(value: Any) -> Any:
    """Lists and whole numbers instead of arrays and tensors."""
    return (
        [plain(each) for each in value]
        if hasattr(value, "__iter__") and getattr(value, "ndim", 1)
        else int(value)
    )


def commit(folder: Path) -> str:
    """The commit of a checkout."""
    shown = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    return subprocess.run(shown, check=True, capture_output=True, text=True).stdout.strip()


class imported_from:  # noqa: N801 (reads as a statement)
    """Import modules of a folder; those of the same names elsewhere are forgotten."""

    def __init__(self, folder: Path):
        self.folder = str(Path(folder).resolve())

    def __enter__(self) -> None:
        self.before = set(sys.modules)
        sys.path.insert(0, self.folder)

    def __exit__(self, *_: object) -> None:
        sys.path.remove(self.folder)
        for name in set(sys.modules) - self.before:
            if self.folder in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--roth", "--roth-first", "--psomas", "--library"):
        parser.add_argument(name, type=Path, required=True)
    folders = parser.parse_args()
    torch.nn.PairwiseDistance = DistanceOf2020
    # Their code moves tensors to a GPU by name.
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.nn.Module.cuda = lambda self, *_, **__: self
    recorded = dict(roth(folders.roth, folders.roth_first))
    recorded |= dict(library(folders.library, folders.psomas))
    lines = [
        f"{json.dumps(name)}:{json.dumps(recorded[name], separators=(',', ':'))}"
        for name in sorted(recorded)
    ]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
