"""Which weights a runner has loaded, as a hash."""

import hashlib
import threading
from collections.abc import Iterable
from pathlib import Path


class Digest:
    """The SHA-256 of the bytes of several files in their order, computed by a thread while the model loads."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = list(files)
        self.hash = hashlib.sha256()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self) -> None:
        """Hashes the files. It runs in the thread."""
        for path in self.files:
            with open(path, "rb") as f:
                while block := f.read(1 << 20):
                    self.hash.update(block)

    def hex(self) -> str:
        """Waits until all files are read."""
        self.thread.join()
        return self.hash.hexdigest()
