"""Servers that answer otherwise than they should: secrets stay, and bodies have an end."""

import contextlib
import gzip
import hashlib
import http.server
import re
import threading

import pytest
from dmlbench.data import download as module
from dmlbench.errors import UserError
from fetched import DATA, fetch, passes


class Strange(http.server.BaseHTTPRequestHandler):
    """Answers with the status, headers and body that its server has."""

    def do_GET(self):
        status, headers, body = self.server.answer
        self.send_response(status)
        for header in headers.items():
            self.send_header(*header)
        self.end_headers()
        with contextlib.suppress(OSError):
            for part in body:
                self.wfile.write(part)
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture
def strange(monkeypatch):
    """A server that answers as a test says; its address has a user, a password and a token."""
    monkeypatch.setattr(module, "_FIRST_WAIT", 0)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.url = f"http://user:PASSWORD@127.0.0.1:{server.server_port}/x?sig=TOKEN"
        yield server
        server.shutdown()


@pytest.mark.parametrize("is_mirror", [False, True])
@pytest.mark.parametrize("status", [403, 500, 200])
def test_secrets_of_an_address_are_not_printed(tmp_path, strange, status, is_mirror):
    strange.answer = status, {"Content-Length": "3"}, [b"bad"]
    root = strange.url.partition("?")[0]
    given = {"mirrors": [root], "urls": []} if is_mirror else {"urls": [strange.url]}
    with pytest.raises(UserError, match="no source works") as error:
        fetch(tmp_path / "out", **given)
    assert not re.search("user|PASSWORD|TOKEN", str(error.value))
    assert f"http://127.0.0.1:{strange.server_port}/x" in str(error.value)


def test_a_body_of_unknown_size_does_not_fill_the_disk(tmp_path, strange, monkeypatch):
    monkeypatch.setattr(module, "_MOST_UNKNOWN", 1 << 20)
    strange.answer = 200, {}, (b"0" * 65536 for _ in range(10_000))
    with pytest.raises(UserError, match="more than 1048576 bytes without saying how many"):
        fetch(tmp_path / "out", urls=[strange.url], bytes=None)
    assert not list(tmp_path.iterdir())
    strange.answer = 200, {"Content-Length": str(1 << 60)}, []
    with pytest.raises(UserError, match=f"says that it sends {1 << 60} bytes; the disk has"):
        fetch(tmp_path / "out", urls=[strange.url], bytes=None)


def test_a_file_without_a_size_may_have_as_much_as_its_entry_says(tmp_path, strange, monkeypatch):
    monkeypatch.setattr(module, "_MOST_UNKNOWN", 1 << 16)
    strange.answer = 200, {}, (b"0" * 65536 for _ in range(3))
    sha256 = hashlib.sha256(b"0" * (3 * 65536)).hexdigest()
    facts = {"urls": [strange.url], "bytes": None, "sha256": sha256}
    fetch(tmp_path / "out", at_most=1 << 18, **facts)
    assert (tmp_path / "out").stat().st_size == 3 * 65536
    strange.answer = 200, {}, (b"0" * 65536 for _ in range(5))
    with pytest.raises(UserError, match=f"sends more than the published {1 << 18} bytes"):
        fetch(tmp_path / "again", at_most=1 << 18, **facts)


def test_what_claims_to_be_compressed_is_not_unpacked(tmp_path, strange):
    packed = gzip.compress(b"0" * (1 << 24))
    headers = {"Content-Encoding": "gzip", "Content-Length": str(len(packed))}
    strange.answer = 200, headers, [packed]
    digest = hashlib.sha256(packed).hexdigest()
    fetch(tmp_path / "out", urls=[strange.url], sha256=digest, bytes=None)
    assert (tmp_path / "out").read_bytes() == packed


def test_a_length_that_is_no_number_is_one_line(tmp_path, strange):
    strange.answer = 200, {"Content-Length": "many"}, [DATA]
    with pytest.raises(UserError, match="Content-Length 'many': not a number of bytes"):
        fetch(tmp_path / "out", urls=[strange.url])


def test_a_file_without_a_hash_is_not_taken_over_plain_http(tmp_path, strange, monkeypatch):
    strange.answer = 200, {"Content-Length": "3"}, [b"any"]
    unchecked = {"urls": [strange.url], "sha256": None, "bytes": None}
    with pytest.raises(UserError, match="plain http, and no hash to check the file by"):
        fetch(tmp_path / "out", **unchecked)
    for way in (["https://a", "http://b"], ["https://a", "http://b", "https://c"]):
        passes(monkeypatch, *way)
        with pytest.raises(UserError, match="plain http"):
            fetch(tmp_path / "out", **unchecked)
    assert not list(tmp_path.iterdir())
    passes(monkeypatch, "https://a", "https://b")
    fetch(tmp_path / "out", **unchecked)
    assert (tmp_path / "out").read_bytes() == b"any"
