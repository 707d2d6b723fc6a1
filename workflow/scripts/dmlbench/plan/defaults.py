"""The defaults of a part's options, so that a spec names every value that it was made with."""

import ast
import functools
import math

from dmlbench import registry
from dmlbench.plan.choices import Choice


def complete(choice: Choice) -> dict:
    """A choice as plain values with every option named, given or left at its default."""
    return with_defaults(type(choice), choice.model_dump())


def with_defaults(kind: type[Choice], values: dict | str) -> dict:
    """The plain values of a choice (or its name alone) with every option named.

    Raises:
        UserError: the room has no such part.
    """
    values = {"name": values} if isinstance(values, str) else values
    return {"name": values["name"]} | defaults(kind.room, values["name"]) | values


@functools.cache
def defaults(room: str, name: str) -> dict:
    """The default of each option of a part that has one."""
    for node in ast.parse(registry.file_of(room, name).read_text()).body:
        if isinstance(node, ast.ClassDef) and registry.is_class_of(name, node.name):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                    pairs = zip(item.args.kwonlyargs, item.args.kw_defaults, strict=True)
                    return {
                        argument.arg: _value(default)
                        for argument, default in pairs
                        if default is not None
                    }
    return {}


def _value(node: ast.expr):
    """The value of a default: a literal, a fraction of literals, `math.inf`; tuples as lists."""
    match node:
        case ast.Tuple() | ast.List():
            return [_value(item) for item in node.elts]
        case ast.BinOp(left=above, op=ast.Div(), right=below):
            return _value(above) / _value(below)
        case ast.Call(func=ast.Name("float"), args=[ast.Constant(text)]):
            return float(text)
        case ast.Attribute(value=ast.Name("math"), attr="inf"):
            return math.inf
    return ast.literal_eval(node)
