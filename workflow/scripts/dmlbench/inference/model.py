"""A finished run as a model: embeddings of pictures, neighbors, export."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from dmlbench.data.embeddings import read_embeddings
from dmlbench.data.feed import Feed
from dmlbench.data.transforms import build_transforms
from dmlbench.errors import UserError
from dmlbench.evaluation.roles import scored
from dmlbench.inference import export
from dmlbench.inference.gallery import Gallery, Neighbor, read_gallery
from dmlbench.inference.network import ImageEmbedder, evaluation_steps
from dmlbench.inference.pictures import Picture, Pictures, in_folder
from dmlbench.inference.run_folder import EMBEDDINGS, digest_of, read_run
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.device import pick_device, use_precision
from dmlbench.training.embedding import embedded


def load(run: str | Path, *, device: str = "auto", weights: str | Path | None = None) -> "Model":
    """Load a finished run, after a check of its files against its record.

    >>> load("results/runs/nothing")
    Traceback (most recent call last):
    dmlbench.errors.UserError: results/runs/nothing: no such folder; allowed: ...

    Args:
        run: its folder, below `results/runs`; or a .safetensors that `Model.export` wrote.
        device: `auto`, `cpu` or `cuda`.
        weights: of a run with a frozen network, the file of its published weights; None if it is
            in the results that the run is in.

    Raises:
        DamagedError: a file that is not as its record says.
        UserError: a run that has not finished, published weights that are missing.
    """
    where = pick_device(device)
    spec, network = read_run(Path(run), Path(weights) if weights else None)
    return Model(spec, network.to(where), where, Path(run))


class Model:
    """A trained network, with the preprocessing that it was scored with.

    Attributes:
        spec: the run's.
        network: the module, in evaluation mode: images [B, C, H, W] in [0, 1] to embeddings.
        run: where it was loaded from.
    """

    def __init__(self, spec: Spec, network: ImageEmbedder, device: torch.device, run: Path):
        self.spec, self.run = spec, run
        self.network: nn.Module = network.eval().requires_grad_(False)
        self._device = device
        self._transform = build_transforms(evaluation_steps(spec))

    def embed(self, pictures: str | Path | Sequence[Picture]) -> np.ndarray:
        """Embeddings of pictures, as the run's own images were embedded.

        Args:
            pictures: paths, images of Pillow, or arrays uint8 [H, W] or [H, W, 3]; or a folder,
                whose images are taken in the order of their names.

        Returns:
            float32 [N, D], of length 1 if the run normalizes.

        Raises:
            UserError: a picture that cannot be read, or smaller than the run's crop; no picture.
        """
        pictures = in_folder(Path(pictures))[0] if isinstance(pictures, str | Path) else pictures
        if not len(pictures):
            raise UserError("no picture to embed")
        use_precision(self.spec.precision)
        store = Pictures(pictures, self.spec.network.pixels, self.spec.network.mode)
        feed, places = Feed(store, self._device), np.arange(len(pictures))
        return embedded(self.network, feed, places, self._transform).numpy()

    def gallery(self, pictures: str | Path | Sequence[Picture] | Gallery | None) -> Gallery:
        """Pictures to search.

        Args:
            pictures: as `embed` takes them; or a Parquet file of `dmlbench embed`; or None for the
                images that the run was scored on.
        """
        if isinstance(pictures, Gallery):
            return pictures
        if pictures is None:
            return self._scored()
        if not isinstance(pictures, str | Path):
            return Gallery(list(map(str, pictures)), self.embed(pictures))
        if Path(pictures).suffix == ".parquet" and not Path(pictures).is_dir():
            return read_gallery(Path(pictures), self.origin)
        images, _ = in_folder(Path(pictures))
        return Gallery(list(map(str, images)), self.embed(images))

    def neighbors(
        self,
        query: Picture,
        k: int = 10,
        *,
        among: str | Path | Sequence[Picture] | Gallery | None = None,
    ) -> list[Neighbor]:
        """The pictures nearest to a query, the nearest first.

        Args:
            query: a path, an image of Pillow or an array.
            k: how many, at most; > 0.
            among: as `gallery` takes it, whose result saves embedding for every query.
        """
        return self.gallery(among).nearest(self.embed([query])[0], k)

    def export(self, kind: str, output: str | Path | None = None) -> Path:
        """Write the network for use elsewhere.

        Args:
            kind: `torch` (.pt2) or `onnx`, which take the input that `preprocessing` in their
                metadata describes; or `safetensors`, which `load` reads.
            output: the file; in the current folder if None.

        Returns:
            The file.
        """
        return export.export(self, kind, output)

    def images(self, pictures: Sequence[Picture]) -> torch.Tensor:
        """The network's input for pictures: float32 [N, C, H, W] in [0, 1], on the CPU."""
        store = Pictures(pictures, self.spec.network.pixels, self.spec.network.mode)
        return self._transform(store.batch(np.arange(len(pictures))), None)

    @property
    def origin(self) -> dict[str, str]:
        """Which network this is: digests of its spec and of its weights."""
        return {"spec": self.spec.digest, "weights": digest_of(self.network.state_dict())}

    def _scored(self) -> Gallery:
        """The test images, or the gallery of a split that has one."""
        file = self.run / EMBEDDINGS
        if not file.is_file():
            raise UserError(f"{file}: no such file; allowed: name the pictures to search (`among`)")
        roles = read_embeddings(file)[self.spec.selection]
        images = roles[scored(roles)["test"][-1]]
        return Gallery(images.image_ids.tolist(), images.embeddings, images.labels.tolist())
