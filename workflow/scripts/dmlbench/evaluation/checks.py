"""Checks of what the caller gives: one line that names what is wrong and what is allowed."""

import sys
from collections.abc import Iterable, Iterator
from numbers import Integral, Real

import numpy as np

from dmlbench.errors import UserError

_CHUNK = 1 << 20


def is_tensor(values) -> bool:
    """Whether these are a torch.Tensor; without loading torch, as no tensor exists before it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def array_or_tensor(values, name: str):
    """A dense tensor as it is, everything else as an array."""
    if isinstance(values, list | tuple) and any(map(is_tensor, values)):
        values = _stacked(values, name)
    if is_tensor(values):
        if str(values.layout) != "torch.strided" or values.is_nested or values.is_quantized:
            form = "nested" if values.is_nested else str(values.layout)
            form = "quantized" if values.is_quantized else form
            raise UserError(f"{name}: a tensor of layout {form}; allowed: dense, see .to_dense()")
        if values.is_meta:
            raise UserError(f"{name}: a tensor on device 'meta', without values; allowed: values")
        return values
    if np.ma.is_masked(values):
        raise UserError(f"{name}: {np.ma.count_masked(values)} values are masked; allowed: none")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise UserError(f"{name}: rows of unequal length; allowed: an array") from error
    if array.ndim == 0:
        kind = type(values).__name__
        raise UserError(f"{name}: a {kind}; allowed: an array, a tensor or a list, one per row")
    return array


def as_array(values, name: str) -> np.ndarray:
    """An array of the same values; a tensor's floating-point numbers become float64."""
    values = array_or_tensor(values, name)
    if is_tensor(values):
        return _as_array(values.double() if values.is_floating_point() else values)
    return values


def check_rows(rows, name: str):
    """The given array or tensor, once it is [N, D] real numbers, all finite.

    Raises:
        UserError: another shape or type, or rows with NaN or infinity, with their numbers.
    """
    rows = array_or_tensor(rows, name)
    if not (rows.dtype.kind in "buif" if isinstance(rows, np.ndarray) else not rows.is_complex()):
        raise UserError(f"{name}: values of type {rows.dtype}; allowed: real numbers")
    if rows.ndim != 2 or 0 in rows.shape:
        raise UserError(f"{name}: shape {tuple(rows.shape)}; allowed: [N, D] with N, D > 0")
    bad = []
    for begin, part in chunks(rows):
        finite = np.isfinite(part)
        if not finite.all():
            bad += (begin + np.flatnonzero(~finite.all(1))).tolist()
    if bad:
        raise UserError(f"{name}: {len(bad)} of {len(rows)} rows are not finite: {_some(bad)}")
    return rows


def check_values(values, name: str, length: int) -> np.ndarray:
    """One value per row as an array [N], none missing and all mutually comparable.

    Raises:
        UserError: another shape, missing values, or values of several types.
    """
    if isinstance(values, list | tuple) and any(map(_is_missing, values)):
        # NumPy would turn a NaN among strings into the string "nan".
        values = np.array(values, object)
    values = as_array(values, name)
    if values.shape != (length,):
        raise UserError(f"{name}: shape {values.shape}; allowed: ({length},), one per row")
    missing = np.flatnonzero(
        [_is_missing(value) for value in values] if values.dtype == object else values != values
    )
    if len(missing):
        raise UserError(
            f"{name}: {len(missing)} of {length} are missing (NaN or None): rows {_some(missing)}"
        )
    if values.dtype == object:
        try:
            np.sort(values)
        except TypeError as error:
            raise UserError(f"{name}: {error}; allowed: values of one type") from error
    return values


def joint_codes(values: np.ndarray, others: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Both as whole numbers from 0 in the values' order, equal where the values are.

    Raises:
        UserError: numbers and strings, for example, which are never equal.
    """
    kinds = [
        "number" if some.dtype.kind in "buif" else some.dtype.kind for some in (values, others)
    ]
    if kinds[0] != kinds[1] and "O" not in kinds:
        raise UserError(
            f"{name}: values of type {values.dtype} and gallery_{name}: values of type "
            f"{others.dtype}; allowed: the same type"
        )
    if np.result_type(values, others).kind == "f" and {values.dtype.kind, others.dtype.kind} == {
        *"iu"
    }:
        # NumPy would make float64 of int64 and uint64, which has fewer digits.
        values, others = values.astype(object), others.astype(object)
    try:
        _, both = np.unique(np.concatenate([values, others]), return_inverse=True)
    except TypeError as error:
        raise UserError(f"{name} and gallery_{name}: {error}; allowed: the same type") from error
    return both[: len(values)], both[len(values) :]


def check_device(device, embeddings) -> str:
    """Where to compute, as torch names it: by default the GPU of the embeddings, or the CPU.

    Raises:
        UserError: a device that torch cannot use here.
    """
    if device is None:
        device = embeddings.device if is_tensor(embeddings) and embeddings.is_cuda else "cpu"
    if str(device) == "cpu":
        return "cpu"
    import torch

    try:
        parsed = torch.device(device)
    except (RuntimeError, TypeError):
        parsed = None
    gpus = torch.cuda.device_count()
    if parsed is None or not (
        parsed.type == "cpu" or (parsed.type == "cuda" and (parsed.index or 0) < gpus)
    ):
        allowed = ", ".join(["cpu", *(f"cuda:{number}" for number in range(gpus))])
        raise UserError(f"device {str(device)!r}: torch cannot rank there; allowed: {allowed}")
    return str(parsed)


def check_memory(memory, device: str) -> int:
    """Bytes of working memory, once they are a positive number; None for a device's default."""
    if memory is None:
        # 250,000 images of 128 dimensions took an H200 18.0 s in 1 GiB, 7.1 in 4 and 6.9 in 16.
        return 2**30 if device == "cpu" else 2**32
    if not isinstance(memory, Real) or not 0 < memory < float("inf"):
        raise UserError(f"memory={memory!r}; allowed: a positive number of bytes")
    return int(memory)


def check_seeds(seeds) -> tuple[int, ...]:
    """The seeds of k-means, once they are whole numbers from 0."""
    allowed = "allowed: a list of whole numbers from 0, at least one"
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise UserError(f"seeds={seeds!r}; {allowed}")
    seeds = tuple(seed.item() if is_tensor(seed) and seed.ndim == 0 else seed for seed in seeds)
    if not seeds or not all(isinstance(seed, Integral) and seed >= 0 for seed in seeds):
        raise UserError(f"seeds={seeds!r}; {allowed}")
    return seeds


def chunks(rows) -> Iterator[tuple[int, np.ndarray]]:
    """The rows [N, D] in chunks, as arrays, each with the number of its first row."""
    step = max(1, _CHUNK // rows.shape[1])
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        if is_tensor(part):
            # NumPy has no bfloat16.
            part = _as_array(part.float() if part.element_size() < 4 else part)
        yield begin, part


def _stacked(rows, name: str):
    import torch

    try:
        return torch.stack(list(rows))
    except (RuntimeError, TypeError) as error:
        raise UserError(f"{name}: rows of unequal shape or type; allowed: one tensor") from error


def _as_array(tensor) -> np.ndarray:
    return tensor.detach().cpu().resolve_neg().resolve_conj().numpy()


def _is_missing(value) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _some(numbers) -> str:
    return ", ".join(str(number) for number in numbers[:10]) + ", ..." * (len(numbers) > 10)
