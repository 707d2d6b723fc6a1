"""Downloads over loopback and from folders: mirrors, hashes, retries, resumption."""

import contextlib
import errno
import hashlib
import http.server
import re
import threading

import pytest
from dmlbench.data import download as module
from dmlbench.errors import UserError
from fetched import DATA, SHA256, fetch, passes

OTHER = b"repacked"
OTHER_SHA256 = hashlib.sha256(OTHER).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves DATA at /file.zip and OTHER at /other.zip; can break, refuse and ignore ranges."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests: list[tuple[str, str | None]] = []
        self.break_after: list[int] = []
        self.statuses: list[int] = []
        self.ranges = True
        self.endless = False


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.requests.append((self.path, asked))
        files = {"/file.zip": DATA, "/other.zip": OTHER, "/set/file.zip": DATA}
        if server.statuses:
            return self.send_error(server.statuses.pop(0))
        if self.path not in files:
            return self.send_error(404)
        if server.endless:
            return self.send_for_ever()
        data = files[self.path]
        start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked and server.ranges else 0
        if asked and server.ranges and start >= len(data):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        end = start + server.break_after.pop(0) if server.break_after else len(data)
        self.wfile.write(data[start:end])
        self.close_connection = True

    def send_for_ever(self):
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(DATA)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "_FIRST_WAIT", 0)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_file_comes_from_its_address(server, tmp_path):
    fetch(tmp_path / "raw" / "file.zip", urls=[f"{server.url}/file.zip"])
    assert (tmp_path / "raw" / "file.zip").read_bytes() == DATA
    assert [path.name for path in (tmp_path / "raw").iterdir()] == ["file.zip"]


def test_mirrors_come_first_and_in_order(server, tmp_path):
    write(tmp_path / "second" / "file.zip", DATA)
    mirrors = [str(tmp_path / "first"), str(tmp_path / "second")]
    fetch(tmp_path / "out", mirrors=mirrors, urls=[f"{server.url}/file.zip"])
    assert (tmp_path / "out").read_bytes() == DATA
    assert server.requests == []


@pytest.mark.parametrize("place", ["file.zip", "set/file.zip"])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_mirror_is_a_folder_with_or_without_the_folder_of_the_data_set(tmp_path, place, kind):
    root = tmp_path / "with space"
    write(root / place, DATA)
    fetch(tmp_path / "out", mirrors=[str(root) if kind == "folder" else root.as_uri()])
    assert (tmp_path / "out").read_bytes() == DATA
    assert (root / place).exists()


def test_a_mirror_is_an_address(server, tmp_path):
    fetch(tmp_path / "out", mirrors=[f"{server.url}/"])
    assert server.requests == [("/file.zip", None)]


def test_a_mirror_may_have_a_repacked_file_but_an_address_may_not(server, tmp_path):
    write(tmp_path / "mirror" / "file.zip", OTHER)
    repacked = {"mirror_sha256": [OTHER_SHA256], "output": tmp_path / "out"}
    fetch(mirrors=[str(tmp_path / "mirror")], **repacked)
    assert (tmp_path / "out").read_bytes() == OTHER
    (tmp_path / "out").unlink()
    with pytest.raises(UserError, match=f"expected sha256 {SHA256}, found {OTHER_SHA256}"):
        fetch(urls=[f"{server.url}/other.zip"], **repacked)
    assert [path.name for path in tmp_path.iterdir()] == ["mirror"]


def test_a_wrong_hash_names_file_source_expected_and_found_and_leaves_nothing(tmp_path):
    write(tmp_path / "mirror" / "file.zip", b"wrong")
    found = hashlib.sha256(b"wrong").hexdigest()
    with pytest.raises(UserError) as error:
        fetch(tmp_path / "raw" / "file.zip", mirrors=[str(tmp_path / "mirror")])
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith("file.zip: no source works: ")
    assert f"{tmp_path}/mirror/file.zip: expected sha256 {SHA256}, found {found}" in message
    assert "DMLBENCH_MIRROR" in message
    assert "data.mirrors" in message
    assert list((tmp_path / "raw").iterdir()) == []


def test_a_source_with_a_wrong_hash_gives_way_to_the_next(server, tmp_path):
    write(tmp_path / "mirror" / "file.zip", b"wrong")
    fetch(
        tmp_path / "out",
        mirrors=[str(tmp_path / "mirror")],
        urls=[f"{server.url}/absent.zip", f"{server.url}/file.zip"],
    )
    assert (tmp_path / "out").read_bytes() == DATA


