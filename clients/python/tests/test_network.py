"""The client when the network or the service fails, through a relay in front of a real server."""

import asyncio
import copy
import gc
import hashlib
import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from conftest import QUICK, Server
from pleat import AsyncPleat, Pleat, Policy, errors
from pleat._flow import Answer, refusal
from relay import BreakOff, Refusal, Relay, Seen, Trouble

pytestmark = pytest.mark.anyio


class Sleeps:
    """Counts the pauses, and makes none."""

    def __init__(self) -> None:
        self.all: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.all.append(seconds)

    async def later(self, seconds: float) -> None:
        self.all.append(seconds)
        await asyncio.sleep(0)


def first(times: int, trouble: Trouble, matches: Callable[[Seen], bool] = lambda _: True) -> Callable[[Seen], Trouble]:
    """Trouble for the first requests that match."""
    left = [times]

    def decide(seen: Seen) -> Trouble:
        if matches(seen) and left[0] > 0:
            left[0] -= 1
            return trouble
        return None

    return decide


BUSY = Refusal(503, {"Retry-After": "3"}, b'{"message": "The service is busy."}')


def test_a_busy_service_is_asked_again_when_it_says(relay: Relay, key: str) -> None:
    relay.trouble = first(2, BUSY)
    sleeps = Sleeps()
    with Pleat(relay.url, key, sleep=sleeps) as client:
        assert client.usage().limit == 1000
    assert sleeps.all == [3.0, 3.0]


async def test_a_busy_service_is_asked_again_awaited(relay: Relay, key: str) -> None:
    relay.trouble = first(2, BUSY)
    sleeps = Sleeps()
    async with AsyncPleat(relay.url, key, sleep=sleeps.later) as client:
        assert (await client.usage()).limit == 1000
    assert sleeps.all == [3.0, 3.0]


def test_usage_is_told_apart(relay: Relay, key: str) -> None:
    with Pleat(relay.url, key) as client:
        client.fold("GGG", model="null", name="counted").wait()
        usage = client.usage(by=["model"])
        row = next(r for r in usage.spent if r.model == "null")
        assert row.day is None
        assert row.attempts >= 1
        assert row.gpu_seconds == 0
        assert usage.total.runs >= row.runs >= 1
        assert client.usage(first_day="2001-01-01", last_day="2001-01-31").spent == ()


def test_patience_ends(relay: Relay, key: str) -> None:
    relay.trouble = first(99, BUSY)
    sleeps = Sleeps()
    with Pleat(relay.url, key, sleep=sleeps) as client, pytest.raises(errors.ServerError, match="is busy") as e:
        client.usage()
    assert len(sleeps.all) == Policy().retries
    assert e.value.status == 503
    assert e.value.retry_after == 3.0


def test_a_long_wait_is_an_error_at_once(relay: Relay, key: str) -> None:
    relay.trouble = first(1, Refusal(429, {"Retry-After": "7200"}, b'{"message": "Daily quota exceeded."}'))
    sleeps = Sleeps()
    with Pleat(relay.url, key, sleep=sleeps) as client, pytest.raises(errors.LimitReached) as e:
        client.usage()
    assert sleeps.all == []
    assert e.value.retry_after == 7200


def test_delays_grow_and_differ(relay: Relay, key: str) -> None:
    relay.trouble = first(99, Refusal(502))
    sleeps = Sleeps()
    policy = Policy(retries=6, draw=iter([0, 1, 0, 1, 0, 1]).__next__)
    with Pleat(relay.url, key, policy=policy, sleep=sleeps) as client, pytest.raises(errors.ServerError, match="502"):
        client.usage()
    assert sleeps.all == [0.25, 1.0, 1.0, 4.0, 4.0, 8.0]


def test_a_new_job_is_sent_again_with_its_key(relay: Relay, key: str) -> None:
    # The service has made the job; its answer is lost.
    relay.trouble = first(1, BreakOff(5), lambda s: s.method == "POST")
    with Pleat(relay.url, key, policy=QUICK) as client:
        job = client.fold("GGG", model="null", name="lost answer")
        keys = {s.headers["idempotency-key"] for s in relay.seen}
        assert len(relay.seen) == 2
        assert len(keys) == 1
        assert [r.id for r in client.jobs(name="lost answer")] == [job.id]


