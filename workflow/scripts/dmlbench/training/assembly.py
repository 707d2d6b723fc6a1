"""The parts of a training, made from its spec."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from dmlbench.data.feed import Feed
from dmlbench.data.transforms import build_transforms
from dmlbench.errors import UserError
from dmlbench.losses import CrossBatchMemory, build_loss
from dmlbench.miners import build_miner
from dmlbench.networks.embedder import Embedder
from dmlbench.networks.synchronized_batchnorm import synchronized
from dmlbench.networks.weights import load_weights
from dmlbench.plan.catalogs.naming import complete
from dmlbench.plan.specs.spec import Spec
from dmlbench.regularizers import build_regularizer
from dmlbench.samplers import Sampler, build_sampler
from dmlbench.samplers.profs import Profs
from dmlbench.samplers.profs_hncm import ProfsHncm
from dmlbench.training.batches import Batches
from dmlbench.training.data import Images
from dmlbench.training.embedding import steps
from dmlbench.training.inputs import ImageInputs
from dmlbench.training.objective import Objective
from dmlbench.training.optimization import build_optimizer
from dmlbench.training.principal_components import use_principal_components
from dmlbench.training.representatives import EACH_ITERATION, class_centers, restriction
from dmlbench.training.seeds import derived_seed, seed_everything
from dmlbench.training.selection import Selection, watched_roles
from dmlbench.training.trainer import Settings, Trainer
from dmlbench.training.watched import WatchedImages


def assemble(
    spec: Spec,
    feed: Feed,
    roles: Mapping[str, Images],
    device: torch.device,
    weights: Path | None = None,
) -> Trainer:
    """A trainer at the start of a spec's training.

    Args:
        spec: what is trained, and how.
        feed: the packed images, or their features if the spec's network is frozen.
        roles: the split's images by role.
        device: where the network runs.
        weights: the file of weights that the spec's network names.

    Raises:
        UserError: parts that fit neither the split, the weights nor each other.
    """
    train = roles["train"]
    watched = {role: roles[role] for role in watched_roles(spec.selection, roles)}
    # All weights are drawn here: the network's, then the loss's.
    seed_everything(spec.seed, "initial weights")
    network = Embedder(spec, feed.features).to(device)
    if spec.network.frozen is None:
        load_weights(network.backbone, spec.network.weights, weights)
    if spec.head_initialization.endswith("_components"):
        use_principal_components(spec, network, feed, roles)
    if spec.gpus > 1:
        synchronized(network)
    loss = _loss(spec, num_classes=int(train.classes.max()) + 1).to(device)

    sampler = build_sampler(
        spec.sampler.name,
        train.classes,
        batch_size=spec.batch_size,
        seed=derived_seed(spec.seed, "batches"),
        **spec.sampler.hyperparameters,
    )
    selection = Selection(spec.selection, spec.patience)
    inputs = ImageInputs(feed, train.ids, build_transforms(steps(spec.transforms.train)))
    return Trainer(
        network,
        _objective(spec, network, loss, sampler),
        Batches(sampler, inputs, train.classes, device, spec.iterations_per_epoch),
        _optimizer(spec, network, loss),
        Settings(
            epochs=spec.epochs,
            seed=spec.seed,
            schedule=spec.schedule,
            warmup=network.backbone,
            warmup_epochs=spec.warmup_epochs,
            clip_value=spec.clip_value,
            evaluate_every=spec.evaluate_every,
        ),
        watch=WatchedImages(spec, network, feed, watched, selection),
        selection=selection,
    )


def _loss(spec: Spec, num_classes: int) -> nn.Module:
    if spec.loss is None:
        return nn.Module()
    context = {"num_classes": num_classes, "embedding_dim": spec.embedding_dim}
    return build_loss(spec.loss.name, **context, **spec.loss.hyperparameters)


def _objective(spec: Spec, network: Embedder, loss: nn.Module, sampler: Sampler) -> Objective:
    parts = {
        "miner": spec.miner and build_miner(**complete(spec.miner)),
        "regularizers": {
            part.name: build_regularizer(part.name, **part.hyperparameters)
            for part in spec.regularizers
        },
        "embed": torch.compile(network) if spec.compile else None,
        "each_iteration": spec.loss is not None and spec.loss.name in EACH_ITERATION,
    }
    if spec.loss is not None and isinstance(sampler, Profs):
        parts["restrict"] = restriction(spec.loss.name, is_mined=spec.miner is not None)
        if parts["each_iteration"] and isinstance(sampler, ProfsHncm):
            sampler.use_centers(lambda: class_centers(loss))
        if "manifold_mixup" in parts["regularizers"]:
            raise UserError(
                f"sampler {spec.sampler.name}: manifold_mixup leaves no image as a representative; "
                "allowed: any other regularizer"
            )
    if spec.memory is not None:
        loss = CrossBatchMemory(loss, miner=parts.pop("miner"), **spec.memory.model_dump())
    return Objective(network, loss, **parts)


def _optimizer(spec: Spec, network: Embedder, loss: nn.Module) -> torch.optim.Optimizer:
    rate, loss_rate = spec.optimizer.learning_rate, spec.loss_learning_rate
    rates = [
        (network.backbone, rate),
        (network.head, rate * spec.head_factor),
        (loss, rate * spec.loss_factor if loss_rate is None else loss_rate),
    ]
    decay = spec.loss_weight_decay
    return build_optimizer(spec.optimizer, rates, {} if decay is None else {loss: decay})
