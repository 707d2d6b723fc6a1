"""Words and digests in the names of folders and files."""

import hashlib
import json
from typing import Any

from dmlbench import registry
from dmlbench.plan.catalogs.choices import Choice
from dmlbench.plan.catalogs.identity import identified


def digest_of(values: Any, digits: int) -> str:
    """The first hexadecimal digits of plain values' SHA-256; the order of keys does not count."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def slug(choice: Choice) -> str:
    """A choice as part of a file name: its name and the values of its options, `fixed-0-0.1`.

    The version of its code follows if it was raised, `half-v2`, so that the file is made again.
    """
    options = identified(choice.package, choice.model_dump())
    name = options.pop("name")
    version = registry.version(choice.package, choice.name)
    raised = [f"v{version}"] if version > 1 else []
    return "-".join([name, *(str(value) for _, value in sorted(options.items())), *raised])
