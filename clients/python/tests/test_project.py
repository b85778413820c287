"""The work of several people in one project."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import httpx
import pytest

from conftest import QUICK, SEQUENCE, Server
from pleat import AsyncPleat, Params, Pleat, errors

SAME = Params(seed=1)  # as of other tests, so that the results are there


@pytest.fixture(scope="module")
def lab(server: Server, key: str) -> str:
    """A project of alice's, with bob as a viewer."""
    assert key
    operator = server.key("--user", "olga")
    server.command("users", "grant", "olga", "operator")
    with Pleat(server.url, operator, policy=QUICK) as client:
        made = client.request("POST", "/v1/projects", {"name": "Lab A", "manager": "alice"})
    assert isinstance(made, dict)
    return str(made["projectId"])


@pytest.fixture
def bob(server: Server, pleat: Pleat, lab: str) -> Iterator[Pleat]:
    with Pleat(server.url, server.key("--user", "bob"), lab, policy=QUICK) as client:
        pleat.request("PUT", f"/v1/projects/{lab}/members/bob", {"role": "viewer"})
        yield client


def test_a_client_says_who_its_user_is(pleat: Pleat, lab: str) -> None:
    me = pleat.me()
    assert (me.name, me.is_service, me.is_operator) == ("alice", False, False)
    assert me.scopes == ("read", "submit", "manage")
    projects = pleat.projects()
    assert projects == me.projects
    assert projects[0].is_own
    assert projects[0].project_id == me.project_id
    assert [(p.project_id, p.name, p.role) for p in projects[1:]] == [(lab, "Lab A", "manager")]


def test_a_client_works_in_one_project(server: Server, key: str, pleat: Pleat, lab: str, tmp_path: Path) -> None:
    with Pleat(server.url, key, "Lab A", policy=QUICK) as client:
        assert client.validate([SEQUENCE]).errors == ()
        job = client.fold(SEQUENCE, name="in the lab", params=SAME).wait(progress=False)
        batch = client.batch({"one": SEQUENCE}, name="in the lab", params=SAME)
        question = client.ask(job, "Is it good?")
        (tmp_path / "x.fasta").write_text(">x\nGGG\n")
        item = client.library.upload(tmp_path / "x.fasta")
        assert [j.id for j in client.jobs(name="in the lab")] == [job.id]
        assert client.batch({"one": SEQUENCE}, name="in the lab", params=SAME).id == batch.id
        assert [i.id for i in client.library.list()] == [item.id]
        assert client.usage().used == 1
        batch.wait(progress=False)
        question.wait(progress=False)
    assert [j.id for j in pleat.jobs(name="in the lab")] == []
    assert [j.id for j in pleat.jobs(name="in the lab", project=lab)] == [job.id]
    assert [i.id for i in pleat.library.list(project="Lab A")] == [item.id]
    assert item.id not in [i.id for i in pleat.library.list()]
    pleat.library.delete(item.id)


def test_the_variable_names_the_project(server: Server, key: str, lab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLEAT_PROJECT", "Lab A")
    with Pleat(server.url, key, policy=QUICK) as client:
        job = client.fold(SEQUENCE, name="by the variable", params=SAME).wait(progress=False)
    monkeypatch.delenv("PLEAT_PROJECT")
    with Pleat(server.url, key, policy=QUICK) as client:
        assert [j.id for j in client.jobs(name="by the variable", project=lab)] == [job.id]


def test_a_viewer_reads_and_does_not_fold(bob: Pleat, pleat: Pleat) -> None:
    job = pleat.fold(SEQUENCE, name="to read", params=SAME, project="Lab A").wait(progress=False)
    assert bob.job(job.id).scores.mean_plddt is not None
    row = next(bob.jobs(name="to read"))
    assert row.created_by is not None
    assert row.created_by.name == "alice"
    assert bob.job(job.id).created_by == row.created_by
    assert next(bob.jobs(name="to read", created_by="me"), None) is None
    with pytest.raises(errors.Forbidden, match="role"):
        bob.fold(SEQUENCE)
    with pytest.raises(errors.Forbidden):
        bob.job(job.id).delete()


def test_an_unknown_project_is_named(pleat: Pleat, lab: str) -> None:
    assert lab
    with pytest.raises(ValueError, match=r"project is 'Lab B'; yours are 'alice', 'Lab A'"):
        pleat.fold(SEQUENCE, project="Lab B")
    with pytest.raises(errors.NotFound):
        pleat.fold(SEQUENCE, project="01890a5d-ac96-774b-bcce-b302099a8057")


def test_a_link_is_read_without_a_key(server: Server, pleat: Pleat) -> None:
    job = pleat.fold(SEQUENCE, name="to share", params=SAME).wait(progress=False)
    link = job.share(expires=date.today() + timedelta(days=3))
    assert link.created_by == "alice"
    assert link.token not in repr(link)
    path = f"{server.url}/v1/jobs/{job.id}"
    with httpx.Client(trust_env=False) as http:
        assert http.get(path).status_code == 401
        assert http.get(path, headers={"X-Share-Token": link.token}).json()["job"]["id"] == job.id
        assert http.get(link.url).status_code == 303
    batch = pleat.batch({"one": SEQUENCE}, name="to share", params=SAME).wait(progress=False)
    assert batch.share().url.startswith(server.url)
    with pytest.raises(errors.InvalidRequest, match="expiresAt"):
        job.share(expires="soon")


def test_a_job_moves(pleat: Pleat, lab: str) -> None:
    job = pleat.fold(SEQUENCE, name="to move", params=SAME).wait(progress=False)
    question = pleat.ask(job, "Is it good?").wait(progress=False)
    job.move("Lab A")
    assert [j.id for j in pleat.jobs(name="to move")] == []
    assert [j.id for j in pleat.jobs(name="to move", project=lab)] == [job.id]
    question.move(lab)
    assert job.scores.mean_plddt is not None


@pytest.mark.anyio
async def test_a_client_that_is_awaited_has_a_project(server: Server, key: str, lab: str) -> None:
    async with AsyncPleat(server.url, key, project="Lab A", policy=QUICK) as client:
        assert [p.project_id for p in await client.projects()][1:] == [lab]
        job = await (await client.fold(SEQUENCE, name="awaited", params=SAME)).wait(progress=False)
        assert [j.id async for j in client.jobs(name="awaited")] == [job.id]
        assert (await job.share()).url
        await job.move((await client.me()).project_id)
        assert [j.id async for j in client.jobs(name="awaited")] == []
