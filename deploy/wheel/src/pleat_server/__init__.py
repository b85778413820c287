"""The program of Pleat. This distribution installs it as the command `pleat`."""

from importlib.metadata import distribution
from pathlib import Path

__all__ = ["program"]


def program() -> str:
    """Return the path of the program.

    Raises FileNotFoundError if the installation has it no more.
    """
    # The list of installed files is right for every way of installing: into an environment, for a user, into a folder.
    installed = distribution("pleat-server")
    for file in installed.files or ():
        path = Path(str(installed.locate_file(file)))
        if file.name == "pleat" and path.is_file():
            return str(path.resolve())
    raise FileNotFoundError("the program of pleat-server is not installed; install the distribution again")
