"""The messages: one JSON object per line, with a "type". Both directions are here, so that the shared vectors test
both.

A reader ignores the fields and message types that it does not know, and checks the others.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

PROTOCOL = 1

# Bounds of one line in bytes, newline included. The service may send a whole job; a runner sends paths instead of
# files.
MAX_TO_RUNNER = 16 << 20
MAX_FROM_RUNNER = 1 << 20
MAX_LOG = 2000  # characters of one log line
MAX_MESSAGE = 1000  # characters of an error's sentence
MAX_DETAIL = 16_000  # characters of an error's detail
MAX_FILES = 1000  # files of one result

CODES = (
    "invalid_input",
    "unsupported",
    "too_large",
    "msa_unavailable",
    "weights_missing",
    "load_failed",
    "oom",
    "device_lost",
    "timeout",
    "cancelled",
    "runner_crashed",
    "output_invalid",
    "internal",
)

_number = (int, float)

Fields = dict[str, tuple[Any, bool]]  # field → (Python types, required)

TO_RUNNER: dict[str, Fields] = {
    "hello": {
        "protocol": (int, True),
        "service": (str, False),
        "heartbeat_s": (_number, False),
        "grease": (int, False),
    },
    "load": {"model": (str, True), "weights_dir": (str, False), "device": (str, True), "threads": (int, False)},
    "predict": {
        "id": (str, True),
        "attempt": (int, True),
        "workdir": (str, True),
        "kind": (str, True),
        "input": (dict, True),
        "files": (list, False),
        "params": (dict, False),
        "seed": (int, False),
        "parallel": (int, False),
        "resume": (dict, False),
        "traceparent": (str, False),
    },
    "cancel": {"id": (str, True)},
    "ping": {"n": (int, False)},
    "shutdown": {},
}
FROM_RUNNER: dict[str, Fields] = {
    "pong": {"n": (int, False), "protocol": (int, False), "engine": (str, False), "mem": (dict, False)},
    "ready": {
        "engine_version": (str, True),
        "weights_sha256": (str, False),
        "device": (str, False),
        "mem": (dict, False),
        "detail": (dict, False),
    },
    "progress": {"id": (str, True), "stage": (str, True), "done": (int, False), "total": (int, False)},
    "log": {"line": (str, True), "level": (str, False), "id": (str, False)},
    "checkpoint": {"id": (str, True), "path": (str, True), "step": (int, True)},
    "result": {
        "id": (str, True),
        "files": (list, False),
        "scores": (dict, False),
        "chain_map": (dict, False),
        "tokens": (list, False),
        "timings": (dict, False),
        "metrics": (dict, False),
        "params": (dict, False),
        "notes": (list, False),
        "answer": (str, False),
        "mem": (dict, False),
    },
    "error": {
        "id": (str, False),
        "code": (str, True),
        "message": (str, True),
        "retryable": (bool, False),
        "detail": (str, False),
    },
}


class WireError(Exception):
    """A line that breaks the protocol."""


def encode(message: Mapping[str, Any]) -> bytes:
    """One message as a line. NaN and infinity, which JSON lacks, become null."""
    text = json.dumps(finite(message), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def finite(value: Any) -> Any:
    """The value with every NaN and infinity replaced by None, and keys of dictionaries as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if value is None or isinstance(value, (str, int)):
        return value
    if hasattr(value, "item"):  # a scalar of NumPy or PyTorch
        return finite(value.item())
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode(line: bytes, known: Mapping[str, Fields]) -> dict[str, Any] | None:
    """The message of a line; None where its type is not in known. Raises WireError where the line breaks the
    protocol."""
    try:
        message = json.loads(line, parse_constant=_constant)
    except (ValueError, RecursionError) as e:
        raise WireError(f"not JSON: {e}") from None
    if not isinstance(message, dict):
        raise WireError("not a JSON object")
    kind = message.get("type")
    if not isinstance(kind, str):
        raise WireError("no type")
    if kind not in known:
        return None
    for name, (types, required) in known[kind].items():
        value = message.get(name)
        if value is None:
            if required:
                raise WireError(f"{kind} has no {name}")
            continue
        if not isinstance(value, types) or isinstance(value, bool) and types is not bool:
            raise WireError(f"{kind}.{name} has the wrong type")
    return message


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def clip(text: object, most: int) -> str:
    """The text with at most that many characters; control characters other than tab and newline become spaces."""
    text = "".join(c if c >= " " or c in "\t\n" else " " for c in str(text)[: most + 1])
    return text if len(text) <= most else text[:most] + "…"