def test_a_new_workflow_is_sent_again_with_its_key(relay: Relay, key: str) -> None:
    relay.trouble = first(1, BreakOff(5), lambda s: s.method == "POST")
    with Pleat(relay.url, key, policy=QUICK) as client:
        simulation = client.simulate(sequence="GGGGG", name="answered late", sim_length_ns=0.001, step_size_ns=0.001)
        keys = {s.headers["idempotency-key"] for s in relay.seen}
        rows = client.request("GET", "/v1/workflows")["data"]
    assert len(relay.seen) == 3
    assert len(keys - {None}) == 1
    assert [r["workflow_id"] for r in rows if r["name"] == "answered late"] == [simulation.id]


def test_what_has_no_key_is_not_sent_again(relay: Relay, key: str) -> None:
    body = {"sequences": ["GGGGG"]}
    relay.trouble = first(1, BUSY, lambda s: s.method == "POST")
    with Pleat(relay.url, key, policy=QUICK) as client:
        with pytest.raises(errors.ServerError):
            client.request("POST", "/v1/alignments", body)
        relay.trouble = first(1, BreakOff(0))
        with pytest.raises(errors.ConnectionFailed, match="POST /v1/alignments"):
            client.request("POST", "/v1/alignments", body)
    assert len(relay.seen) == 2


def test_a_service_that_is_not_there(key: str) -> None:
    sleeps = Sleeps()
    with (
        Pleat("http://127.0.0.1:9", key, sleep=sleeps) as client,
        pytest.raises(errors.ConnectionFailed, match="GET /v1/usage: .*http://127.0.0.1:9 .*refused.*PLEAT_URL") as e,
    ):
        client.usage()
    assert len(sleeps.all) == 4
    assert key not in str(e.value)


def is_events(seen: Seen) -> bool:
    return seen.path.endswith("/events")


def test_a_stream_that_breaks_is_read_on(relay: Relay, key: str) -> None:
    relay.trouble = first(2, BreakOff(300), is_events)
    with Pleat(relay.url, key, policy=QUICK) as client:
        job = client.fold("GGGG", name="breaks", cache=False)
        seqs: list[tuple[str, int]] = []
        job.wait(progress=lambda p: seqs.append((p.stage, p.done)))
    streams = [s for s in relay.seen if is_events(s)]
    assert len(streams) == 3
    assert "last-event-id" not in streams[0].headers
    ids = [s.headers["last-event-id"].split(":") for s in streams[1:]]
    assert ids[0][0] == ids[1][0]  # the run
    last = [int(id[1]) for id in ids]
    assert 0 < last[0] <= last[1]
    steps = [done for stage, done in seqs if stage == "sample"]
    assert steps == sorted(set(steps))  # no event came twice


async def test_a_stream_that_breaks_is_read_on_awaited(relay: Relay, key: str) -> None:
    relay.trouble = first(1, BreakOff(300), is_events)
    async with AsyncPleat(relay.url, key, policy=QUICK) as client:
        job = await client.fold("GGG", name="breaks", cache=False)
        await job.wait(progress=False)
        assert await job.status == "COMPLETED"
    assert len([s for s in relay.seen if is_events(s)]) == 2


@pytest.mark.parametrize(
    "trouble",
    [Refusal(429), Refusal(503), Refusal(200, {"Content-Type": "text/html"}, b"<p>a proxy"), BreakOff(0)],
    ids=["too many streams", "busy", "a proxy's page", "broken"],
)
def test_without_a_stream_the_state_is_asked_for(relay: Relay, key: str, trouble: Trouble) -> None:
    relay.trouble = first(99, trouble, is_events)
    with Pleat(relay.url, key, policy=QUICK) as client:
        job = client.fold("GGG", model="null", name="no stream")
        job.wait(check=False)
        assert job.status in ("COMPLETED", "FAILED")
    assert len([s for s in relay.seen if is_events(s)]) == 3
    assert any(s.path == f"/v1/jobs/{job.id}" for s in relay.seen)


