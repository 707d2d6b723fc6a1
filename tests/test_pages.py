"""README, CONTRIBUTING and docs/: every link leads somewhere, every command can be given."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from dmlbench.plan.specs import published_runs
from dmlbench.plan.views import pages
from project import REPOSITORY, Project, every_study, local_environment

DOCS = sorted((REPOSITORY / "docs").rglob("*.md"))
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *DOCS]
PLANNED = [page for page in DOCS if page.stem in ("running", "concepts")]
"""Pages whose calls are planned: `make dry-run` does not plan profiles and files."""

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (\S.*)$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
LEFT_OPEN = re.compile(r"<|\.\.\.|\$|…|--help")
"""Parts of commands that the reader completes, or that Snakemake answers itself."""

OWN = re.compile(r"(birds|digits|my_study)\w*$")
"""Targets of studies that a page creates, which have their own tests."""


def commands(page: Path) -> list[str]:
    """The commands on a page: blocks without a language or of a shell, and inline code."""
    text = page.read_text().replace("\\\n", " ")
    blocks = [block for kind, block in FENCED.findall(text) if kind in ("", "bash", "sh")]
    rest = FENCED.sub("", text)
    lines = [line for block in blocks for line in block.splitlines()]
    lines += INDENTED.findall(rest) + [" ".join(words.split()) for words in QUOTED.findall(rest)]
    return list(dict.fromkeys(line.partition("  #")[0].strip() for line in lines))


def given(program: str, those: list[Path] = PAGES) -> list:
    """The commands of a program by their first page, without incomplete ones."""
    found: dict[str, str] = {}
    for page in those:
        for command in commands(page):
            if command.startswith(f"{program} ") and not LEFT_OPEN.search(command):
                found.setdefault(command, page.stem)
    return [pytest.param(command, id=f"{page}: {command}") for command, page in found.items()]


@pytest.fixture(scope="module")
def targets():
    """Every target by name."""
    loaded = every_study()
    rules = (REPOSITORY / "rules").glob("*.smk")
    begin = r"^(?:rule|use rule \w+ as) (\w+)(?::| with:)"
    found = {name for file in rules for name in re.findall(begin, file.read_text(), re.M)}
    found |= {f"search_{name}" for name in loaded.searches}
    found |= {f"experiment_{name}" for name in loaded.experiments}
    found |= {f"reproduced_{name}" for name in published_runs.published_studies(loaded)}
    for study in loaded.studies:
        found |= {study, f"{study}_tournament", f"{study}_status", *pages.targets(loaded, study)}
    return found


@pytest.fixture(scope="module")
def parser():
    """Snakemake's own parser; its plug-in for Slurm asks a cluster when it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", os.devnull)
        from snakemake.cli import get_argument_parser

        return get_argument_parser()


@pytest.mark.parametrize("command", given("snakemake"))
def test_a_call_has_options_and_targets_that_there_are(command, targets, parser):
    called = parser.parse_args(shlex.split(command)[1:])
    words = [target for target in called.targets if "/" not in target and not OWN.match(target)]
    assert set(words) <= targets
    # Without any of these Snakemake asks for a number of cores.
    assert called.profile or called.cores or called.dryrun, command
    for profile in called.profile or []:
        assert (REPOSITORY / profile / "config.yaml").is_file()


@pytest.mark.parametrize("command", given("make"))
def test_a_target_of_make_is_there(command):
    makefile = (REPOSITORY / "Makefile").read_text()
    target = next(word for word in command.split()[1:] if "=" not in word)
    assert re.search(rf"^{target}: .*##|^{target}:.*##", makefile, re.MULTILINE)
    for name in re.findall(r"\b([A-Z]+)=", command):
        assert re.search(rf"\$\((value )?{name}\)|\$\${name}\b", makefile)


@pytest.mark.parametrize("command", given("python"))
def test_a_script_is_there(command):
    script = command.split()[1]
    made = re.findall(r"^```python\n# (\S+)", "".join(page.read_text() for page in PAGES), re.M)
    assert script in made or (REPOSITORY / script).is_file() or script.startswith("-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for target, _, anchor in re.findall(
        r"\]\(([^):#]*)(#([^)]*))?\)", FENCED.sub("", page.read_text())
    ):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text()), re.MULTILINE)
            assert anchor in {heading_anchor(heading) for heading in headings}, (target, anchor)


def heading_anchor(heading: str) -> str:
    """The anchor of a heading on code hosts: lower case, dashes for spaces, no punctuation."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def test_every_page_is_two_clicks_from_the_readme():
    linked = linked_from(REPOSITORY / "README.md")
    linked |= linked_from(REPOSITORY / "docs/pages.md") | linked_from(
        REPOSITORY / "docs/results.md"
    )
    assert set(DOCS) <= linked


def linked_from(page: Path) -> set[Path]:
    found = re.findall(r"\]\(([^):#]+\.md)", page.read_text())
    return {(page.parent / target).resolve() for target in found}


def test_the_readme_is_a_screen_and_a_half():
    """Lines as its text is kept, of which a screen shows fifty; a picture is as high as ten."""
    assert len((REPOSITORY / "README.md").read_text().splitlines()) + 9 <= 90


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project whose cluster has an account."""
    project = Project(tmp_path_factory.mktemp("project"))
    (project.folder / "slurm").symlink_to("profiles/slurm")
    published = project.folder / "results" / "published"
    published.parent.mkdir(exist_ok=True)
    published.symlink_to(REPOSITORY / "results" / "published")
    site = project.folder / "profiles" / "slurm" / "site.yaml"
    site.write_text(site.read_text().replace("account:", "account: mine"))
    return project


@pytest.mark.workflow
@pytest.mark.parametrize("command", given("snakemake", PLANNED))
def test_a_call_can_be_planned(project, command):
    words = shlex.split(command)
    # Also without a number of cores: a plan needs none.
    done = subprocess.run(
        [*words[:1], "-n", *words[1:]],
        cwd=project.folder,
        env=local_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
