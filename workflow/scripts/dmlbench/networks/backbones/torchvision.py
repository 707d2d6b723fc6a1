"""Any classification network of torchvision."""

from torch import nn
from torchvision import models

from dmlbench.errors import UserError, unknown
from dmlbench.networks.backbones._optional import Whole

# Whose further classifiers only train.
_AUXILIARY = ("googlenet", "inception_v3")


class Torchvision(Whole):
    """A network by its name in torchvision, up to the input of its last linear layer.

    Its own pooling is used, so there are no feature maps: `pooling: token`. For published recipes,
    `resnet18`, `resnet50` and others have files of their own, with feature maps.

    Args:
        input_channels: must be 3.
        model: such as `convnext_tiny`.

    Raises:
        UserError: an unknown model, or one that does not end in a linear layer.
    """

    def __init__(self, input_channels: int, *, model: str):
        names = models.list_models(module=models)
        if model not in names:
            raise unknown("model of torchvision", model, names)
        options = {"aux_logits": False, "init_weights": True} if model in _AUXILIARY else {}
        body = models.get_model(model, weights=None, **options)
        name, last = list(body.named_modules())[-1]
        if not isinstance(last, nn.Linear):
            raise UserError(
                f"backbone torchvision: {model} ends in {type(last).__name__}; allowed: models "
                "that end in a linear layer"
            )
        body.set_submodule(name, nn.Identity())
        super().__init__(model, body, last.in_features, input_channels)
        self.classifier = (f"{name}.", "aux1.", "aux2.", "AuxLogits.")