def test_a_service_that_starts_again_ends_no_wait(relay: Relay, key: str) -> None:
    away = [12]

    def trouble(seen: Seen) -> Trouble:
        if seen.method == "POST" or away[0] == 0:
            return None
        away[0] -= 1
        return Refusal(502)

    relay.trouble = trouble
    with Pleat(relay.url, key, policy=QUICK) as client:
        client.fold("GGG", model="null", name="away").wait(check=False)
    assert away == [0]


def test_a_job_that_is_gone_ends_the_wait(relay: Relay, key: str) -> None:
    with Pleat(relay.url, key, policy=QUICK) as client:
        job = client.fold("GGG", model="null", name="gone")
        client.job(job.id).delete()
        with pytest.raises(errors.NotFound, match="Job not found"):
            job.wait()


def test_the_key_stays_at_its_origin(relay: Relay, server: Server, key: str) -> None:
    with Relay(server.url) as elsewhere:
        relay.trouble = lambda s: Refusal(307, {"Location": elsewhere.url + s.path})
        with Pleat(relay.url, key, policy=QUICK) as client:
            with pytest.raises(errors.InvalidAnswer, match=f"redirects to {elsewhere.url}/v1/usage") as e:
                client.usage()
            with pytest.raises(errors.InvalidAnswer, match="use it as url"):
                client.fold("GGG")
        assert elsewhere.seen == []
        assert key not in str(e.value)


def test_a_redirect_within_the_origin_is_followed(relay: Relay, key: str) -> None:
    relay.trouble = first(1, Refusal(308, {"Location": "/v1/usage"}))
    with Pleat(relay.url, key, policy=QUICK) as client:
        assert client.usage().limit == 1000
        relay.trouble = lambda s: Refusal(302, {"Location": s.path})
        with pytest.raises(errors.InvalidAnswer, match="more than 5 redirects"):
            client.usage()


def test_files_are_fetched_without_the_key(relay: Relay, key: str, tmp_path: Path) -> None:
    def through(seen: Seen, body: bytes) -> bytes:
        return body.replace(relay.upstream.netloc.encode(), relay.url.removeprefix("http://").encode())

    with Pleat(relay.url, key, policy=QUICK) as client:
        job = client.fold("AAA", model="example-helix", name="files").wait()
        relay.change = through
        job.save(tmp_path, only=["model.cif"])
    (download,) = [s for s in relay.seen if s.path.startswith("/v1/artifacts/")]
    assert "authorization" not in download.headers
    assert all("authorization" in s.headers for s in relay.seen if s is not download)


def saving(relay: Relay, key: str, folder: Path, change: Callable[[Seen, bytes], bytes]) -> list[Path]:
    """Saves model.cif through a relay that changes bodies."""

    def through(seen: Seen, body: bytes) -> bytes:
        body = body.replace(relay.upstream.netloc.encode(), relay.url.removeprefix("http://").encode())
        return change(seen, body)

    with Pleat(relay.url, key, policy=QUICK) as client:
        job = client.fold("AAA", model="example-helix", name="files").wait()
        relay.change = through
        return job.save(folder)


def test_a_damaged_file_is_not_kept(relay: Relay, key: str, tmp_path: Path) -> None:
    def damage(seen: Seen, body: bytes) -> bytes:
        return body[:-1] + b"X" if "model.cif" in seen.path else body

    with pytest.raises(errors.ChecksumMismatch, match="the SHA-256 of model.cif"):
        saving(relay, key, tmp_path, damage)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_too_long_is_not_kept(relay: Relay, key: str, tmp_path: Path) -> None:
    with pytest.raises(errors.ChecksumMismatch, match="model.cif has more than"):
        saving(relay, key, tmp_path, lambda s, b: b * 2 if "model.cif" in s.path else b)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../model.cif", "/etc/x", "a/b", "..", "", "a\\b", "C:x", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(relay: Relay, key: str, tmp_path: Path, name: str) -> None:
    def rename(seen: Seen, body: bytes) -> bytes:
        if not seen.path.endswith("/results"):
            return body
        results = json.loads(body)
        results["artifacts"][0]["name"] = name
        return json.dumps(results).encode()

    with pytest.raises(errors.UnsafeName, match="would leave its folder"):
        saving(relay, key, tmp_path / "in", rename)
    assert list((tmp_path / "in").iterdir()) == []
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_a_link_in_the_folder_is_replaced_and_not_followed(relay: Relay, key: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "model.cif").symlink_to(outside)
    saving(relay, key, tmp_path / "in", lambda _, b: b)
    assert outside.read_text() == "mine"
    assert not (tmp_path / "in" / "model.cif").is_symlink()


