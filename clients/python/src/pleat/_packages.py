"""Packages that only some features need: they are imported when a feature is used."""

from __future__ import annotations

import importlib
from typing import Any

from ._version import DISTRIBUTION
from .errors import MissingPackage


def need(module: str, extra: str) -> Any:
    """Imports a module of an extra."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        package = module.split(".")[0]
        raise MissingPackage(
            f"this needs the package {package}: pip install '{DISTRIBUTION}[{extra}]'", name=package
        ) from e
