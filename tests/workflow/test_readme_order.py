"""README's and own.md's commands about pictures, in order, with photographs of mixed shapes."""

import os
import re
import subprocess

import numpy as np
import pytest
from PIL import Image
from project import REPOSITORY, Project, with_command

pytestmark = pytest.mark.workflow

SHARED = os.environ.get("DMLBENCH_SHARED", str(REPOSITORY.parent / "shared"))
WEIGHTS = f"{SHARED}/datasets/weights/efficientnet_lite0-acf4645b.pth"
README = re.compile(r"^```\n(dmlbench new .*?)^```$", re.M | re.S)
PAGE = re.compile(r"^```\n(snakemake .*? --frozen\n.*?)^```$", re.M | re.S)


@pytest.mark.skipif(not os.path.exists(WEIGHTS), reason="needs weights, in DMLBENCH_SHARED")
def test_the_blocks_work_in_their_order(tmp_path):
    """As written, but for the network, whose weights the test has."""
    folder = tmp_path / "dmlbench"
    folder.mkdir()
    Project(folder)
    generator = np.random.default_rng(0)
    colors = generator.integers(0, 256, (8, 3))
    for number in range(8 * 4):
        shape = [(170, 200, 3), (200, 170, 3), (180, 180, 3)][number % 3]
        color = colors[number // 4]
        noise = generator.integers(-40, 41, shape)
        file = tmp_path / "pictures" / "birds" / f"species {number // 4}" / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((color + noise).clip(0, 255).astype(np.uint8)).save(file)
    Image.fromarray(np.zeros((180, 170, 3), np.uint8)).save(folder / "bird.jpg")
    (readme,), (page,) = (
        block.findall((REPOSITORY / name).read_text())
        for name, block in (("README.md", README), ("docs/own.md", PAGE))
    )
    # README's first command makes the study that the page makes of drawings.
    _, new, rest = page.split("\n", 2)
    archive, name = re.fullmatch(
        r"dmlbench new (\S+) --name (\S+) --network \S+ --frozen", new
    ).groups()
    rest = rest.replace(f"{archive} --name {name}", "~/pictures/birds").replace(name, "birds")
    commands = f"{readme}{rest}dmlbench export birds --kind torch\n".replace(
        "new ~/pictures/birds --frozen",
        "new ~/pictures/birds --network efficientnet_lite0 --frozen",
    )
    environment = with_command(tmp_path / "bin")
    environment |= {"HOME": str(tmp_path), "DMLBENCH_MIRROR": f"{SHARED}/datasets"}
    done = subprocess.run(
        ["bash", "-exc", commands], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the data set is that of birds" in done.stdout
    assert (folder / "own" / "birds_convnet4_color" / "studies").is_dir()
    (model,) = (folder / "results" / "use").glob("*/model.pt2")
    assert model.stat().st_size > 10_000
