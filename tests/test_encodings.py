"""Text is UTF-8, whatever the locale of a call says."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "workflow" / "scripts"
_NOT_OF_TEXT = ("os", "tarfile", "Image", "archive", "self", "self._reader")
"""What has an `open` of other files."""

READ = """
import sys
from pathlib import Path
from dmlbench.errors import UserError
from dmlbench.image_folder import require_utf_8
from dmlbench.plan.catalogs.read import read_mapping

folder = Path(sys.argv[1])
assert read_mapping(folder / "utf-8.yaml") == {"title": "\\u00fc\\u2013"}
for what in (lambda: read_mapping(folder / "latin.yaml"), lambda: require_utf_8(sys.argv[2])):
    try:
        what()
    except UserError as error:
        print(ascii(str(error)))
"""


def without_encoding(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that read or write text in the locale's encoding."""
    for call in ast.walk(tree):
        named = {key.arg for key in call.keywords} if isinstance(call, ast.Call) else {"encoding"}
        if "encoding" in named:
            continue
        of, _, name = ast.unparse(call.func).rpartition(".")
        constants = (each for given in call.args for each in ast.walk(given))
        is_binary = any("b" in str(getattr(each, "value", "")) for each in constants)
        # `write_text(path, text)` of the library's files is such a call itself.
        is_text = bool(of) and name in ("read_text", "write_text")
        is_text |= name == "open" and not is_binary
        if "text" in named or (is_text and of not in _NOT_OF_TEXT):
            yield call


def test_all_text_is_read_and_written_as_utf_8():
    """Also where `ruff check` does not see what is opened (tests/security/test_code.py)."""
    found = [
        f"{file.relative_to(SCRIPTS)}:{call.lineno}"
        for file in sorted(SCRIPTS.rglob("*.py"))
        for call in without_encoding(ast.parse(file.read_bytes()))
    ]
    assert found == []


def test_a_locale_without_utf_8_changes_no_configuration(tmp_path):
    (tmp_path / "utf-8.yaml").write_bytes("title: ü–".encode())
    (tmp_path / "latin.yaml").write_bytes("title: ü".encode("latin-1"))
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", READ, tmp_path, "Möwe.png"],
        env=os.environ | environment | {"PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
    )
    latin, name = done.stdout.splitlines()
    assert "latin.yaml: not UTF-8 (byte 7); save it as UTF-8" in latin
    assert "the name 'M" in name
    assert "' is read as ascii here; set PYTHONUTF8=1" in name
