"""Receiving webhooks: verify() checks a request as the Standard Webhooks specification says, and reads its event."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .errors import InvalidSignature

TOLERANCE = 300.0
"""Seconds that the clocks of sender and receiver may differ, which also bounds how late a copy can be sent again."""


@dataclass(frozen=True)
class Event:
    """A verified event. `delivery` is the same in every attempt: store it, because a delivery can arrive twice."""

    delivery: str
    id: str
    source_kind: str
    source_id: str
    event_name: str
    status: str
    body: Mapping[str, Any]
    """The whole body, as docs/webhooks.md describes it."""


def verify(
    headers: Mapping[str, str],
    body: bytes | str,
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Event:
    """Checks that a request was signed with the secret (`whsec_…`), or one of several, and not long ago.

    `body` is the body as it arrived, before any parsing. Anything else raises InvalidSignature.
    """
    raw = body.encode() if isinstance(body, str) else bytes(body)
    given = {k.lower(): v for k, v in headers.items()}
    delivery, sent = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not delivery or not (sent.isascii() and sent.isdigit() and len(sent) < 15):
        raise InvalidSignature("the request has no webhook-id and webhook-timestamp; it is no webhook of Pleat")
    if abs((time.time() if now is None else now) - int(sent)) > tolerance:
        raise InvalidSignature(f"the webhook was sent more than {tolerance:g} seconds before or after now")
    signed = f"{delivery}.{sent}.".encode() + raw
    secrets = [secret] if isinstance(secret, str) else list(secret)
    wanted = [_signature(_key(s), signed) for s in secrets]
    offered = [s.encode() for s in given.get("webhook-signature", "").split()]
    # Every pair is compared, so that the time does not tell which one is right.
    if sum(hmac.compare_digest(o, w) for o in offered for w in wanted) == 0:
        raise InvalidSignature("no signature of the webhook is right")
    return _event(delivery, raw)


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith("whsec_") or len(key) < 24:
        raise ValueError("secret is not a signing secret; it begins with whsec_, and a whpk_ key is not taken here")
    return key


def _signature(key: bytes, signed: bytes) -> bytes:
    return b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))


def _event(delivery: str, raw: bytes) -> Event:
    try:
        body = cast("Mapping[str, Any]", json.loads(raw))
        # As CloudEvents, the body is the data of an envelope.
        inner = body["data"] if "specversion" in body else body
        event = inner["event"]
        return Event(
            delivery=delivery,
            id=str(event["id"]),
            source_kind=str(event["source_kind"]),
            source_id=str(event["source_id"]),
            event_name=str(event["event_name"]),
            status=str(event["status"]),
            body=inner,
        )
    except (ValueError, LookupError, TypeError) as e:
        raise InvalidSignature("the webhook is signed, but its body is no event of Pleat") from e
