"""What fits a GPU: counted against what a process takes, named by a plan, said where it fails."""

from itertools import accumulate
from pathlib import Path

import pytest
import step_memory
import torch
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.catalogs.recipes import Optimizer
from dmlbench.plan.costs import costs
from dmlbench.plan.costs.memory_model import OVERHEAD, Memory
from dmlbench.training import loop
from dmlbench.training.memory import out_of_memory_is_a_user_error
from dmlbench.training.optimization import build_optimizer
from pretended_gpu import pretended_gpu
from torch.profiler import ProfilerActivity, profile
from toy_training import VALUES, merged, outputs

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = REPOSITORY / "config"
MEMORY = read_yaml(CONFIG / "memory.yaml", Memory)


def loaded(tmp_path, study, **configuration):
    values = {"pathvars": {"results": str(tmp_path)}, "studies": [study], **configuration}
    return plan.reload(values, CONFIG)


def test_every_network_was_counted():
    networks = yaml.safe_load((CONFIG / "networks.yaml").read_text())
    # Heads on stored features take little.
    assert set(MEMORY.networks) == {key for key in networks if "frozen" not in networks[key]}


def test_the_memory_of_a_training_by_hand(tmp_path):
    thesis = loaded(tmp_path, "psomas2020")
    spec = next(
        run.spec
        for run in thesis.runs()
        if run.spec.network.backbone.name == "resnet50" and run.spec.batch_size == 100
    )
    counted = MEMORY.networks["resnet50"]
    # AdamW keeps two numbers for each weight, next to the weight and its gradient.
    expected = 16e6 * counted.parameters + 100 * 1e6 * counted.image.float32 + OVERHEAD
    assert MEMORY.of_training("resnet50", spec) == pytest.approx(expected)
    larger = spec.model_copy(update={"batch_size": 200})
    more = MEMORY.of_training("resnet50", larger) - MEMORY.of_training("resnet50", spec)
    assert more == pytest.approx(100e6 * counted.image.float32)
    reduced = spec.model_copy(update={"precision": "bfloat16"})
    assert MEMORY.of_training("resnet50", reduced) < MEMORY.of_training("resnet50", spec)


def lines(tmp_path, **configuration):
    thesis = loaded(tmp_path, "psomas2020", **configuration)
    todo = costs.Ahead({thesis.run(row): row for row in thesis.rows("psomas2020")})
    return [line for line in costs.lines(thesis, todo, gpu=True) if "will not fit" in line]


def test_a_plan_names_what_will_not_fit(tmp_path):
    assert lines(tmp_path) == []
    assert lines(tmp_path, gpu_memory=80) == []
    found = lines(tmp_path, gpu_memory=10)
    (resnet50,) = [line for line in found if "resnet50 at 224 pixels, batches of 100" in line]
    assert "will not fit into a GPU of 10 GB: " in resnet50
    assert "in float32: about 11 GB" in resnet50
    assert len(lines(tmp_path, gpu_memory=20, runs_per_gpu=2)) == len(found)


def test_without_a_gpu_nothing_is_said_of_its_memory(tmp_path):
    thesis = loaded(tmp_path, "psomas2020", gpu_memory=1)
    todo = costs.Ahead({thesis.run(row): row for row in thesis.rows("psomas2020")})
    assert not [line for line in costs.lines(thesis, todo, gpu=False) if "will not fit" in line]


FULL = {
    "tensors": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 0 has"),
    "a context": torch.AcceleratorError("CUDA error: out of memory\nSearch for `cudaErrorMem...`"),
    "cuBLAS": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"),
}


def failing(monkeypatch, part, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(f"dmlbench.training.loop.{part}", fail)


def train_on_gpu(folder, data):
    arguments = {**data.as_arguments(), **outputs(folder), "threads": 1}
    with pretended_gpu():
        loop.train(merged(VALUES, {}), **arguments, device="cuda")


@pytest.mark.parametrize("room", FULL)
@pytest.mark.parametrize("part", ["Trainer._step", "assemble"])
def test_out_of_memory_is_one_line_that_says_what_to_change(
    tmp_path, toy_data, monkeypatch, part, room
):
    failing(monkeypatch, part, FULL[room])
    with pytest.raises(UserError) as error:
        train_on_gpu(tmp_path, toy_data)
    assert str(error.value) == (
        "out of memory on pretended GPU with 86 GB: convnet at 16 pixels, batch_size 20, float32; "
        "to change: runs_per_gpu (fewer jobs on the GPU), precision (bfloat16), "
        "batch_size (smaller), or the GPU (larger)"
    )


def test_another_error_of_a_gpu_stays_what_it_is(tmp_path, toy_data, monkeypatch):
    failing(monkeypatch, "assemble", torch.AcceleratorError("CUDA error: misaligned address"))
    with pytest.raises(torch.AcceleratorError, match="misaligned"):
        train_on_gpu(tmp_path, toy_data)


def test_a_gpu_without_room_for_a_context_is_named_all_the_same(monkeypatch):
    def no_context():
        raise FULL["a context"]

    told = pytest.raises(UserError, match="out of memory on pretended GPU: ")
    with pretended_gpu():
        monkeypatch.setattr(torch.cuda, "mem_get_info", no_context)
        with told, out_of_memory_is_a_user_error(step_memory.spec("convnet4")):
            no_context()


def allocated(name, pixels, batch):
    """Most bytes that torch's own allocator handed out at once in a real step, by its profiler."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        network = Embedder(step_memory.spec(name))
        images = torch.zeros(batch, len(network.mean[0]), pixels, pixels)
        options = Optimizer(name="adamw", learning_rate=0.001)
        optimizer = build_optimizer(options, [(network, 0.001)])
        step_memory.steps(network, optimizer, images)
    events = profiled.profiler.kineto_results.events()
    changes = [event for event in events if event.name() == "[memory]"]
    changes.sort(key=lambda event: event.start_ns())
    return max(accumulate(event.nbytes() for event in changes))


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("convnet4", 28, 100), ("convnet4", 28, 1100), ("mobilenet_v2", 96, 68)]
)
def test_what_is_counted_is_what_a_step_allocates(arguments):
    assert step_memory.counted(*arguments, "float32") == pytest.approx(
        allocated(*arguments), rel=0.08
    )
