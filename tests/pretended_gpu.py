"""A GPU that is not there: tensors that say they are on cuda:0 and compute on the CPU.

    with pretended_gpu() as gpu:
        loss = build_loss("contrastive").to(gpu)
        loss(embeddings.to(gpu), labels.to(gpu)).backward()

What a real GPU refuses is refused here: operands on two devices, indices on the GPU into a tensor
of the CPU, NumPy on a tensor of the GPU, pinning what is not in main memory, a generator of the CPU
for a draw on the GPU; and, where deterministic algorithms are asked for, operations that have none.
`host_waits` lists what makes the host wait for the GPU. Random numbers on the GPU come from a
generator of its own, seeded by `torch.manual_seed` as CUDA's is; autocast computes matrix products
and convolutions in reduced precision, as CUDA's does. Optimizers take the grouped updates that they
take on a GPU.

It cannot show wrong kernels, memory, speed, CUDA's random numbers, streams or compiled code.

A wrapper subclass on device "meta" (autograd would ask the driver for a stream if it claimed to be
on "cuda"), whose Python properties say cuda:0, and a dispatch mode that runs each operation on the
tensors of the CPU inside. Modes belong to a thread, so thread pools enter them.
"""

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import torch
from cuda_determinism import refuse_nondeterministic
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")

# Copies, and index tensors of the CPU.
_MAY_MIX = {"_to_copy", "copy_", "copy", "index", "index_put", "index_put_", "_index_put_impl_"}
# Where even a scalar tensor of the CPU is refused.
_NEVER_MIX = {"cat", "stack"}
_TO_PYTHON = {"_local_scalar_dense", "item", "equal", "is_same_size", "is_nonzero"}
# Their size, or what they give to Python, is known once the GPU has computed it.
_WAITED_FOR = {
    "_local_scalar_dense",
    "_unique2",
    "bincount",
    "equal",
    "is_nonzero",
    "item",
    "masked_select",
    "nonzero",
    "unique_consecutive",
    "unique_dim",
}


