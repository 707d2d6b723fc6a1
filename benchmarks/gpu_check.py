"""Is this GPU right, and is it fast? One command, a table and a file.

    make gpu-check                                  # under 8 minutes on an H100 or H200
    python benchmarks/gpu_check.py --part equal     # a part of it
    python benchmarks/gpu_check.py --device cpu --toy   # all of it at toy size, without a GPU

Right: every loss, miner, metric and transform next to the CPU's in float64, also of bfloat16
embeddings; a training that is stopped and continued. Fast: training steps as a share of what large
products reach in the same run; losses next to a step and next to pytorch-metric-learning; packed
next to resident input; scoring; several trainings at once. Memory: what the plan predicts next to
what a step takes.

Prints a row for each number, and writes results/benchmarks/gpu-<device>.json. Ends with status 1 if
a limit was missed or something failed, which stops nothing else. What cannot be measured in time is
named and left out.
"""

import argparse
import json
import re
import signal
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import gpu_equal  # noqa: E402
import gpu_input  # noqa: E402
import gpu_rates  # noqa: E402
import gpu_sharing  # noqa: E402
import torch  # noqa: E402
from dmlbench import losses, miners  # noqa: E402
from dmlbench.files import atomic_write  # noqa: E402
from dmlbench.training.device import device_name, use_precision  # noqa: E402
from dmlbench.training.seeds import make_deterministic  # noqa: E402
from gpu_report import Budget, Finding, attempted  # noqa: E402
from gpu_step import Clock, Scale  # noqa: E402
from machine import machine, slug  # noqa: E402

FULL = Scale(
    networks={
        **dict.fromkeys(["convnet3", "convnet4", "convnet4_small"], 1024),
        **dict.fromkeys(["googlenet", "bninception", "resnet18", "resnet18_logits"], 180),
        **dict.fromkeys(["resnet50", "mobilenet_v2", "efficientnet_lite0", "vit_s16"], 128),
    },
    few=32,
    compiled=("resnet50", "convnet4"),
    pixels=224,
    side=8192,
    seconds=0.5,
    spaces={"60,502 x 512": (60_502, 512, 11_316, 1.0), "1M x 128": (1_000_000, 128, 100_000, 60)},
    jobs=(1, 2, 4, 8),
    batch=(128, 100, 512),
    library=None,
)
TOY = FULL._replace(
    networks={"convnet4": 32, "resnet18": 4},
    few=2,
    compiled=(),
    pixels=64,
    side=256,
    seconds=0.05,
    spaces={"600 x 16": (600, 16, 60, 1.0)},
    jobs=(1, 2),
    batch=(40, 20, 512),
    library=("contrastive", "proxy_anchor"),
)
TOY_LOSSES = ("contrastive", "margin", "multi_similarity", "proxy_anchor", "triplet")
PARTS = ("equal", "resuming", "steps", "losses", "input", "evaluation", "together")
OPTIONAL_S = 420
"""Seconds from the start within which what is only of interest, and comes last, must end."""
COMPILED_S = 60
"""Seconds that resuming a compiled training may take."""


def findings(device: torch.device, scale: Scale, parts: list[str]):
    """Everything that is found, part by part."""
    budget = Budget(OPTIONAL_S)
    # As trainings run: an operation that is not deterministic is an error here as well, and what
    # is timed is what a training does. TF32 may be on where the environment says so.
    make_deterministic()
    use_precision("float32")
    clock = Clock(device, scale.seconds)
    toy = scale is TOY
    if "equal" in parts:
        yield from gpu_equal.equal_losses(device, losses.available())
        yield from gpu_equal.equal_miners(device, miners.available())
        metrics = gpu_equal.equal_metrics(device, 400 if toy else 20_000)
        yield from attempted("metrics", "all", metrics)
        yield from attempted("images", "all", gpu_equal.equal_images(device))
    if "resuming" in parts:
        for precision in ("float32", "bfloat16"):
            yield from attempted("resuming", precision, gpu_equal.resumed(device, precision))
    best = {}
    if "steps" in parts:
        products = gpu_rates.ceiling(clock, scale.side, best)
        yield from attempted("ceiling", f"product of {scale.side}", products)
        yield from attempted("steps", "all", gpu_rates.step_rates(clock, scale, best))
    if "losses" in parts:
        names = TOY_LOSSES if toy else losses.available()
        yield from attempted("loss share", "all", gpu_rates.loss_shares(clock, scale, names))
        yield from attempted("library", "median", gpu_rates.library_ratios(clock, scale))
    if "input" in parts:
        yield from attempted("input", "packed of resident", gpu_input.input_rates(clock, scale))
    if "evaluation" in parts:
        yield from gpu_rates.evaluations(clock, scale)
    if "together" in parts:
        yield from attempted("together", "best runs_per_gpu", gpu_sharing.together(clock, scale))
    if "resuming" in parts and device.type == "cuda":
        found = gpu_equal.resumed(device, "bfloat16", compiled=True)
        yield from budget.attempted("resuming", "compiled", "resuming", COMPILED_S, found)
    if "steps" in parts:
        others = gpu_rates.other_step_rates(clock, scale, best, budget)
        yield from attempted("steps", "others", others)


def _gpu(device: torch.device) -> dict:
    """What numbers of a GPU depend on, next to its name."""
    if device.type != "cuda":
        return {}
    about = torch.cuda.get_device_properties(device)
    return {
        "capability": f"{about.major}.{about.minor}",
        "gpu_memory": about.total_memory,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }


def main() -> None:
    """Check, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--toy", action="store_true", help="everything at toy size")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch sees no GPU here; allowed: --device cpu --toy")
    device = torch.device(options.device, 0 if options.device == "cuda" else None)
    name = device_name(device) if device.type == "cuda" else f"cpu-{slug()}"
    found, begin = [], time.perf_counter()
    # What was found is written however it ends, also by `timeout` or a scheduler.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for finding in findings(device, TOY if options.toy else FULL, options.part):
            print(finding.line, flush=True)
            found.append(finding)
    except KeyboardInterrupt:
        found.append(Finding("check", "all of it", None, failure="interrupted"))
    missed = [finding for finding in found if finding.verdict in ("MISSED", "FAILED")]
    seconds = time.perf_counter() - begin
    kind = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ("-toy" if options.toy else "")
    output = options.output or REPOSITORY / "results" / "benchmarks" / f"gpu-{kind}.json"
    report = {
        "device": name,
        "toy": options.toy,
        "seconds": round(seconds, 1),
        "machine": machine(("torch", "torchvision", "numpy")) | _gpu(device),
        "findings": [each.as_dict() for each in found],
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(output) as unfinished:
        unfinished.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n")
    limits = sum(finding.verdict != "" for finding in found)
    print(f"{limits - len(missed)} of {limits} limits kept in {seconds:.0f} s; written to {output}")
    print(f"for the hours of studies on it, in config/config.yaml: gpu_check: {output}")
    for finding in missed:
        print(f"missed: {finding.line}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
