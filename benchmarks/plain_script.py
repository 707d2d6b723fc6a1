"""The training that one would write with the libraries that everyone uses: the peer of training.py.

pytorch-metric-learning's loss, miner, sampler and AccuracyCalculator, torchvision's transforms and
DataLoader, and AdamW. The network is that of the spec, so that both sides compute the same.
"""

from pathlib import Path

import numpy as np
import torch
from dmlbench.networks.embedder import Embedder
from dmlbench.networks.weights import load_weights
from dmlbench.plan.specs.spec import Spec
from pytorch_metric_learning import losses, miners, samplers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from torch.utils.data import DataLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
from torchvision.transforms.functional import pil_to_tensor

METRICS = ("precision_at_1", "r_precision", "mean_average_precision_at_r")


class Decoded:
    """Images of a folder, decoded and resized here, transformed one by one when they are used."""

    def __init__(self, folder: Path, resize: list, steps: list):
        images = ImageFolder(folder, T.Compose([*resize, pil_to_tensor]))
        self.images, self.targets = list(images), images.targets
        self.steps = T.Compose([*steps, T.ConvertImageDtype(torch.float32)])

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, position: int):
        image, label = self.images[position]
        return self.steps(image), label


def train(
    spec: Spec, folder: Path, weights: Path, *, pixels: tuple[int, str], packed: bool, device: str
) -> list[float]:
    """R@1, R-precision and MAP@R of the last evaluation.

    Args:
        spec: what is trained, with MultiSimilarity and its miner.
        folder: has the images of each role as class folders.
        weights: the file that the network starts from, if it has one.
        pixels: side and mode of the images.
        packed: whether images are decoded once, and not in every epoch.
        device: "cpu" with one thread, or "cuda", which eight workers feed.
    """
    if device == "cpu":
        torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = spec.precision == "tf32"
    torch.backends.cudnn.allow_tf32 = spec.precision == "tf32"
    side, mode = pixels
    resize = [T.Grayscale(), T.Resize((side, side))] if mode == "gray" else [T.Resize(side)]

    def images(role: str, steps: list):
        if packed:
            return Decoded(folder / role, resize, steps)
        return ImageFolder(folder / role, T.Compose([*resize, *steps, T.ToTensor()]))

    training, testing = images("train", train_steps(spec)), images("test", test_steps(spec))
    sampler = samplers.MPerClassSampler(
        training.targets,
        spec.sampler.hyperparameters["images_per_class"],
        batch_size=spec.batch_size,
        length_before_new_iter=spec.batch_size * spec.iterations_per_epoch,
    )
    feeding = {"num_workers": 8, "pin_memory": True, "persistent_workers": True}
    options = {} if device == "cpu" else feeding
    batches = DataLoader(training, spec.batch_size, sampler=sampler, drop_last=True, **options)
    tests = DataLoader(testing, 256, **options)
    network = Embedder(spec).to(device)
    load_weights(network.backbone, spec.network.weights, weights if spec.network.weights else None)
    options = spec.loss.hyperparameters
    loss_of = losses.MultiSimilarityLoss(options["alpha"], options["beta"], options["margin"])
    mine = miners.MultiSimilarityMiner(spec.miner.hyperparameters["epsilon"])
    rate = spec.optimizer.learning_rate
    groups = [
        {"params": network.backbone.parameters(), "lr": rate},
        {"params": network.head.parameters(), "lr": rate * spec.head_factor},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=spec.optimizer.weight_decay)
    accuracy = AccuracyCalculator(include=METRICS, k="max_bin_count")
    for _ in range(spec.epochs):
        network.train()
        for pictures, labels in batches:
            pictures = pictures.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            embeddings = network(pictures)
            loss = loss_of(embeddings, labels, mine(embeddings, labels))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(network.parameters(), spec.clip_value)
            optimizer.step()
        network.eval()
        with torch.inference_mode():
            vectors = [
                (network(pictures.to(device, non_blocking=True)).cpu(), labels)
                for pictures, labels in tests
            ]
        embeddings, labels = map(torch.cat, zip(*vectors, strict=True))
        scores = accuracy.get_accuracy(np.asarray(embeddings), np.asarray(labels))
    return [scores[name] for name in METRICS]


def train_steps(spec: Spec) -> list:
    """torchvision's transforms of the training images."""
    for step in spec.transforms.train:
        if step.name == "random_resized_crop":
            crop = T.RandomResizedCrop(
                step.hyperparameters["size"], scale=tuple(step.hyperparameters["scale"])
            )
            return [crop, T.RandomHorizontalFlip()]
    return []


def test_steps(spec: Spec) -> list:
    """torchvision's transforms of the test images."""
    return [
        {"center_crop": T.CenterCrop, "resize": T.Resize}[step.name](step.hyperparameters["size"])
        for step in spec.transforms.test
    ]
