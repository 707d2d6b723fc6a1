"""Files of packages, which npm gets; here a program of that name that packs what it is given."""

import hashlib
import os
import re
import tarfile

import pytest
from dmlbench.errors import UserError
from fetched import DATA, fetch

SOURCE = "npm:@sets/one@1.0.0/icons.json"


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Writes the program; PATH has no other."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

    def write(commands):
        (programs / "npm").write_text(f"#!/bin/sh\n{commands}\n")
        (programs / "npm").chmod(0o755)

    return write


@pytest.fixture
def package(tmp_path):
    """A package with one file, as npm packs it."""
    (tmp_path / "icons.json").write_bytes(DATA)
    with tarfile.open(tmp_path / "sets-one-1.0.0.tgz", "w:gz") as archive:
        archive.add(tmp_path / "icons.json", "package/icons.json")
    return tmp_path / "sets-one-1.0.0.tgz"


def test_a_file_of_a_package_is_taken_and_nothing_else_is_left(tmp_path, npm, package):
    npm(f'echo "$@" > {tmp_path}/asked; /bin/cp {package} .')
    fetch(tmp_path / "raw" / "one.json", urls=[SOURCE])
    assert (tmp_path / "raw" / "one.json").read_bytes() == DATA
    assert os.listdir(tmp_path / "raw") == ["one.json"]
    asked = (tmp_path / "asked").read_text().split()
    assert asked[0] == "pack"
    assert "--ignore-scripts" in asked
    assert asked[-1] == "@sets/one@1.0.0"


def test_the_next_source_is_asked_if_npm_is_not_there(tmp_path, npm):
    (tmp_path / "file.zip").write_bytes(DATA)
    fetch(tmp_path / "out", urls=[SOURCE, (tmp_path / "file.zip").as_uri()])
    assert (tmp_path / "out").read_bytes() == DATA


@pytest.mark.parametrize(
    ("commands", "source", "why"),
    [
        (None, SOURCE, "npm is not installed"),
        (
            "echo 'npm error code E404' >&2; echo more >&2; exit 1",
            SOURCE,
            "npm pack fails: npm error code E404",
        ),
        ("exit 3", SOURCE, "npm pack fails: "),
        ("exit 0", SOURCE, "the package has no such file: "),
        ("/bin/cp {package} .", SOURCE.replace("icons", "chars"), "the package has no such file: "),
        ("echo damaged > one.tgz", SOURCE, "the package has no such file: "),
    ],
)
def test_why_a_package_does_not_have_it_is_one_line(tmp_path, npm, package, commands, source, why):
    if commands is not None:
        npm(commands.format(package=package))
    with pytest.raises(UserError, match=re.escape(f"{source}: {why}")) as error:
        fetch(tmp_path / "raw" / "one.json", urls=[source])
    assert "\n" not in str(error.value)
    assert not os.listdir(tmp_path / "raw")


def test_another_file_than_the_published_one_is_refused(tmp_path, npm, package):
    npm(f"/bin/cp {package} .")
    other = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(UserError, match=f"{SOURCE}: expected sha256 {other}, found "):
        fetch(tmp_path / "raw" / "one.json", urls=[SOURCE], sha256=other)
    assert not os.listdir(tmp_path / "raw")
