"""A separate PostgreSQL for a test, on a socket in a folder."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

USER = "postgres"


def _program(name: str) -> str | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return shutil.which(name, path=os.pathsep.join([*map(str, folders), os.environ["PATH"]]))


class Server:
    """A server with its files, and its socket, in a folder.

    Attributes:
        url: as SQLAlchemy takes it.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.url = f"postgresql+psycopg://{USER}:secret@/postgres?host={folder}"

    def create(self) -> None:
        """Write its files."""
        self._run("initdb", "--username", USER, "--auth", "trust", "--pgdata", self.folder / "data")

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        options = f"-k {self.folder} -c listen_addresses=''"
        log = self.folder / "log"
        self._run("pg_ctl", "start", "-w", "-D", self.folder / "data", "-l", log, "-o", options)

    def kill(self) -> None:
        """End it as a crash does: what is not committed is lost."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self.folder / "data")

    def _run(self, program: str, *arguments) -> None:
        # It refuses to run as root.
        user = {"user": USER, "group": USER} if os.getuid() == 0 else {}
        subprocess.run(
            [_program(program), *arguments],
            check=True,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            **user,
        )


@pytest.fixture
def postgres():
    """A running server."""
    if _program("pg_ctl") is None or _program("initdb") is None:
        pytest.skip("needs PostgreSQL: pg_ctl and initdb (Debian: postgresql)")
    # Under a folder that another user can enter, and with a name short enough for a socket.
    folder = Path(tempfile.mkdtemp(prefix="postgres"))
    if os.getuid() == 0:
        shutil.chown(folder, USER, USER)
    server = Server(folder)
    server.create()
    server.start()
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)
