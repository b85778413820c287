"""What weights a runner has loaded, as a hash."""

import hashlib
import threading


class Digest:
    """The SHA-256 of files in their order, computed beside the loading."""

    def __init__(self, files):
        self.files, self.hash = files, hashlib.sha256()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for path in self.files:
            with open(path, "rb") as f:
                while block := f.read(1 << 20):
                    self.hash.update(block)

    def hex(self) -> str:
        self.thread.join()
        return self.hash.hexdigest()
