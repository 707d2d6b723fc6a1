"""YAML files into checked models, and values into YAML that is read as it was written.

An error is one line that names file, key and value.
"""

import functools
import re
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from dmlbench.errors import UserError, unknown
from dmlbench.shared_files import regular_status

Checked = TypeVar("Checked")


_MERGE = "tag:yaml.org,2002:merge"
"""The tag of `<<`, which merges another mapping's keys; keys written next to it win."""
_FLOAT = (
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
"""What is a number in YAML 1.2 but not 1.1: tag, form, first characters."""


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):
    """A safe loader that rejects a duplicate key, where YAML would keep the last one.

    It reads 1e-1, 1E5 and 2.5e5 as numbers, as in YAML 1.2 but not 1.1.
    """


def _mapping_without_repeats(loader: _Loader, node: yaml.MappingNode) -> dict:
    written = [key for key, _ in node.value if key.tag != _MERGE]
    keys = [loader.construct_object(key) for key in written]
    for position, key in enumerate(keys):
        if key in keys[:position]:
            line = written[position].start_mark.line + 1
            raise UserError(f"key {key!r} is written twice, again in line {line}")
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repeats)
_Loader.add_implicit_resolver(*_FLOAT)


class _Dumper(yaml.SafeDumper):
    """A safe dumper that quotes text which `_Loader` would read as a number."""


_Dumper.add_implicit_resolver(*_FLOAT)


def as_yaml(values: Any, **layout: Any) -> str:
    """Plain values as YAML, in their order; `read_mapping` reads the same values.

    Args:
        layout: options of PyYAML's dump.
    """
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, **layout)


def read_yaml(path: Path, kind: type[Checked]) -> Checked:
    """Read a YAML file as `kind` (a pydantic model, or a dict of them).

    Raises:
        UserError: the file is missing, is not YAML, or holds a wrong key or value.
    """
    return checked(read_mapping(path), kind, where=str(path))


def read_mapping(path: Path) -> Any:
    """Read a YAML file as plain values.

    Raises:
        UserError: the file is missing, is empty, is neither UTF-8 nor YAML, or has a key twice.
    """
    try:
        regular_status(path)
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    try:
        values = yaml.load(text, Loader=_Loader)  # noqa: S506 (it derives from a SafeLoader)
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML: {_problem(error, text)}") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    if values is None:
        raise UserError(f"{path}: is empty; allowed: YAML with at least one key")
    return values


def _problem(error: yaml.YAMLError, text: str) -> str:
    """What is wrong in a text that is not YAML, with the line in which it is noticed."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split())
    line = next(iter(text.splitlines()[mark.line : mark.line + 1]), "")
    allowed = "; allowed: spaces" if line[mark.column :].startswith("\t") else ""
    problem = error.problem if not allowed else "a tab indents"
    context = "" if allowed or not error.context else f" {error.context}"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}{context}: {line!r}{allowed}"


def checked(values, kind: type[Checked], *, where: str) -> Checked:
    """`values` as `kind`, or a UserError of one line that starts with `where`."""
    try:
        return _adapter(kind).validate_python(values)
    except ValidationError as error:
        raise UserError(f"{where}: {_one_line(error, kind)}") from None


@functools.cache
def _adapter(kind: type) -> TypeAdapter:
    return TypeAdapter(kind)


def _one_line(error: ValidationError, kind: type) -> str:
    # A misspelled key is also a missing one: its own name says more.
    problems = error.errors()
    first = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    keys = [str(key) if str(key).isprintable() else ascii(key) for key in first["loc"]]
    key = ".".join(keys)
    if first["type"] == "extra_forbidden":
        reason = str(unknown("key", keys[-1], _fields_at(kind, first["loc"][:-1])))
    elif first["type"] == "missing":
        reason = "is missing"
    else:
        reason = first["msg"].removeprefix("Value error, ")
        if not isinstance(first["input"], (dict, list, BaseModel)):
            reason = f"{first['input']!r}: {reason}"
    return f"{key}: {reason}" if key else reason


def _fields_at(kind: type, location: tuple) -> list[str]:
    """Field names of the model at a location inside `kind`."""
    schema = TypeAdapter(kind).json_schema()
    definitions = schema.get("$defs", {})

    def candidates(node: dict) -> list[dict]:
        if "$ref" in node:
            return candidates(definitions[node["$ref"].rsplit("/", 1)[1]])
        return [leaf for option in node.get("anyOf", []) for leaf in candidates(option)] or [node]

    nodes = candidates(schema)
    for key in location:
        inner = []
        for node in nodes:
            if isinstance(key, int):
                inner.append(node.get("items"))
            elif key in node.get("properties", {}):
                inner.append(node["properties"][key])
            else:
                inner += [
                    node.get("additionalProperties"),
                    *node.get("patternProperties", {}).values(),
                ]
        nodes = [leaf for node in inner if isinstance(node, dict) for leaf in candidates(node)]
    return sorted({name for node in nodes for name in node.get("properties", {})})
