"""Which operations give other digits on another maker's CPU? Each of them on emulated CPUs.

    apt-get install qemu-user
    python benchmarks/same_digits_makers.py     # half an hour; a table of docs/same_digits.md

An operation's result is known by the beginning of its sha256. QEMU computes what instructions are
defined to compute; those for approximate reciprocals and roots are left to the makers, and QEMU
rounds them correctly. What differs between an emulated CPU and this one is therefore either a
choice of kernels by the libraries, or such an instruction.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from dmlbench.digits import AVX2  # noqa: E402
from dmlbench.machine import processor  # noqa: E402

# Without the switch that makes MKL take the same path for every maker.
INSTRUCTIONS = {name: value for name, value in AVX2.items() if name != "MKL_CBWR"}
SETTINGS = {"AVX2": INSTRUCTIONS, "same_digits": AVX2}
# QEMU 7.2 emulates no AVX-512.
CPUS = ("Haswell", "Skylake-Client", "EPYC-Rome", "EPYC-Milan")


def digests() -> dict[str, str]:
    """The beginning of the digest of each operation's result, on this process's CPU."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    rows, others, values = normal(50, 64), normal(40, 64), normal(5000)
    images, weight = normal(50, 16, 14, 14), normal(32, 16, 3, 3)
    images, weight = (x.contiguous(memory_format=torch.channels_last) for x in (images, weight))
    square = normal(256, 256)

    def gradient(function, *given):
        given = [each.clone().requires_grad_() for each in given]
        found = function(*given)
        scale = torch.linspace(0, 1, found.numel()).view(found.shape)
        return torch.cat([x.flatten() for x in torch.autograd.grad((found * scale).sum(), given)])

    def convolved(x, w):
        return F.conv2d(x, w, padding=1)

    def batch_normalized(x):
        return F.batch_norm(x, None, None, training=True)

    results = {
        "product 50 x 64 x 40": rows @ others.T,
        "product 256 x 256 x 256": square @ square.T,
        "its gradient": gradient(lambda x, y: x @ y.T, rows, others),
        "exp": values.exp(),
        "log": values.abs().log(),
        "sqrt": values.abs().sqrt(),
        "erf": values.erf(),
        "rsqrt": values.abs().rsqrt(),
        "tanh": values.tanh(),
        "sigmoid": values.sigmoid(),
        "pow": values.abs().pow(1.7),
        "division": values / (values + 3),
        "sum": values.sum(),
        "norm": rows.norm(dim=1),
        "softmax": rows.softmax(1),
        "logsumexp": rows.logsumexp(1),
        "convolution": convolved(images, weight),
        "gradient of convolution": gradient(convolved, images, weight),
        "batch normalization": batch_normalized(images),
        "gradient of batch normalization": gradient(batch_normalized, images),
        "random numbers": torch.randn(500, generator=torch.Generator().manual_seed(1)),
    }
    return {name: _digest(result) for name, result in results.items()}


def _digest(result) -> str:
    return hashlib.sha256(result.contiguous().numpy().tobytes()).hexdigest()[:6]


def digests_on(cpu: str | None, switches: dict[str, str]) -> dict[str, str]:
    """The same on an emulated CPU, or on this one, in a process with these switches."""
    emulator = ["qemu-x86_64", "-cpu", cpu] if cpu else []
    kept = {name: value for name, value in os.environ.items() if name not in AVX2}
    done = subprocess.run(
        [*emulator, sys.executable, __file__, "--digests"],
        env=kept | switches,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print which operations differ from this CPU's, for each setting and emulated CPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", nargs="+", default=list(CPUS), help="models of qemu-x86_64")
    parser.add_argument("--digests", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.digests:
        print(json.dumps(digests()))
        return
    print(f"Operations with other digits than on this CPU, {processor()}:\n")
    print(f"| setting | {' | '.join(options.cpu)} |")
    print("|---" * (len(options.cpu) + 1) + "|")
    for setting, switches in SETTINGS.items():
        here = digests_on(None, switches)
        cells = []
        for cpu in options.cpu:
            there = digests_on(cpu, switches)
            cells.append(", ".join(name for name in here if there[name] != here[name]) or "none")
        print(f"| {setting} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
