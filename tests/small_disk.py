"""A file system of 256 KiB, to be filled up by tests."""


class Disk:
    """Its folder, and how much is left on it."""

    def __init__(self, folder):
        self.folder = folder

    def fill(self, left):
        """Leave so many bytes, of 256 KiB at first."""
        with open(self.folder / "ballast", "wb") as ballast:
            used = sum(path.stat().st_blocks * 512 for path in self.folder.rglob("*"))
            ballast.write(bytes(256 * 1024 - left - used))

    def free(self):
        (self.folder / "ballast").unlink()

    @property
    def files(self):
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())
