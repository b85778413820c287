"""The jobs of vectors/jobs.json, about which the tests of every runner ask its code what the service is asked too.

A job is as a runner gets it. takes and refuses name the models by which it must be taken and refused. Other models lack
a feature that it needs, and the service refuses it for them. packages: only with the packages of an engine can its
runner tell.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldrun import Failure

VECTORS = Path(__file__).parent.parent.parent / "vectors" / "jobs.json"


def differences(folder: Path, ask: Callable[[str, dict[str, Any]], object], packages: bool = False) -> list[str]:
    """The jobs about which the runner in a folder says something else. ask raises Failure for a job that a model
    refuses; packages: those of the engine are there."""
    models = [m["name"] for m in json.loads((folder / "manifest.json").read_text())["models"]]
    out = []
    for row in json.loads(VECTORS.read_text()):
        for model in models:
            if model not in row["takes"] + row["refuses"] or row.get("packages") and not packages:
                continue
            try:
                ask(model, row["job"])
            except Failure as e:
                if model in row["takes"]:
                    out.append(f"{row['name']}: {model} refuses it: {e.message}")
                continue
            if model in row["refuses"]:
                out.append(f"{row['name']}: {model} takes it")
    return out
