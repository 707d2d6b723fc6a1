"""Any network of timm (Wightman, PyTorch Image Models), an optional package."""

import sys

from torch import Tensor

from dmlbench.networks.backbones._optional import Whole, classifier_of, fitting
from dmlbench.values import Count

REQUIRES = "timm"


class Timm(Whole):
    """A network by its name in timm, up to the pooled features that its classifier takes as input.

    Its own pooling is used (the average, the class token, attention, ...), so there are no feature
    maps: `pooling: token`.

    Args:
        input_channels: must be 3.
        model: such as `vit_small_patch14_dinov2.lvd142m`; what follows the period names weights
            and changes nothing else.
        image_size: side of the images, for networks that take one size only; positions in the
            weights are resampled as timm does it. None: the size that timm states.
    """

    def __init__(self, input_channels: int, *, model: str, image_size: Count | None = None):
        # Only here: an optional package, and a slow import.
        import timm

        size = {} if image_size is None else {"img_size": image_size}
        with fitting(f"backbone timm: model {model!r}", "a name of timm.list_models()"):
            body = timm.create_model(model, pretrained=False, num_classes=0, **size)
        features = getattr(body, "head_hidden_size", body.num_features)
        super().__init__(model, body, features, input_channels)
        self.classifier = classifier_of(body.pretrained_cfg.get("classifier"))

    def renamed(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """A published file's tensors by timm's names, and for this network's image size."""
        convert = getattr(sys.modules[type(self.body).__module__], "checkpoint_filter_fn", None)
        if convert is None:
            return weights
        with fitting(f"weights of {self.model}", "a file with the tensors of this model"):
            return convert(dict(weights), self.body)
