"""What the library never does, checked in its source."""

import ast
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = REPOSITORY / "workflow" / "scripts"
SOURCES = [*SCRIPTS.rglob("*.py"), *(REPOSITORY / "benchmarks").glob("*.py")]
SOURCES += [*(REPOSITORY / "envs").glob("*.py")]
RULES = [REPOSITORY / "Snakefile", *(REPOSITORY / "rules").glob("*.smk")]

# Calls that run code from data, or a shell.
NEVER = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads",
    "pickle.Unpickler", "dill.load", "joblib.load", "pandas.read_pickle", "pd.read_pickle",
    "marshal.loads", "shelve.open", "subprocess.getoutput", "subprocess.getstatusoutput",
    "yaml.unsafe_load", "yaml.full_load", "shutil.unpack_archive",
}  # fmt: skip
# Methods that write members of archives to where their names say.
UNPACKING = {"extractall", "extract"}


def dotted(node: ast.expr) -> str:
    """`os.system` from the expression that names it; other expressions are left out."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def keywords(call: ast.Call) -> dict[str, str]:
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg}


def offences(source: str, safe_loaders: tuple[str, ...] = ()) -> list[str]:
    """The calls of a source that run code from data or a shell, or unpack an archive."""
    found = []
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name, given = dotted(call.func), keywords(call)
        loader = given.get("Loader", "").rpartition(".")[2]
        if (
            name in NEVER
            or (name.rpartition(".")[2] in UNPACKING and not name.endswith(".str.extract"))
            or (name.endswith("torch.load") and given.get("weights_only") != "True")
            or (name.endswith(("np.load", "numpy.load")) and "allow_pickle" in given)
            or (name == "yaml.load" and loader not in ("SafeLoader", "CSafeLoader", *safe_loaders))
            or given.get("shell", "False") != "False"
        ):
            found.append(f"{call.lineno}: {ast.unparse(call)}")
    return found


def safe_loaders(source: str) -> tuple[str, ...]:
    """Classes of a source whose every base is a safe loader of YAML."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            names = [
                leaf.attr
                for base in node.bases
                for leaf in ast.walk(base)
                if isinstance(leaf, ast.Attribute) and leaf.attr.endswith("Loader")
            ]
            if names and all(name.endswith("SafeLoader") for name in names):
                found.append(node.name)
    return tuple(found)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_no_call_runs_code_from_data_or_a_shell(path):
    source = path.read_text()
    assert offences(source, safe_loaders(source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "pickle.load(file)",
        "yaml.load(text)",
        "yaml.load(text, Loader=yaml.Loader)",
        "yaml.load(text, Loader=_Loader)",
        "yaml.full_load(text)",
        "subprocess.run(command, shell=True)",
        "subprocess.Popen(command, shell=flag)",
        "os.system(command)",
        "eval(text)",
        "exec(text)",
        "np.load(path, allow_pickle=True)",
        "tarfile.open(path).extractall(folder)",
        "archive.extract(member)",
    ],
)
def test_the_search_finds_each_kind(source):
    assert len(offences(source)) == 1


def test_a_loader_that_is_not_safe_is_no_safe_loader():
    assert safe_loaders("class A(yaml.SafeLoader): pass\nclass B(yaml.Loader): pass") == ("A",)
    both = "class A(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader): pass"
    assert safe_loaders(both) == ("A",)
    assert safe_loaders(both.replace("yaml.SafeLoader", "yaml.UnsafeLoader")) == ()


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_no_rule_builds_a_shell_command(path):
    words = {line.strip().partition(":")[0] for line in path.read_text().splitlines()}
    assert not words & {"shell", "run", "shadow", "notebook", "wrapper", "cwl"}
    text = path.read_text()
    for forbidden in ("shell(", "os.system", "os.popen", "subprocess", "eval(", "exec("):
        assert forbidden not in text


def test_every_rule_that_does_something_has_a_script():
    scripts = [
        line.strip().strip('"')
        for path in RULES
        for line in path.read_text().splitlines()
        if line.strip().endswith('.py"')
    ]
    assert len(scripts) > 10
    assert all((REPOSITORY / "rules" / script).is_file() for script in scripts)
