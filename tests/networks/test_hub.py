"""Weights of timm's hub, from a server on this machine that answers as the hub does."""

import hashlib
import http.server
import shutil
import threading

import dmlbench
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from dmlbench.data.generate import generate
from dmlbench.errors import UserError
from dmlbench.networks.entry import entry_of
from PIL import Image
from project import Project, local_environment
from project import dmlbench as call
from safetensors.torch import save
from torch.nn.functional import normalize

timm = pytest.importorskip("timm", reason="needs timm: make test-optional")

MODEL = "test_vit.r160_in1k"
PLACE = f"/timm/{MODEL}/resolve/main/model.safetensors"


class Hub(http.server.ThreadingHTTPServer):
    """Has one file of weights, which is stored elsewhere, as all large files of the hub are.

    Attributes:
        content: what the storage sends.
        digest: what the hub says of it.
        error: status of every answer instead of the file, with the hub's name of the error.
        asked: method and path of every request.
    """

    def __init__(self, content: bytes):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        # Another host, as the hub's client follows redirects to the same one.
        self.storage = f"http://localhost:{self.server_port}"
        self.content, self.digest = content, hashlib.sha256(content).hexdigest()
        self.error: tuple[int, str] | None = None
        self.asked: list[tuple[str, str]] = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        hub = self.server
        hub.asked.append((self.command, self.path))
        if hub.error:
            return self.send(hub.error[0], {"X-Error-Code": hub.error[1]})
        if self.path == PLACE:
            facts = {
                "X-Repo-Commit": "0" * 40,
                "X-Linked-ETag": f'"{hub.digest}"',
                "X-Linked-Size": str(len(hub.content)),
                "ETag": '"of-the-redirect"',
                "Location": f"{hub.storage}/storage/{hub.digest}?Expires=1&Signature=a~b_",
            }
            return self.send(302, facts)
        if self.path.startswith("/storage/") and self.command == "GET":
            return self.send(200, {}, hub.content)
        return self.send(404, {"X-Error-Code": "EntryNotFound"})

    def send(self, status: int, facts: dict[str, str], content: bytes = b""):
        self.send_response(status)
        for name, value in (facts | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def published():
    """A network of timm with weights that no new one has."""
    torch.manual_seed(7)
    return timm.create_model("test_vit", pretrained=False).eval()


@pytest.fixture
def hub(published):
    with Hub(save(published.state_dict())) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def around(endpoint: str, **others: str) -> dict[str, str]:
    """An environment with another hub, which is read when its client is imported."""
    proxies = ("http_proxy", "https_proxy", "all_proxy")
    kept = {key: value for key, value in local_environment().items() if key.lower() not in proxies}
    return kept | {"HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0"} | others


@pytest.mark.workflow
def test_weights_of_the_hub_are_downloaded_and_give_timms_own_features(hub, published, tmp_path):
    project = Project(tmp_path)
    generate("glyphs", tmp_path / "a.zip", characters=12, images_per_character=4, size=40)
    shutil.unpack_archive(tmp_path / "a.zip", tmp_path / "drawn")
    for number, file in enumerate(sorted((tmp_path / "drawn").rglob("*.png"))):
        Image.open(file).convert("RGB").resize((190 + number % 3, 200)).save(file)
    env = around(hub.url)
    written = call(tmp_path, "add-network", f"timm/{MODEL}", "--name=of_hub", env=env)
    assert f"sha256: {hub.digest}\n" in written.stdout, written.stderr
    assert ("HEAD", PLACE) in hub.asked
    assert ("GET", PLACE) not in hub.asked
    study = call(tmp_path, "new", "--network=of_hub", "--frozen", "drawn", env=env)
    assert study.returncode == 0, study.stderr
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            patch.delenv(name, raising=False)
        project.snakemake("drawn_table_raw")
    assert ("GET", PLACE) in hub.asked
    (file,) = (tmp_path / "results" / "weights").glob("*.safetensors")
    assert file.name == f"{MODEL}.safetensors"
    assert file.read_bytes() == hub.content

    # As timm computes them, of the images that it gets.
    (run,) = {file.parent for file in (tmp_path / "results" / "runs").rglob("embeddings.parquet")}
    weights = tmp_path / "results" / "weights" / file.name
    model = dmlbench.load(run, device="cpu", weights=weights)
    pictures = sorted((tmp_path / "drawn").rglob("*.png"))
    images = (model.images(pictures) - 0.5) / 0.5
    with torch.inference_mode():
        whole = published.forward_features(images)
        expected = normalize(published.forward_head(whole, pre_logits=True)).numpy()
    assert expected.std(axis=0).max() > 1e-3
    np.testing.assert_allclose(model.embed(pictures), expected, atol=1e-5)
    (index,) = (tmp_path / "results" / "data").rglob("images.parquet")
    members = pq.read_table(index)["member"].to_pylist()
    stored = pq.read_table(run / "embeddings.parquet", filters=[("role", "=", "test")])
    rows = {
        tmp_path / "drawn" / members[each]: n
        for n, each in enumerate(stored["image_id"].to_pylist())
    }
    vectors = np.array(stored["embedding"].to_pylist())
    assert len(rows) == 24
    for picture, of_timm in zip(pictures, expected, strict=True):
        if picture in rows:
            np.testing.assert_allclose(vectors[rows[picture]], of_timm, atol=1e-5)

    # What the storage sends is compared with what the hub said of it.
    file.unlink()
    hub.content = hub.content[:-1] + bytes([hub.content[-1] ^ 1])
    damaged = project.snakemake(str(file.relative_to(tmp_path)), check=False)
    (line,) = (line for line in damaged.splitlines() if line.startswith("dmlbench weights:"))
    assert f"expected sha256 {hub.digest[:8]}" in line
    assert not file.exists()


NOT_THERE = r"cannot be reached \(.*\); allowed: --weights, a file with them$"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((404, "RepoNotFound"), NOT_THERE),
        ((404, "EntryNotFound"), NOT_THERE),
        ((403, "GatedRepo"), NOT_THERE),
        ((503, ""), NOT_THERE),
        ("no digest", "states no SHA-256 digest; allowed: --weights, a file with them$"),
        ("nothing", NOT_THERE),
        ("offline", NOT_THERE),
    ],
)
def test_without_the_hubs_file_one_line_asks_for_another(hub, monkeypatch, answer, said):
    from huggingface_hub import constants

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    endpoint = "http://127.0.0.1:9" if answer == "nothing" else hub.url
    template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", answer == "offline")
    if answer == "no digest":
        hub.digest = "0" * 40
    elif isinstance(answer, tuple):
        hub.error = answer
    with pytest.raises(UserError, match=rf"^timm/{MODEL}: {endpoint}{PLACE} {said}") as error:
        entry_of(f"timm/{MODEL}")
    assert "\n" not in str(error.value)
    assert bool(hub.asked) == (answer not in ("nothing", "offline"))
