"""Each blocking operation has an awaited one with the same name and parameters."""

import inspect
from typing import Any

import pytest

import pleat
from pleat._run import Later
from pleat.library import AsyncLibrary, Library

PAIRS = [
    (pleat.Pleat, pleat.AsyncPleat),
    (pleat.Job, pleat.AsyncJob),
    (pleat.Batch, pleat.AsyncBatch),
    (pleat.Workflow, pleat.AsyncWorkflow),
    (pleat.Question, pleat.AsyncQuestion),
    (pleat.Simulation, pleat.AsyncSimulation),
    (pleat.Design, pleat.AsyncDesign),
    (Library, AsyncLibrary),
]


def public(cls: type) -> dict[str, Any]:
    return {n: v for n, v in inspect.getmembers(cls) if not n.startswith("_")}


@pytest.mark.parametrize(("blocking", "awaited"), PAIRS, ids=lambda c: c.__name__)
def test_both_have_the_same_members(blocking: type, awaited: type) -> None:
    one, other = public(blocking), public(awaited)
    assert set(one) == set(other)
    for name, member in one.items():
        theirs = other[name]
        if member is theirs:  # inherited by both, such as Pleat.url
            continue
        assert isinstance(member, property) == isinstance(theirs, property), name
        if isinstance(member, property):
            assert theirs.fget.__annotations__["return"] == f"Later[{member.fget.__annotations__['return']}]", name
            continue
        assert inspect.iscoroutinefunction(theirs) or inspect.isasyncgenfunction(theirs), name
        assert parameters(member) == parameters(theirs), name


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    plain = inspect.signature(function).parameters.values()
    return [(p.name, p.default, str(p.annotation).replace("Async", "")) for p in plain]


def test_every_class_of_a_client_is_compared() -> None:
    compared = {c for pair in PAIRS for c in pair}
    for name in pleat.__all__:
        if name.startswith("Async"):
            assert getattr(pleat, name) in compared


@pytest.mark.anyio
async def test_a_value_is_fetched_only_when_it_is_awaited() -> None:
    calls: list[int] = []

    async def fetch() -> int:
        calls.append(1)
        return 7

    later = Later(fetch)
    assert calls == []
    assert await later == 7
    assert await later == 7
    assert len(calls) == 2


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