def test_a_download_that_breaks_is_made_again(relay: Relay, key: str, tmp_path: Path) -> None:
    relay.trouble = first(2, Refusal(503), lambda s: "model.cif" in s.path)
    saved = saving(relay, key, tmp_path, lambda _, b: b)
    assert "model.cif" in {p.name for p in saved}
    assert len([s for s in relay.seen if "model.cif" in s.path]) == 3


def test_an_address_that_is_no_pleat(relay: Relay, key: str) -> None:
    relay.trouble = lambda _: Refusal(200, {"Content-Type": "text/html"}, b"<html>")
    with Pleat(relay.url, key, policy=QUICK) as client, pytest.raises(errors.InvalidAnswer, match="address of a Pleat"):
        client.usage()


def test_an_endless_answer_is_bounded(relay: Relay, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pleat._drive.MAX_ANSWER", 1 << 10)
    relay.trouble = lambda _: Refusal(200, {}, b" " * 5000)
    with Pleat(relay.url, key, policy=QUICK) as client, pytest.raises(errors.InvalidAnswer, match="more than"):
        client.usage()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b'{"message": "name is empty"}', errors.InvalidRequest),
        (413, b"", errors.TooLarge),
        (418, b"[]", errors.APIError),
        (500, b'{"detail": 7, "errors": [3]}', errors.ServerError),
    ],
)
def test_a_refusal_of_any_form(relay: Relay, key: str, status: int, body: bytes, kind: type) -> None:
    relay.trouble = lambda _: Refusal(status, {}, body)
    with Pleat(relay.url, key, policy=QUICK) as client, pytest.raises(errors.APIError) as e:
        client.usage()
    assert type(e.value) is kind
    assert e.value.status == status


def test_the_sentences_and_fields_of_the_service(server: Server, pleat: Pleat) -> None:
    with pytest.raises(errors.InvalidRequest, match="Invalid sequence format") as e:
        pleat.complex(["GG1", "2AA"], model="mini", name="bad")
    assert [f.field for f in e.value.faults] == [f"sequences[{i}].proteinChain.sequence" for i in (0, 1)]
    assert "sequences[1].proteinChain.sequence: " in str(e.value)
    with pytest.raises(errors.InvalidRequest, match="mimi"):
        pleat.fold("GGG", model="mimi")
    for key, kind, message in [
        (None, errors.Unauthorized, "Unauthorized: .*PLEAT_KEY"),
        ("pleat_wrong", errors.Unauthorized, "Unauthorized: .*PLEAT_KEY"),
        (server.key("--user", "reader", "--scopes", "read"), errors.Forbidden, "submit"),
    ]:
        with Pleat(server.url, key) as client, pytest.raises(kind, match=message):
            client.fold("GGG")
    with Pleat(server.url, server.key("--user", "bob", "--user-quota", "1")) as client:
        client.fold("GGG", model="null")
        with pytest.raises(errors.LimitReached, match="Daily quota exceeded. Limit: 1 calls per day") as quota:
            client.fold("GGG", model="null")
    assert quota.value.retry_after is not None


def test_typical_mistakes_get_a_sentence(pleat: Pleat) -> None:
    with pytest.raises(ValueError, match="leave out /v1"):
        Pleat("http://127.0.0.1:8080/v1/")
    with pytest.raises(TypeError, match="a molecule is None; it must be a text, Protein"):
        pleat.fold(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="params is .*seed.*it must be Params"):
        pleat.fold("GGG", params={"seed": 1})  # type: ignore[arg-type]