class PretendedTensor(torch.Tensor):
    """A tensor on the pretended GPU; `inside` is where it really is."""

    @staticmethod
    def __new__(cls, inside: torch.Tensor):
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls,
            inside.size(),
            strides=inside.stride(),
            storage_offset=inside.storage_offset(),
            dtype=inside.dtype,
            layout=inside.layout,
            device="meta",
            requires_grad=inside.requires_grad,
        )
        wrapper.inside = inside
        return wrapper

    device = property(lambda self: GPU)
    is_cuda = property(lambda self: True)
    is_cpu = is_meta = property(lambda self: False)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        # Outside of the mode, as in the hooks of a thread: random numbers are not asked for there.
        return _run(function, args, kwargs or {}, contextlib.nullcontext())

    def numpy(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy; use Tensor.cpu() first")

    __array__ = numpy

    def tolist(self):
        _waits.append("tolist")
        return self.inside.tolist()

    def pin_memory(self, *args):
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor', only dense CPU tensors")

    def __reduce_ex__(self, protocol):
        # As a checkpoint that is loaded to the CPU.
        return self.detach().inside.__reduce_ex__(protocol)

    def __repr__(self):
        return f"PretendedTensor({self.inside!r})"


_waits: list[str] = []


@contextlib.contextmanager
def host_waits():
    """A list, filled while this lasts: each operation for which the host waits for the GPU."""
    _waits.clear()
    yield _waits


class _Random:
    """The GPU's generator: while an operation draws, the CPU's has its state."""

    def __init__(self):
        self.state = torch.get_rng_state()

    @contextlib.contextmanager
    def drawing(self):
        before = torch.get_rng_state()
        torch.set_rng_state(self.state)
        try:
            yield
        finally:
            self.state = torch.get_rng_state()
            torch.set_rng_state(before)

    def seed(self, number: int) -> None:
        self.state = torch.Generator().manual_seed(number).get_state()


class _Dispatch(TorchDispatchMode):
    def __init__(self, random: _Random):
        super().__init__()
        self.random = random

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return _run(function, args, kwargs or {}, self.random.drawing())


def _run(function, args, kwargs, drawing):
    name = function.overloadpacket.__name__
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    on_gpu = any(isinstance(tensor, PretendedTensor) for tensor in tensors)
    if on_gpu:
        _refuse(name, args, kwargs, tensors)
        refuse_nondeterministic(name, args, kwargs)
    # By position where inference mode leaves `to` whole.
    devices = [each for each in args if isinstance(each, torch.device)]
    wanted = kwargs.get("device") or next(iter(devices), None)
    to_gpu = on_gpu if wanted is None else torch.device(wanted).type in ("cuda", "meta")
    if _waits_for_the_gpu(name, args, kwargs, on_gpu, to_gpu):
        _waits.append(name)
    args = tuple(CPU if isinstance(each, torch.device) else each for each in args)
    if kwargs.get("device") is not None:
        kwargs = {**kwargs, "device": CPU}
    generator = kwargs.get("generator")
    if to_gpu and generator is not None and generator.device.type == "cpu":
        raise RuntimeError(f"{name}: Expected a 'cuda' device type for generator but found 'cpu'")
    if kwargs.get("pin_memory"):
        kwargs = {**kwargs, "pin_memory": False}
    draws = torch.Tag.nondeterministic_seeded in function.tags and generator is None
    with drawing if draws and to_gpu else contextlib.nullcontext():
        found = function(*tree_map(_inside, args), **tree_map(_inside, kwargs))
    if name == "copy_":
        return args[0]
    if name in _TO_PYTHON:
        return found
    known = {id(_inside(tensor)): tensor for tensor in tensors}

    def outside(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in known:  # in place, or out=
            same = known[id(value)]
            if isinstance(same, PretendedTensor) == to_gpu:
                return same
            value = value.clone()
        return PretendedTensor(value) if to_gpu else value

    return tree_map(outside, found)


def _refuse(name: str, args: tuple, kwargs: dict, tensors: list[torch.Tensor]) -> None:
    """Raise where a GPU would."""
    strangers = [t for t in tensors if not isinstance(t, PretendedTensor)]
    if name not in _NEVER_MIX:
        strangers = [tensor for tensor in strangers if tensor.dim() > 0]
    if strangers and name not in _MAY_MIX and not name.startswith(("_foreach", "_fused")):
        shapes = [tuple(tensor.shape) for tensor in strangers]
        raise RuntimeError(
            f"{name}: Expected all tensors to be on the same device, found {shapes} on cpu and "
            "others on cuda:0"
        )
    if name.startswith(("index", "_index")) and not isinstance(args[0], PretendedTensor):
        raise RuntimeError(f"{name}: indices on cuda:0 for a tensor on cpu")


def _waits_for_the_gpu(name: str, args: tuple, kwargs: dict, on_gpu: bool, to_gpu: bool) -> bool:
    if name == "_to_copy":
        return on_gpu != to_gpu and not kwargs.get("non_blocking")
    if name == "copy_":
        target, source = args[:2]
        crosses = isinstance(target, PretendedTensor) != isinstance(source, PretendedTensor)
        return crosses and not (kwargs.get("non_blocking") or (len(args) > 2 and args[2]))
    if not on_gpu:
        return False
    if name == "repeat_interleave":
        return kwargs.get("output_size") is None
    if name.startswith(("index", "_index")) and len(args) > 1 and isinstance(args[1], list | tuple):
        return any(index is not None and index.dtype == torch.bool for index in args[1])
    return name in _WAITED_FOR


def _inside(value):
    return value.inside if isinstance(value, PretendedTensor) else value


class _Functions(TorchFunctionMode):
    """What happens above the dispatcher: tensors made of values, and CUDA's autocast.

    Tensors on "meta" take no notice of CUDA's autocast; of its functions these are done here.
    """

    made = frozenset({torch.tensor, torch.as_tensor})
    reduced = frozenset(
        {
            torch.conv2d,
            torch.nn.functional.conv2d,
            torch.nn.functional.linear,
            torch.nn.functional.scaled_dot_product_attention,
            torch.matmul,
            torch.Tensor.matmul,
            torch.Tensor.__matmul__,
            torch.mm,
            torch.bmm,
            torch.addmm,
        }
    )
    full = frozenset(
        {
            torch.nn.functional.layer_norm,
            torch.nn.functional.softmax,
            torch.nn.functional.normalize,
        }
    )

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if function in self.made and device is not None and torch.device(device).type == "cuda":
            return function(*args, **kwargs | {"device": "cpu"}).to(GPU)
        if function in self.reduced | self.full and torch.is_autocast_enabled("cuda"):
            wanted = torch.float32
            if function in self.reduced:
                wanted = torch.get_autocast_dtype("cuda")

            def cast(value):
                is_real = isinstance(value, PretendedTensor) and value.is_floating_point()
                return value.to(wanted) if is_real else value

            args, kwargs = tree_map(cast, args), tree_map(cast, kwargs)
        return function(*args, **kwargs)


@contextlib.contextmanager
def pretended_gpu(free: int = 70 << 30, total: int = 80 << 30):
    """While this lasts, torch sees one GPU with this memory; yields its device."""
    random = _Random()
    submit = ThreadPoolExecutor.submit

    def submit_in_modes(pool, function, *args, **kwargs):
        def call():
            with _Dispatch(random), _Functions():
                return function(*args, **kwargs)

        return submit(pool, call)

    def set_rng_state(state, *_):
        random.state = state

    cuda = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda *_: "pretended GPU",
        "mem_get_info": lambda *_: (free, total),
        "synchronize": lambda *_: None,
        "manual_seed": random.seed,
        "manual_seed_all": random.seed,
        "get_rng_state": lambda *_: random.state.clone(),
        "set_rng_state": set_rng_state,
        "_lazy_init": lambda: None,
        # torch.manual_seed leaves CUDA alone in a process that came out of a fork.
        "_is_in_bad_fork": lambda: False,
    }
    capture = [
        check
        for check in ("_cuda_graph_capture_health_check", "_accelerator_graph_capture_health_check")
        if hasattr(torch.optim.Optimizer, check)
    ]
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.multiple(torch.cuda, **cuda))
        stack.enter_context(mock.patch.object(torch.Tensor, "pin_memory", lambda self, *_: self))
        stack.enter_context(mock.patch.object(ThreadPoolExecutor, "submit", submit_in_modes))
        stack.enter_context(
            mock.patch.object(
                sys.modules[torch.optim.Optimizer.__module__],
                "_foreach_supported_types",
                [torch.Tensor, torch.nn.Parameter, PretendedTensor],
            )
        )
        for check in capture:
            stack.enter_context(mock.patch.object(torch.optim.Optimizer, check, return_value=None))
        stack.enter_context(_Dispatch(random))
        stack.enter_context(_Functions())
        yield GPU


def on_gpu(value):
    """A copy on the pretended GPU, inside of `pretended_gpu`."""
    return tree_map(lambda each: each.to(GPU) if isinstance(each, torch.Tensor) else each, value)


def held_on_gpu(value) -> bool:
    """Whether all tensors of a result are on the GPU: none was made on the CPU by mistake."""
    tensors = [each for each in tree_leaves(value) if isinstance(each, torch.Tensor)]
    return bool(tensors) and all(each.is_cuda for each in tensors)
