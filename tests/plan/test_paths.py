"""Output paths are stated once, in plan/paths.py; rules and library take them from there."""

import ast
import re
from pathlib import Path
from string import Formatter

import pytest
from dmlbench.plan import paths

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = REPOSITORY / "workflow" / "scripts"
RULE = re.compile(
    r"^(?:use rule \w+ as |rule )(\w+)(?::| with:)\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL
)
RULES = dict(
    rule
    for file in sorted((REPOSITORY / "rules").glob("*.smk"))
    for rule in RULE.findall(file.read_text())
)
"""Name -> text of each rule that is not made in a loop."""
OF_OTHERS = ("embed_train", "agreement", "claims")
"""Rules with the script of another one."""
RUNNING = [name for name, body in RULES.items() if "script:" in body or name in OF_OTHERS]

FILES = {
    Path(path).name
    for rule in paths.RULES.values()
    for path in rule.files.values()
    if "{" not in Path(path).name
}

ELSEWHERE = {
    # Files in the folder of a trial, which are no outputs.
    ("dmlbench/search/objective.py", "spec.yaml"),
    ("dmlbench/search/objective.py", "model.safetensors"),
    ("dmlbench/search/objective.py", "last.safetensors"),
    ("dmlbench/search/objective.py", "history.parquet"),
    # A file of a hub of models.
    ("dmlbench/networks/entry.py", "model.safetensors"),
    # Templates of pages.
    ("dmlbench/presentation/report.py", "report.html"),
    ("dmlbench/presentation/runs.py", "runs.html"),
}


def wildcards(path: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(path) if name}


def texts(file: Path) -> set[str]:
    """The last part of every text in a module."""
    nodes = ast.walk(ast.parse(file.read_text()))
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return {text.rpartition("/")[2] for text in constants if isinstance(text, str)}


def test_no_other_module_names_a_file_of_results():
    found = {
        (file.relative_to(SCRIPTS).as_posix(), text)
        for file in SCRIPTS.rglob("*.py")
        for text in texts(file) & FILES
    }
    assert {each for each in found if each[0] != "dmlbench/plan/paths.py"} == ELSEWHERE


@pytest.mark.parametrize("file", sorted((REPOSITORY / "rules").glob("*.smk")), ids=lambda f: f.name)
def test_no_rule_names_a_path_below_the_results(file):
    code = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("#"))
    quoted = re.findall(r'"([^"\n]*)"', code)
    assert [text for text in quoted if re.match(r"<results>/[^{]", text)] == []


@pytest.mark.parametrize("rule", RUNNING)
def test_a_rule_writes_its_own_outputs(rule):
    written = RULES[rule].partition("output:")[2].partition("params:")[0]
    made = re.findall(r'made\("(\w+)"(?:, "(\w+)")?\)', written)
    assert sorted(made) == sorted((rule, output) for output in paths.outputs(rule))


def test_every_rule_with_a_script_is_listed():
    assert set(paths.RULES) == set(RUNNING)


@pytest.mark.parametrize("rule", paths.RULES)
def test_jobs_share_neither_outputs_nor_logs(rule):
    job, files = paths.RULES[rule]
    assert {frozenset(wildcards(path)) for path in files.values()} <= {frozenset(wildcards(job))}


def test_no_two_rules_write_a_file():
    written = [path for rule in paths.RULES.values() for path in rule.files.values()]
    logs = [rule.job for rule in paths.RULES.values()]
    assert len(set(written)) == len(written)
    assert len(set(logs)) == len(logs)


def test_a_file_of_a_job():
    run = "cub200/resnet50/d512/margin/half/seed0-3f9a1c2e5d07"
    assert paths.made("evaluate", "scores", run=run) == f"runs/{run}/scores.parquet"
    assert paths.first("train", run=run) == f"runs/{run}/model.safetensors"
    assert paths.log("train", run=run) == f"logs/train/{run}.log"
    assert paths.cost("audit_document", study="roth2020") == "costs/audit/roth2020.tsv"
    assert paths.made("pack", "pixels", data="d-0", size=28, mode="gray") == (
        "data/d-0/pixels-28-gray.npy"
    )
