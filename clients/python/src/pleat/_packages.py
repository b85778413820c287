"""Packages that only some features need: they are imported when a feature is used."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingPackage


def need(module: str, extra: str) -> Any:
    """Imports a module of an extra."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        package = module.split(".")[0]
        raise MissingPackage(
            f"this needs the package {package}, which the extra [{extra}] of the client installs", name=package
        ) from e
