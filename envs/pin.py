"""Pin the conda packages of envs/<name>.yaml to builds, on a machine that reaches conda-forge.

`make pins` calls it. It writes the two files that Snakemake takes instead, next to the environment:
<name>.<platform>.pin.txt, the address and digest of every package, as `conda list --explicit` has
them; and <name>.post-deploy.sh, which installs the pip part, for beside a pin file Snakemake leaves
it out.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

FOLDER = Path(__file__).resolve().parent


def pin(file: Path) -> None:
    """Write both files of an environment.

    Raises:
        SystemExit: conda cannot make it, or does not say what is in it.
    """
    environment = yaml.safe_load(file.read_text(encoding="utf-8"))
    *packages, of_pip = environment["dependencies"]
    channels = [word for name in environment["channels"][:-1] for word in ("--channel", name)]
    with tempfile.TemporaryDirectory() as folder:
        prefix = ("--prefix", f"{folder}/environment")
        _conda("create", "--yes", *prefix, "--override-channels", *channels, *packages)
        listed = _conda("list", "--explicit", "--md5", *prefix)
    platform = re.search(r"^# platform: (\S+)$", listed, re.M)
    lines = listed.partition("@EXPLICIT\n")[2].splitlines()
    if not platform or not lines or not all(re.search(r"#[0-9a-f]{32}$", line) for line in lines):
        sys.exit(f"dmlbench: conda listed no packages with digests: {listed!r}")
    file.with_suffix(f".{platform[1]}.pin.txt").write_text(listed, encoding="utf-8")
    requirements = shlex.join(of_pip["pip"])
    file.with_suffix(".post-deploy.sh").write_text(
        f"set -e\npython -m pip install --no-deps {requirements}\n", encoding="utf-8"
    )


def _conda(*words: str) -> str:
    try:
        done = subprocess.run(["conda", *words], stdout=subprocess.PIPE, encoding="utf-8")
    except OSError:
        sys.exit("dmlbench: there is no conda on this machine")
    if done.returncode:
        sys.exit(f"dmlbench: conda {words[0]} failed, see above")
    return done.stdout


if __name__ == "__main__":
    for name in sys.argv[1:]:
        pin(FOLDER / f"{name}.yaml")