def test_the_key_is_in_no_text(server: Server, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLEAT_URL", server.url)
    monkeypatch.setenv("PLEAT_KEY", key)
    with Pleat() as client:
        job = client.fold("GGG", model="null")
        texts = [repr(client), repr(job), str(vars(job)), str(vars(client)), job._repr_html_()]
    assert all(key not in t for t in texts)
    assert client.url == server.url


@pytest.mark.parametrize(
    ("url", "key", "sentence"),
    [
        ("127.0.0.1:8080", "k", "url is '127.0.0.1:8080'"),
        ("ftp://x", "k", "url is 'ftp://x'"),
        ("http://x/?a=1", "k", "it must be an address"),
        ("http://alice:secret@x", "k", "url has a user or password"),
        ("http://x", "se cret", "key has characters"),
        ("http://x", "Bearer secret", "key begins with Bearer"),
        ("http://x", "secret\nsecret", "key has characters"),
        ("http://x", "sécret", "key has characters"),
    ],
)
def test_a_bad_address_or_key_is_refused(url: str, key: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as e:
        Pleat(url, key)
    assert "cret" not in str(e.value)


def test_a_client_of_ones_own_is_used_and_left_open(server: Server, key: str) -> None:
    with httpx.Client(trust_env=False, headers={"X-Mine": "1"}) as http:
        with Pleat(server.url, key, http=http) as client:
            client.usage()
        assert not http.is_closed


def test_a_digest(tmp_path: Path) -> None:
    # Guards the comparison that skips downloads.
    from pleat.files import _digest

    (tmp_path / "x").write_bytes(b"x" * 3_000_000)
    assert _digest(tmp_path / "x") == hashlib.sha256(b"x" * 3_000_000).hexdigest()


def test_a_stream_is_closed_when_a_wait_ends(relay: Relay, key: str) -> None:
    with Pleat(relay.url, key, policy=QUICK) as client:
        job = client.fold("A" * 30, name="closed", cache=False)
        reached = threading.Event()

        def stop(_: object) -> None:
            reached.set()
            raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            job.wait(progress=stop)
        assert reached.is_set()
        assert client.usage().limit == 1000  # the connection is free
        job.cancel()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", None), ("-1", None), ("", None), (None, None)],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    headers = {} if value is None else {"retry-after": value}
    assert refusal(Answer(503, headers)).retry_after == seconds


def test_the_key_of_a_batch_is_the_callers(relay: Relay, key: str) -> None:
    with Pleat(relay.url, key, policy=QUICK) as client:
        for resume in (True, False):
            client.batch(
                {"a": "GGG"}, name=f"its key {resume}", model="null", resume=resume, idempotency_key=f"k{resume}"
            )
    made = [s for s in relay.seen if s.method == "POST"]
    assert [s.headers["idempotency-key"] for s in made] == ["kTrue", "kFalse"]


def test_the_end_of_a_line_is_no_part_of_a_key(server: Server, key: str) -> None:
    for text in (f" {key}\r\n", f"\ufeff{key}", f"{key}\n".encode()):
        with Pleat(f" {server.url}/\n", text) as client:  # type: ignore[arg-type]
            assert client.me().name == "alice"


def test_proxies_and_certificates_that_cannot_be_used_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:9")
    with pytest.raises(ValueError, match="cannot be used .*check HTTP_PROXY"):
        Pleat("http://pleat.invalid", "k")
    monkeypatch.delenv("ALL_PROXY")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    with pytest.raises(ValueError, match="SSL_CERT_FILE"):
        Pleat("http://pleat.invalid", "k")


# The first loop ends without its connections.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_client_outlives_an_event_loop(server: Server, key: str) -> None:
    client = AsyncPleat(server.url, key)

    async def name(last: bool) -> str | None:
        try:
            return (await client.me()).name
        finally:
            if last:
                await client.close()

    assert [asyncio.run(name(last)) for last in (False, True)] == ["alice", "alice"]
    gc.collect()


@pytest.mark.parametrize(
    "e",
    [
        errors.LimitReached("m", status=429, faults=(errors.Fault("a", "m"), errors.Fault("b", "n")), retry_after=1.0),
        errors.RunFailed("m", id="1", status="FAILED", kind="invalid_input"),
        errors.ConnectionFailed("m"),
        errors.WaitTimeout("m"),
        errors.MissingPackage("m"),
    ],
)
def test_errors_are_pickled_and_copied(e: errors.PleatError) -> None:
    for again in (pickle.loads(pickle.dumps(e)), copy.deepcopy(e)):
        assert type(again) is type(e)
        assert str(again) == str(e)
        assert vars(again) == vars(e)
