"""The training loop: from a spec, or from any trainer's parts, to weights and a history."""

import contextlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor
from tqdm import tqdm

from dmlbench.data.embeddings import Embedded, write_embeddings
from dmlbench.data.feed import Feed
from dmlbench.data.stored import open_store
from dmlbench.distributed import rank
from dmlbench.errors import UserError
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.assembly import assemble
from dmlbench.training.checkpoint import Checkpoint
from dmlbench.training.cpu import use_cpu
from dmlbench.training.data import Images, read_roles
from dmlbench.training.device import device_name, pick_device, use_precision
from dmlbench.training.export import embed_with, embedded_roles
from dmlbench.training.gpus import share_of_a_gpu
from dmlbench.training.interruption import Interrupted, Interruption
from dmlbench.training.memory import out_of_memory_is_a_user_error
from dmlbench.training.prepared import origin
from dmlbench.training.processes import in_processes
from dmlbench.training.results import conditions, write_history, write_spec, write_weights
from dmlbench.training.seeds import make_deterministic
from dmlbench.training.trainer import Trainer

AfterEpoch = Callable[[Trainer], None]


def run(
    trainer: Trainer,
    checkpoint: Checkpoint,
    interruption: Interruption,
    after_epoch: AfterEpoch = lambda trainer: None,
) -> None:
    """Train to the end, from the beginning or from where the checkpoint was written.

    Args:
        trainer: at its beginning.
        checkpoint: written after each epoch, when it is due, and at a signal to stop.
        interruption: records such a signal.
        after_epoch: called once an epoch is in the checkpoint.

    Raises:
        LossError: the loss is not finite, or no weight learns.
        UserError: a signal to stop, after which the next call continues.
    """
    state = checkpoint.load()
    if state is not None:
        trainer.load_state_dict(state)
    elif trainer.settings.epochs == 0:
        trainer.end_epoch(trainer.evaluate())
    try:
        _train_epochs(trainer, checkpoint, interruption, after_epoch)
    except Interrupted:
        checkpoint.save(**trainer.state_dict())
        raise UserError(
            f"interrupted at epoch {trainer.epoch}, iteration {trainer.running.iteration}; "
            "the next call continues there"
        ) from None


def _train_epochs(
    trainer: Trainer, checkpoint: Checkpoint, interruption: Interruption, after_epoch: AfterEpoch
) -> None:
    with tqdm(
        total=trainer.settings.epochs * trainer.batches.per_epoch,
        initial=trainer.done,
        desc="training",
        disable=rank() > 0,
        mininterval=0.1 if sys.stderr.isatty() else 10,
    ) as progress:
        while not trainer.is_over:
            for _ in trainer.train_epoch():
                progress.update()
                interruption.check()
                if checkpoint.is_due:
                    checkpoint.save(**trainer.state_dict())
            with interruption.at_once():
                scores = trainer.evaluate()
            trainer.end_epoch(scores)
            checkpoint.save(**trainer.state_dict())
            progress.set_postfix({key: f"{value:.3g}" for key, value in scores.items()})
            after_epoch(trainer)


@in_processes
def train(
    values: dict,
    *,
    index: Path,
    split: Path,
    device: str,
    threads: int,
    spec_file: Path,
    model: Path,
    last: Path,
    history: Path,
    weights: Path | None = None,
    prepared: Path | None = None,
    prepared_train: Path | None = None,
    after_epoch: AfterEpoch = lambda trainer: None,
    **stored: Path,
) -> None:
    """Train a run, or continue it from its checkpoint.

    Args:
        values: the run's spec, as plain values.
        index, split: Parquet files of the data set's images and of their roles.
        device: `auto`, `cpu` or `cuda`.
        threads: CPU threads of torch, in each process; another number gives other last digits.
        spec_file: written: the spec in full, as YAML.
        model: written: the selected epoch's weights, as safetensors.
        last: written: the last epoch's weights.
        history: written: one row per epoch, as Parquet.
        weights: the file of weights that the spec's network names; None if it names none.
        prepared: written, unless a signal to stop comes first: the file of embeddings that
            `export_embeddings` would write, for `take_prepared`.
        prepared_train: written as `prepared`: the embeddings of the training images.
        after_epoch: called once an epoch is in the checkpoint.
        stored: as `dmlbench.data.stored.open_store` takes it.

    Raises:
        LossError: the loss is not finite, or no weight learns.
        UserError: the split lacks what the selection needs; parts that do not fit each other;
            weights that are missing or do not fit; a GPU that is too small; a signal to stop, after
            which the next call continues.
    """
    spec = Spec.model_validate(values)
    make_deterministic(spec.compile)
    use_cpu(threads)
    use_precision(spec.precision)
    roles, where = read_roles(index, split, spec.fold), pick_device(device)
    with out_of_memory_is_a_user_error(spec):
        feed = Feed(open_store(**stored), where, share_of_a_gpu())
        trainer = assemble(spec, feed, roles, where, weights)
        now = conditions(device_name(where), threads)
        checkpoint = Checkpoint(Path(model).parent, spec.digest, now)
        with Interruption() as interruption:
            run(trainer, checkpoint, interruption, after_epoch)
            if rank() > 0:
                return
            final = {name: tensor.clone() for name, tensor in trainer.network.state_dict().items()}
            write_spec(spec_file, spec)
            write_history(
                history,
                trainer.history,
                device_name(where),
                threads=threads,
                computed_by=checkpoint.computed_by,
            )
            write_weights(model, trainer.selection.weights, spec, trainer.selection.epoch)
            write_weights(last, final, spec, trainer.epoch)
            files = ((prepared, None), (prepared_train, ["train"]))
            with contextlib.suppress(Interrupted), interruption.at_once():
                for file, wanted in files:
                    if file:
                        embeddings = _embed(
                            trainer, final, spec, feed, embedded_roles(roles, wanted)
                        )
                        made_of = origin(spec, model=model, last=last, split=split)
                        write_embeddings(file, embeddings, made_of)


def _embed(
    trainer: Trainer,
    final: Mapping[str, Tensor],
    spec: Spec,
    feed: Feed,
    images: Mapping[str, Images],
) -> dict[str, dict[str, Embedded]]:
    """Embed images with the selected and the final weights, unless they were when watched."""
    selected, known = trainer.selection, trainer.watch.embedded
    of_epoch = {
        epoch: embed_with(weights, spec, trainer.network, feed, images, known.get(epoch, {}))
        for epoch, weights in {selected.epoch: selected.weights, trainer.epoch: final}.items()
    }
    return {spec.selection: of_epoch[selected.epoch], "last_epoch": of_epoch[trainer.epoch]}
