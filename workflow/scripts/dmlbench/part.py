"""Parts that declare their options as fields, each once: its name, its type and its default."""

from dataclasses import dataclass
from typing import dataclass_transform


@dataclass_transform(kw_only_default=True)
class Part:
    """A part of the library; a subclass is a dataclass, without a decorator.

    Its fields are its options (`dmlbench.registry`), given by name.
    """

    def __init_subclass__(cls):
        super().__init_subclass__()
        dataclass(kw_only=True, eq=False, repr=False)(cls)
