"""A row: what a study lists and its tables and figures show; each row has a run."""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Row:
    """One combination of what a study lists.

    Attributes:
        study: the study, which also defines variants.
        variant: the named change of the spec; empty for none.
        fold: None if the split has no folds; `concatenated` or `separated` for the scores of all
            folds together.
    """

    study: str
    dataset: str
    network: str
    embedding_dim: int
    method: str
    recipe: str
    variant: str
    split: str
    fold: int | str | None
    seed: int

    @property
    def label(self) -> str:
        """One line for messages: `cub200/resnet50/d512/margin/psomas2020/half/seed0`."""
        variant = f"/{self.variant}" if self.variant else ""
        fold = "" if self.fold is None else f"-fold{self.fold}"
        return (
            f"{self.dataset}/{self.network}/d{self.embedding_dim}/{self.method}/{self.recipe}"
            f"{variant}/{self.split}{fold}/seed{self.seed}"
        )

    @property
    def columns(self) -> dict[str, str | int]:
        """Its values in the long table; the fold is a text, empty for none."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        del values["study"]
        return values | {"fold": "" if self.fold is None else str(self.fold)}
