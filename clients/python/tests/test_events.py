"""The parser of event streams: any pieces give the same events."""

import random

import pytest

from pleat.errors import InvalidAnswer
from pleat.events import MAX_EVENT, Parser, ServerSentEvent

STREAM = (
    b": open\n\nevent: state\nid: 1\ndata: {}\n\n"
    b"id: 2\r\ndata: a\r\ndata:b\r\n\r\n"
    b"data:  two spaces\rid\r\r"
    b"id: x\0y\ndata: \xc3\xa9 \xf0\x9f\xa7\xac\n\n"
    b"event: empty\nid: 9\n\n"
    b"retry: 10\nunknown: x\ndata\n\n"
    b"id: 10\ndata: not whole"
)
EVENTS = [
    ServerSentEvent("1", "state", "{}"),
    ServerSentEvent("2", "message", "a\nb"),
    ServerSentEvent("", "message", " two spaces"),
    ServerSentEvent("", "message", "é 🧬"),
    ServerSentEvent("9", "message", ""),
]


@pytest.mark.parametrize("seed", range(50))
def test_any_pieces_give_the_same_events(seed: int) -> None:
    draw = random.Random(seed)
    parser, events, rest = Parser(), [], STREAM
    while rest:
        n = draw.randint(1, 1 + seed)
        events += list(parser.feed(rest[:n]))
        rest = rest[n:]
    assert events == EVENTS
    assert parser.last_id == "9"  # the last event did not come whole
    parser.drop()
    assert list(parser.feed(b"data: next\n\n")) == [ServerSentEvent("9", "message", "next")]


def test_an_event_is_bounded() -> None:
    with pytest.raises(InvalidAnswer, match="a line of more than 1 MiB"):
        list(Parser().feed(b"data: " + b"x" * MAX_EVENT))
    parser = Parser()
    line = b"data: " + b"x" * 100_000 + b"\n"
    with pytest.raises(InvalidAnswer, match="an event of more than 1 MiB"):
        list(parser.feed(line * 20))
