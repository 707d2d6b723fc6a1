"""A loss of the user's own: its file, to be edited, and its entry of methods.yaml."""

import re
from pathlib import Path

from dmlbench import registry
from dmlbench.errors import UserError, entry
from dmlbench.plan.catalogs.choices import IDENTIFIER
from dmlbench.plan.load import configuration_of, reload
from dmlbench.plan.new_studies.new_files import write_checked
from dmlbench.plan.new_studies.templates import filled

_TEMPLATE = Path(__file__).parents[2] / "losses" / "_template.py"


def add_loss(config: Path, own: Path, name: str) -> list[Path]:
    """Write a loss to edit, and the method that trains with it, into `own/<name>`.

    Args:
        config: the configuration folder.
        own: where the user's folders are.
        name: of both.

    Returns:
        The files. If the new configuration does not load, nothing is left of them.

    Raises:
        UserError: a name that is taken or not an identifier.
    """
    configuration = configuration_of(own)
    known = reload(configuration, config)
    if not re.fullmatch(IDENTIFIER, name):
        raise UserError(
            f"name {name!r}; allowed: a lower-case letter a to z, then such letters, digits and _"
        )
    for kind, names in (("loss", registry.available("losses")), ("method", known.methods)):
        if name in names:
            raise UserError(f"name {name!r}: there is a {kind} of this name; allowed: another one")
    words = [word.capitalize() for word in name.split("_")]
    text = _TEMPLATE.read_text(encoding="utf-8")
    texts = {
        own / name / "losses" / f"{name}.py": text.replace("Template", "".join(words)),
        own / name / "methods.yaml": filled("method", name=name, title="".join(words)),
    }
    write_checked(texts, own, lambda: entry("method", name, reload(configuration, config).methods))
    return list(texts)
