"""Write envs/cpu.yaml and envs/gpu.yaml from requirements.lock: `make lock` runs this.

The pins are inline because Snakemake copies an environment file out of its folder. Both are for
Linux on x86-64; the GPU one has faiss for CUDA instead of faiss for the CPU, of the version nearest
to it that there is, with what it needs of CUDA 12.
"""

import re
from pathlib import Path

from packaging.markers import Marker

FOLDER = Path(__file__).resolve().parent
LOCK = FOLDER.parent / "requirements.lock"
PYTHON, PIP = "3.12.12", "25.3"
PLATFORM = {
    "python_version": PYTHON.rpartition(".")[0],
    "python_full_version": PYTHON,
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "os_name": "posix",
}
FAISS_ON_GPU = (
    "faiss-gpu-cu12==1.14.1.post1",
    "nvidia-cublas-cu12==12.9.3.13",
    "nvidia-cuda-nvrtc-cu12==12.9.86",
    "nvidia-cuda-runtime-cu12==12.9.79",
)


def pins(lock: str) -> list[str]:
    """The lock's `name==version` lines that hold on the platform, in its order."""
    found = re.findall(r"^([\w.-]+==[^\s;\\]+)(?: ; ([^\\\n]+))?", lock, re.MULTILINE)
    return [pin for pin, marker in found if not marker or Marker(marker).evaluate(PLATFORM)]


def environment(name: str, requirements: list[str]) -> str:
    """A conda environment file."""
    lines = [
        "# Written by envs/from_lock.py from requirements.lock; `make lock` writes it again.",
        f"name: dmlbench-{name}",
        "channels:",
        "  - conda-forge",
        "  - nodefaults",
        "dependencies:",
        f"  - python={PYTHON}",
        f"  - pip={PIP}",
        "  - pip:",
        *(f"      - {requirement}" for requirement in requirements),
    ]
    return "\n".join(lines) + "\n"


def environments() -> dict[str, str]:
    """File name -> text of every environment."""
    on_cpu = pins(LOCK.read_text())
    on_gpu = [*(pin for pin in on_cpu if not pin.startswith("faiss-cpu==")), *FAISS_ON_GPU]
    return {"cpu.yaml": environment("cpu", on_cpu), "gpu.yaml": environment("gpu", on_gpu)}


if __name__ == "__main__":
    for file, text in environments().items():
        (FOLDER / file).write_text(text)