def test_every_source_is_listed_with_its_reason(server, tmp_path):
    urls = [f"{server.url}/absent.zip", "ftp://127.0.0.1/file.zip"]
    with pytest.raises(UserError) as error:
        fetch(tmp_path / "out", mirrors=[str(tmp_path / "mirror")], urls=urls)
    for reason in (
        f"{tmp_path}/mirror/file.zip: no such file",
        f"{tmp_path}/mirror/set/file.zip: no such file",
        f"{urls[0]}: HTTP status 404",
        f"{urls[1]}: not an address of http",
    ):
        assert reason in str(error.value)
    with pytest.raises(UserError, match="no source works: none is known"):
        fetch(tmp_path / "out")


def test_a_missing_file_is_not_asked_for_again(server, tmp_path):
    with pytest.raises(UserError, match="404"):
        fetch(tmp_path / "out", urls=[f"{server.url}/absent.zip"])
    assert len(server.requests) == 1


def test_a_broken_transfer_resumes_where_it_stopped(server, tmp_path):
    server.break_after = [1_200_000]
    fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"])
    assert (tmp_path / "out").read_bytes() == DATA
    (_, first), (_, second) = server.requests
    assert first is None
    assert 0 < int(second.removeprefix("bytes=").removesuffix("-")) <= 1_200_000


def test_a_later_call_resumes_too(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ATTEMPTS", 1)
    server.break_after = [1_200_000]
    with pytest.raises(UserError, match=r"the connection broke .*\(1 attempts\)"):
        fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"])
    assert not (tmp_path / "out").exists()
    have = (tmp_path / "out.part").stat().st_size
    assert have > 0
    fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"])
    assert server.requests[-1] == ("/file.zip", f"bytes={have}-")
    assert (tmp_path / "out").read_bytes() == DATA
    assert not (tmp_path / "out.part").exists()


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.ranges = False
    server.break_after = [1_200_000]
    fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"])
    assert (tmp_path / "out").read_bytes() == DATA


@pytest.mark.parametrize("part", [b"of another file", DATA, DATA + b"more"])
def test_a_part_that_is_wrong_or_complete_does_no_harm(server, tmp_path, part):
    write(tmp_path / "out.part", part)
    fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"])
    assert (tmp_path / "out").read_bytes() == DATA


def test_without_a_hash_no_part_is_trusted(server, tmp_path, monkeypatch):
    passes(monkeypatch, "https://some.org")
    write(tmp_path / "out.part", b"of another file")
    url = f"{server.url}/file.zip"
    fetch(tmp_path / "out", urls=[url], sha256=None, bytes=None)
    assert (tmp_path / "out").read_bytes() == DATA
    assert server.requests == [("/file.zip", None)]


def test_without_a_hash_the_size_is_checked(server, tmp_path, monkeypatch):
    passes(monkeypatch, "https://some.org")
    with pytest.raises(UserError, match="sends more than the published 5 bytes"):
        fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"], sha256=None, bytes=5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_a_download_ends_at_its_published_size(server, tmp_path, monkeypatch, sha256):
    passes(monkeypatch, "https://some.org")
    server.endless = True
    urls, size = [f"{server.url}/file.zip"], len(DATA)
    with pytest.raises(UserError, match=f"sends more than the published {size} bytes"):
        fetch(tmp_path / "out", urls=urls, sha256=sha256, bytes=size)
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again_a_few_times(server, tmp_path):
    server.statuses = [503, 429]
    fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"])
    assert len(server.requests) == 3
    server.statuses = [503] * 9
    (tmp_path / "out").unlink()
    with pytest.raises(UserError, match=r"HTTP status 503 \(4 attempts\)"):
        fetch(tmp_path / "out", urls=[f"{server.url}/file.zip"])


def test_a_host_that_is_not_there_is_a_reason(server, tmp_path):
    dead = server.url
    server.server_close()
    with pytest.raises(UserError, match=r"ConnectionError \(4 attempts\)"):
        fetch(tmp_path / "out", urls=[f"{dead}/file.zip"])


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(module.shutil, "copyfile", full)
    write(tmp_path / "mirror" / "file.zip", DATA)
    with pytest.raises(UserError, match=r"out/file\.zip: the disk is full"):
        fetch(tmp_path / "out" / "file.zip", mirrors=[str(tmp_path / "mirror")])
    assert not (tmp_path / "out" / "file.zip").exists()


def test_omniglot_comes_from_the_mirror_under_its_own_hash(shared, tmp_path):
    root = shared / "datasets"
    repacked = hashlib.sha256(
        (root / "omniglot" / "images_evaluation.zip").read_bytes()
    ).hexdigest()
    fetch(
        tmp_path / "out",
        name="images_evaluation.zip",
        sha256="1f61a8f3366785b057fc117d9228e78a16e3d976c8953b2a10fcc74cf0609cee",
        mirrors=[str(root)],
        mirror_sha256=[repacked],
        bytes=6_462_886,
        dataset="omniglot",
    )
    assert (tmp_path / "out").stat().st_size == 5_732_517
