"""The GPUs that a process may use: those of CUDA_VISIBLE_DEVICES, as CUDA reads it."""

import itertools
import os
import re
import subprocess
import sys
from typing import NamedTuple

from dmlbench.errors import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"
PRETENDED = "DMLBENCH_GPUS"

_NO_DEVICE = ("", "-1", "NoDevFiles")
_LISTED = re.compile(r"^(?P<level>GPU|\s+MIG) .*\(UUID: (?P<uuid>[^)]+)\)$", re.MULTILINE)
"""A line of `nvidia-smi -L`: a GPU, or below it one of the slices that it is divided into."""


class Installed(NamedTuple):
    """The GPUs of this machine.

    Attributes:
        gpus: their UUIDs, by CUDA's numbers.
        slices: UUID of a GPU that is divided -> those of its slices (MIG), each a device.
    """

    gpus: list[str]
    slices: dict[str, list[str]]

    def devices(self) -> list[str]:
        """What a process can hold: the slices of a GPU that is divided, otherwise the GPU."""
        return [device for gpu in self.gpus for device in self.slices.get(gpu, [gpu])]

    def device(self, name: str) -> str | None:
        """The device that CUDA takes an entry of CUDA_VISIBLE_DEVICES for; None if for none.

        An entry is a number, a UUID, or the beginning of one that is unique. Of a GPU that is
        divided CUDA takes the first slice. Where no GPU is listed, each well-formed name is one.
        """
        if not self.gpus:
            return name if name.isdecimal() or name.startswith(("GPU-", "MIG-")) else None
        if name.isdecimal():
            found = self.gpus[int(name) : int(name) + 1]
        else:
            known = [*self.gpus, *self.devices()]
            found = [name] if name in known else []
            if not found and re.match("(GPU|MIG)-.", name):
                found = list(dict.fromkeys(uuid for uuid in known if uuid.startswith(name)))
        return self.slices.get(found[0], found)[0] if len(found) == 1 else None


def visible_gpus() -> dict[str, str]:
    """The GPUs that this process may use: UUID -> CUDA's name for it here.

    DMLBENCH_GPUS (names separated by commas) replaces the list of nvidia-smi where that does not
    work, and in tests. Where neither lists one, a GPU is identified by its name.

    Raises:
        UserError: CUDA_VISIBLE_DEVICES begins with a name that is no GPU here: CUDA would see none,
            and a training would run on the CPU.
    """
    installed = _installed_gpus()
    allowed = os.environ.get(VISIBLE)
    if allowed is None:
        return {uuid: uuid for uuid in installed.devices()}
    # Like CUDA, stop at the first name that is not a device.
    names = [name.strip() for name in allowed.split(",")]
    known = list(itertools.takewhile(lambda name: name not in _NO_DEVICE, names))
    found = {name: installed.device(name) for name in known}
    if known and found[known[0]] is None:
        listed = ", ".join(installed.devices()) or "a number, GPU-... or MIG-..."
        raise UserError(
            f"{VISIBLE}: {known[0]!r} is no GPU here; allowed: {listed}, or -1 for none"
        )
    real = itertools.takewhile(lambda name: found[name] is not None, known)
    return {found[name]: name for name in real}


def _installed_gpus() -> Installed:
    pretended = os.environ.get(PRETENDED)
    if pretended is not None:
        return Installed([name for name in pretended.split(",") if name], {})
    try:
        listed = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, check=True, encoding="utf-8"
        )
    except FileNotFoundError:
        return Installed([], {})
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stdout", "") or getattr(error, "stderr", "") or str(error)
        reason = said.strip().partition("\n")[0]
        print(f"nvidia-smi fails, so no GPU is listed: {reason}", file=sys.stderr)
        return Installed([], {})
    gpus, slices = [], {}
    for line in _LISTED.finditer(listed.stdout):
        if line["level"] == "GPU":
            gpus.append(line["uuid"])
        else:
            slices.setdefault(gpus[-1], []).append(line["uuid"])
    return Installed(gpus, slices)
