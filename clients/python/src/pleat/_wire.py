"""Between JSON and the dataclasses of `models`.

A field has its name on the wire from WIRE, or else as it stands, or else in camelCase. A field that a newer service
adds is ignored; a field that may be None may be absent.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, TypeVar

from . import errors

M = TypeVar("M")

WIRE: dict[str, str] = {
    "affinity": "affinity_result_raw_json",
    "affinity_probability": "affinity_probability_binary",
    "affinity_value": "affinity_pred_value",
    "copies": "count",
    "execution_minutes": "executionTimeInMinutes",
    "first_day": "from",
    "has_prediction": "prediction",
    "iptm": "iptm_score",
    "last_day": "to",
    "max_pae": "max_pae_score",
    "items": "count",
    "mean_plddt": "meanPLLDT",
    "pae_ab": "paeAB",
    "pae_ba": "paeBA",
    "prediction": "predictionPayload",
    "ptm": "ptm_score",
    "raw_result": "result_raw_json",
    "residue_number": "residue",
    "spent": "usage",
    "worker_class": "class",
}
"""Names that are not the same in snake_case or camelCase on the wire."""


def camel(name: str) -> str:
    """A name in snake_case as camelCase."""
    return re.sub(r"_([a-z0-9])", lambda m: m[1].upper(), name)


def wire_names(name: str) -> tuple[str, ...]:
    """The names that a field may have on the wire, the likeliest first."""
    return tuple(dict.fromkeys((WIRE.get(name, name), name, camel(name))))


@functools.cache
def _fields(model: type[Any]) -> tuple[tuple[str, Any, tuple[str, ...]], ...]:
    hints = typing.get_type_hints(model)
    return tuple((f.name, hints[f.name], wire_names(f.name)) for f in dataclasses.fields(model) if f.init)


def decode(model: type[M], value: Any, where: str = "") -> M:
    """Reads a dataclass from JSON."""
    if not isinstance(value, Mapping):
        raise errors.InvalidAnswer(f"the answer has no object at {where or 'its top'}")
    data = typing.cast("Mapping[str, Any]", value)
    found: dict[str, Any] = {}
    for name, hint, names in _fields(model):
        key = next((n for n in names if n in data), None)
        at = f"{where}.{names[0]}" if where else names[0]
        if key is None:
            if not _optional(hint):
                raise errors.InvalidAnswer(f"the answer lacks {at}; this service may be older than its client")
            found[name] = None
        else:
            found[name] = _value(hint, data[key], at)
    return model(**found)


def _optional(hint: Any) -> bool:
    return hint is Any or type(None) in typing.get_args(hint)


def _value(hint: Any, value: Any, at: str) -> Any:
    if hint is Any:
        return value
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        return _value(next(a for a in args if a is not type(None)), value, at)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(args[0], v, f"{at}[{i}]") for i, v in enumerate(typing.cast("list[Any]", value)))
    if origin is dict and isinstance(value, dict):
        items = typing.cast("dict[str, Any]", value).items()
        return {k: _value(args[1], v, f"{at}.{k}") for k, v in items}
    if dataclasses.is_dataclass(hint):
        return decode(typing.cast("type[Any]", hint), value, at)
    return _plain(hint, value, at)


def _plain(hint: Any, value: Any, at: str) -> Any:
    match value:
        case bool() if hint is bool:
            return value
        case int() | float() if hint is float and not isinstance(value, bool):
            return float(value)
        case int() if hint is int and not isinstance(value, bool):
            return value
        case str() if hint is str:
            return value
        case str() if hint is datetime:
            try:
                return datetime.fromisoformat(value).replace(tzinfo=timezone.utc)
            except ValueError:
                pass
        case _:
            pass
    name = getattr(hint, "__name__", str(hint))
    raise errors.InvalidAnswer(f"the answer has {type(value).__name__} at {at}; it must be {name}")


def present(**fields: Any) -> dict[str, Any]:
    """A JSON object of the fields that are given: None, and an empty list or object, is left out."""
    return {k: v for k, v in fields.items() if v is not None and v != [] and v != {}}
