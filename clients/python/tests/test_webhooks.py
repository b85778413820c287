"""verify() agrees with the vectors of internal/webhook and with deliveries of the real server."""

import base64
import hmac
import http.server
import json
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import REPOSITORY, SEQUENCE
from pleat import Params, Pleat, webhooks
from pleat.errors import InvalidSignature

VECTORS = json.loads((REPOSITORY / "internal" / "webhook" / "testdata" / "vectors.json").read_text())
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()
BODY = json.dumps(
    {
        "event": {
            "id": "e",
            "source_kind": "fold_job",
            "source_id": "j",
            "event_name": "on_complete",
            "status": "COMPLETED",
        }
    }
)


def signed(body: str = BODY, secret: str = SECRET, at: int = 1000, id: str = "d") -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = base64.b64encode(hmac.digest(key, f"{id}.{at}.{body}".encode(), "sha256")).decode()
    return {"Webhook-Id": id, "Webhook-Timestamp": str(at), "Webhook-Signature": f"v1,{mac}"}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_the_vectors(vector: dict[str, Any]) -> None:
    headers = {
        "webhook-id": vector["id"],
        "webhook-timestamp": str(vector["timestamp"]),
        "webhook-signature": vector["signature"],
    }
    # Their bodies are no events, which is said only of a body that is signed.
    with pytest.raises(InvalidSignature, match="is signed, but its body is no event"):
        webhooks.verify(headers, vector["body"], vector["secret"], now=vector["timestamp"])
    with pytest.raises(InvalidSignature, match="no signature"):
        webhooks.verify(headers, vector["body"] + " ", vector["secret"], now=vector["timestamp"])


def test_an_event_is_read() -> None:
    event = webhooks.verify(signed(), BODY.encode(), SECRET, now=1000)
    assert (event.delivery, event.id, event.source_id, event.status) == ("d", "e", "j", "COMPLETED")
    assert event.body["event"]["event_name"] == event.event_name == "on_complete"
    cloud = json.dumps({"specversion": "1.0", "data": json.loads(BODY)})
    assert webhooks.verify(signed(cloud), cloud, SECRET, now=1000).source_id == "j"


def test_a_rotation_has_two_secrets_and_two_signatures() -> None:
    both = signed() | {
        "Webhook-Signature": f"{signed(secret=OTHER)['Webhook-Signature']} {signed()['Webhook-Signature']}"
    }
    assert webhooks.verify(both, BODY, SECRET, now=1000).id == "e"
    assert webhooks.verify(signed(), BODY, [OTHER, SECRET], now=1000).id == "e"


@pytest.mark.parametrize(
    ("headers", "body", "now", "sentence"),
    [
        (signed(secret=OTHER), BODY, 1000, "no signature"),
        (signed(), BODY.replace("COMPLETED", "FAILED"), 1000, "no signature"),
        (signed() | {"Webhook-Id": "x"}, BODY, 1000, "no signature"),
        (signed() | {"Webhook-Timestamp": "1001"}, BODY, 1000, "no signature"),
        (signed() | {"Webhook-Signature": ""}, BODY, 1000, "no signature"),
        (signed() | {"Webhook-Signature": "v1,é v2,x"}, BODY, 1000, "no signature"),
        (signed(), BODY, 1301, "more than 300 seconds"),
        (signed(), BODY, 699, "more than 300 seconds"),
        (signed() | {"Webhook-Timestamp": "1e3"}, BODY, 1000, "no webhook of Pleat"),
        (signed() | {"Webhook-Timestamp": "１０００"}, BODY, 1000, "no webhook of Pleat"),
        ({}, BODY, 1000, "no webhook of Pleat"),
        (signed("[]"), "[]", 1000, "no event of Pleat"),
    ],
)
def test_what_is_not_signed_is_refused(headers: dict[str, str], body: str, now: float, sentence: str) -> None:
    with pytest.raises(InvalidSignature, match=sentence) as e:
        webhooks.verify(headers, body, SECRET, now=now)
    assert SECRET not in str(e.value)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!", "whpk_AAAA", "whsec_AAAA", SECRET.removeprefix("whsec_")])
def test_a_secret_that_is_none(secret: str) -> None:
    with pytest.raises(ValueError, match="it begins with whsec_"):
        webhooks.verify(signed(), BODY, secret, now=1000)


@pytest.fixture
def receiver() -> Iterator[tuple[str, "queue.Queue[tuple[dict[str, str], bytes]]"]]:
    came: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.put((dict(self.headers), self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", came
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("form", ["plain", "cloudevents"])
def test_the_deliveries_of_a_server(
    pleat: Pleat, receiver: tuple[str, "queue.Queue[tuple[dict[str, str], bytes]]"], form: str
) -> None:
    url, came = receiver
    body = {"target_url": url, "token_value": "a long random token", "format": form}
    config = pleat.request("PUT", "/v1/webhooks/custom-http-config", body)
    secret = (
        config.get("signing_secret")
        or pleat.request("POST", "/v1/webhooks/custom-http-config/rotate-secret", {})["signing_secret"]
    )
    try:
        pleat.request("POST", "/v1/webhooks/test")
        headers, raw = came.get(timeout=30)
        event = webhooks.verify(headers, raw, secret)
        assert event.body["event"]["payload"]["test"] is True
        assert headers["X-Webhook-Token"] == "a long random token"
        with pytest.raises(InvalidSignature, match="seconds"):
            webhooks.verify(headers, raw, secret, now=time.time() + 3600)
        with pytest.raises(InvalidSignature, match="no signature"):
            webhooks.verify(headers, raw, OTHER)
    finally:
        pleat.request("DELETE", "/v1/webhooks/custom-http-config")


def test_the_end_of_a_job_is_an_event(
    pleat: Pleat, receiver: tuple[str, "queue.Queue[tuple[dict[str, str], bytes]]"]
) -> None:
    from pleat import Constraints

    url, came = receiver
    body = {"target_url": url, "token_value": "a long random token"}
    pleat.request("PUT", "/v1/webhooks/custom-http-config", body)
    secret = pleat.request("POST", "/v1/webhooks/custom-http-config/rotate-secret", {})["signing_secret"]
    hooks = Constraints(webhooks={"custom_http": {"enabled": True}})
    job = pleat.complex([SEQUENCE], model="mini", name="notified", params=Params(seed=1), constraints=hooks)
    headers, raw = came.get(timeout=60)
    event = webhooks.verify(headers, raw, secret)
    assert (event.source_kind, event.source_id, event.status) == ("fold_job", job.id, "COMPLETED")
    pleat.request("DELETE", "/v1/webhooks/custom-http-config")
