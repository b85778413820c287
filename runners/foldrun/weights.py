"""The files of a model's weights, and what is said of weights that are random."""

from collections.abc import Iterable
from pathlib import Path

from .job import Failure

# A folder of random weights contains this file, so that no result of it can pass for a prediction.
RANDOM_MARKER = "RANDOM_WEIGHTS"
RANDOM_NOTE = (
    "The weights of this model are random: the structure and every score are meaningless, "
    "and show only that the service works."
)


def require(model: str, folder: Path | None, names: Iterable[str]) -> Path:
    """Returns the folder of weights. Raises weights_missing where the folder or one of the names in it is missing:
    packages would download what they do not find."""
    if folder is None or not folder.is_dir():
        raise Failure("weights_missing", f"the model {model} has no folder of weights")
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise Failure(
            "weights_missing", f"the weights of {model} are not complete: {', '.join(missing)} {verb} missing"
        )
    return folder


def are_random(folder: Path) -> bool:
    """Whether the weights in a folder are random, so that results must have RANDOM_NOTE."""
    return (folder / RANDOM_MARKER).exists()
