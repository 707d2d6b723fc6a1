"""Names become paths, rule names and shell words: unsafe names are refused."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.choices import FileName, Folder, Identifier, SplitName
from dmlbench.plan.catalogs.read import checked, read_mapping
from dmlbench.plan.catalogs.search_lists import expanded
from dmlbench.plan.specs.config_folder import CATALOGUES
from dmlbench.plan.specs.searches import Search
from dmlbench.plan.studies.studies import Study
from hypothesis import given
from hypothesis import strategies as st

CONFIG = Path(__file__).resolve().parents[2] / "config"
KINDS = CATALOGUES | {"searches": Search}
INJECTIONS = [
    "x; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "x | touch pwned",
    "x && touch pwned",
    "x\ntouch pwned",
    "x\n",
    "x'y",
    'x"y',
    "{dataset}",
    "../x",
    "x/../../y",
    "/etc/passwd",
    "-rf",
    "--config",
    "x y",
    "x*",
    "~root",
    "",
    ".",
    "..",
    "x\x00y",
    "é",
]
# One of each kind, where it matters only that a place takes names of a checked kind.
PLACED = ["x; touch pwned", "{dataset}", "../x", ""]
# Folders of images: no shell reads their names.
AS_PEOPLE_DO = ("../x", "x/../../y", "x y", "~root", ".", "..", "x'y", "x && touch pwned")
# Characters that are literal for a shell and a file system, and not wildcards of Snakemake.
HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
WORDS = st.one_of(
    st.text(max_size=12), st.text(st.sampled_from("ab0_-./;$`'\"\\{}|& \n"), max_size=6)
)


def refused(value, kind):
    """Whether a value is refused; in one line, if it is."""
    message = ""
    try:
        checked(value, kind, where="here")
    except UserError as error:
        message = str(error)
    assert len(message.splitlines()) < 2, message
    return bool(message)


def entries(catalogue):
    """A catalogue as it is checked: one entry for each of several searches."""
    values = read_mapping(CONFIG / f"{catalogue}.yaml")
    return expanded(values) if catalogue == "searches" else values


def renamed(entries, name):
    """A catalogue with its first entry under another name."""
    first, *others = entries.values()
    return {name: first, **{f"other{number}": entry for number, entry in enumerate(others)}}


@pytest.mark.parametrize("name", INJECTIONS)
@pytest.mark.parametrize("kind", [Identifier, SplitName, FileName])
def test_an_injection_is_no_name(kind, name):
    assert refused(name, kind)


@pytest.mark.parametrize("kind", [Identifier, SplitName, FileName])
@given(name=WORDS)
def test_a_name_is_harmless_or_refused(kind, name):
    assert refused(name, kind) or HARMLESS.fullmatch(name)


@given(path=WORDS)
def test_a_folder_is_harmless_or_refused(path):
    assert refused(path, Folder) or not re.search(r"""^-|^$|[;|&$`"'\\!#{}*?<>\x00-\x1f]""", path)


@pytest.mark.parametrize("path", ["/data/My Photos (2026)/küche", "~/photos", "../photos", "a.zip"])
def test_folders_as_people_name_them_are_allowed(path):
    assert not refused(path, Folder)


@pytest.mark.parametrize("catalogue", KINDS)
def test_a_catalogue_refuses_it(catalogue):
    kind = dict[Identifier, KINDS[catalogue]]
    assert not refused(entries(catalogue), kind)
    for name in PLACED:
        assert refused(renamed(entries(catalogue), name), kind)


@pytest.mark.parametrize(
    ("part", "name"),
    [(part, name) for part in ("splits", "archives", "alternatives") for name in PLACED]
    + [("folder", name) for name in INJECTIONS if name not in ("/etc/passwd", "é")],
)
def test_a_data_set_refuses_it_in_each_of_its_parts(part, name):
    dataset = entries("datasets")["cub200"]
    (archive,) = list(dataset["archives"].values())[:1]
    values = {
        "splits": {"splits": {name: "half"}},
        "archives": {"archives": {name: archive}},
        "alternatives": {"alternatives": {name: {"file.zip": archive}}},
        "folder": {"folder": name, "archives": {}},
    }[part]
    as_people_do = part == "folder" and name in AS_PEOPLE_DO
    assert refused(dataset | values, CATALOGUES["datasets"]) != as_people_do


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize("part", ["tables", "figures", "embedding_maps"])
def test_a_study_refuses_it_as_the_name_of_a_view(part, name):
    study = yaml.safe_load((CONFIG / "studies" / "demo.yaml").read_text())
    assert not refused(study, Study)
    (view,) = list(study[part].values())[:1]
    assert refused(study | {part: {name: view}}, Study)


@pytest.mark.parametrize("name", PLACED)
def test_a_study_refuses_it_as_the_name_of_a_variant(name):
    study = yaml.safe_load((CONFIG / "studies" / "demo.yaml").read_text())
    assert not refused(study | {"variants": {"long": {"set": {"epochs": 2}}}}, Study)
    assert refused(study | {"variants": {name: {"set": {"epochs": 2}}}}, Study)


@pytest.mark.parametrize("name", [*PLACED, "m={dataset}", "m=../x", "m=$(touch pwned)"])
def test_what_a_row_names_is_no_part_of_a_run_s_folder(tmp_path, name):
    """A value of a variant goes into the spec and its digest; a row's label is only shown."""
    folder = shutil.copytree(CONFIG, tmp_path / "config")
    study = yaml.safe_load((folder / "studies" / "demo.yaml").read_text())
    study["runs"] = [study["runs"][0] | {"variant": [name], "method": ["contrastive"]}]
    study["variants"] = {"m": {"place": "selection_metric"}}
    (folder / "studies" / "demo.yaml").write_text(yaml.safe_dump(study))
    configuration = {"pathvars": {"results": "results"}, "studies": ["demo"]}
    with pytest.raises(UserError) as error:
        plan.load(configuration, folder)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize("key", ["dataset", "network", "method", "recipe", "split"])
def test_a_study_refuses_it_in_its_runs(key, name):
    study = yaml.safe_load((CONFIG / "studies" / "demo.yaml").read_text())
    study["runs"][0][key] = name
    assert refused(study, Study)


@pytest.mark.parametrize("name", [*PLACED, "/etc/passwd"])
def test_a_study_of_that_name_is_refused_and_its_file_never_opened(tmp_path, name, monkeypatch):
    folder = shutil.copytree(CONFIG, tmp_path / "config")
    values = yaml.safe_load((folder / "config.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"config\.yaml: studies\.0") as error:
        plan.load(values | {"studies": [name]}, folder)
    assert len(str(error.value).splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


def test_results_in_a_folder_that_a_shell_would_act_on_are_refused():
    values = yaml.safe_load((CONFIG / "config.yaml").read_text())
    with pytest.raises(UserError, match=r"pathvars\.results: 'r; touch pwned': has ';'"):
        plan.load(values | {"pathvars": {"results": "r; touch pwned"}}, CONFIG)
