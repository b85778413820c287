"""The program of Pleat. This distribution installs it as the command `pleat`."""

from importlib.metadata import distribution
from pathlib import Path

__all__ = ["program"]


def program() -> str:
    """Return the path of the program.

    Raises FileNotFoundError if the installation has it no more.
    """
    installed = distribution("pleat-server")
    # The list of installed files is right for environments and users; after `pip install --target` it is not.
    names = [str(file) for file in installed.files or () if file.name == "pleat"]
    for name in [*names, "bin/pleat"]:
        path = Path(str(installed.locate_file(name)))
        if path.is_file():
            return str(path.resolve())
    raise FileNotFoundError("the program of pleat-server is not installed; install the distribution again")
