"""Batches on a real server."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import QUICK, SEQUENCE, Server
from pleat import (
    AsyncPleat,
    Batch,
    Entry,
    Ligand,
    Ligands,
    Matrix,
    Params,
    Pleat,
    Progress,
    Protein,
    Seeds,
    Variants,
    errors,
)
from relay import BreakOff, Relay

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def done(server: Server, key: str) -> Iterator[Batch]:
    rows = {"g": "GGG", "a": "AAA", "same": "GGG", "proline": "AAPA"}
    told: list[Progress] = []
    with Pleat(server.url, key, policy=QUICK) as client:
        batch = client.batch(rows, name="rows", model="example-helix").wait(progress=told.append)
        assert told[-1].counts["COMPLETED"] == 3
        assert told[-1].counts["FAILED"] == 1
        yield batch


def test_a_batch_is_a_table(done: Batch) -> None:
    assert done.status == "COMPLETED"
    table = done.to_pandas()
    assert list(table.index) == ["g", "a", "same", "proline"]
    assert list(table["status"]) == ["COMPLETED"] * 3 + ["FAILED"]
    assert "proline" in table.loc["proline", "error"]
    assert table.loc["g", "job_id"] is not None
    assert list(done.to_pandas(where="status=FAILED").index) == ["proline"]
    assert [r.custom_id for r in done.rows()] == ["g", "a", "same", "proline"]
    assert "rows FAILED" in done._repr_html_()


def test_the_scores_are_numbers(pleat: Pleat) -> None:
    batch = pleat.batch({"six": SEQUENCE}, name="scores", params=Params(seed=1)).wait()
    table = batch.to_pandas(sort="meanPLDDT:desc")
    assert 0 < table.loc["six", "mean_plddt"] <= 100
    assert table["ptm"].dtype.kind == table["mean_plddt"].dtype.kind == "f"
    assert pleat.job(table.loc["six", "job_id"]).wait().scores.mean_plddt == table.loc["six", "mean_plddt"]


def test_the_structures_are_saved(done: Batch, tmp_path: Path) -> None:
    with zipfile.ZipFile(done.save(tmp_path, where="status=COMPLETED")) as z:
        assert any(n.endswith("model.cif") for n in z.namelist())


def test_a_batch_is_found_by_its_name(pleat: Pleat, done: Batch) -> None:
    rows = {"g": "GGG", "a": "AAA", "same": "GGG", "proline": "AAPA"}
    assert pleat.batch(rows, name="rows", model="example-helix").id == done.id
    assert pleat.get_batch(done.id).name == "rows"
    for other, what in [
        ({**rows, "more": "AAAA"}, "number of rows differs: 4 there, 5 here"),
        ({**rows, "a": "GGG"}, "number of different rows differs: 3 there, 2 here"),
        ({k.upper(): v for k, v in rows.items()}, "ids differs"),
        (Seeds(complex="GGG", count=4), "kind differs: list there, seeds here"),
    ]:
        with pytest.raises(errors.BatchDiffers, match=what):
            pleat.batch(other, name="rows", model="example-helix" if what[0] != "k" else "mini")
    with pytest.raises(errors.BatchDiffers, match="model differs: example-helix there, null here"):
        pleat.batch(rows, name="rows", model="null")
    second = pleat.batch(rows, name="rows", model="example-helix", resume=False)
    assert second.id != done.id
    second.wait()


def test_a_lost_answer_makes_no_second_batch(relay: Relay, key: str) -> None:
    lost = [1]

    def trouble(seen: object) -> BreakOff | None:
        if getattr(seen, "method", "") == "POST" and lost[0]:
            lost[0] = 0
            return BreakOff(3)
        return None

    relay.trouble = trouble
    with Pleat(relay.url, key, policy=QUICK) as client:
        batch = client.batch(["GGG"], name="lost", model="null")
        assert client.batch(["GGG"], name="lost", model="null").id == batch.id
        made = [b["batchId"] for b in client.request("GET", "/v1/batches")["data"] if b["name"] == "lost"]
    assert made == [batch.id]


def test_failed_rows_run_again(pleat: Pleat) -> None:
    batch = pleat.batch(["AAPA", "AAA"], name="retried", model="example-helix").wait()
    assert batch.retry_failed() == 1
    assert batch.wait().refresh().counts["FAILED"] == 1
    all_failed = pleat.batch(["AAPA"], name="all failed", model="example-helix")
    with pytest.raises(errors.RunFailed, match="all 1 rows"):
        all_failed.wait()
    assert all_failed.to_pandas()["error"].notna().all()


def test_a_batch_is_cancelled_and_deleted(pleat: Pleat) -> None:
    batch = pleat.batch(["A" * 60], name="cancelled", resume=False)
    batch.cancel()
    with pytest.raises(errors.RunStopped):
        batch.wait()
    batch.delete()
    with pytest.raises(errors.NotFound):
        batch.refresh()


@pytest.mark.parametrize(
    ("plan", "rows"),
    [
        (Matrix(binders=[Entry(id="a", molecules="GGG"), Entry(id="b", molecules="AAA")]), 2),
        (Matrix(binders=[Entry(id="a", molecules="GGG")], targets=[Entry(id="t", molecules="AAA")]), 1),
        (Variants(complex=SEQUENCE, mutations=["WT", "G1A"]), 2),
        (Variants(complex=SEQUENCE, scan=(1, 2), to="AV"), 4),
        (Seeds(complex=SEQUENCE, seeds=[1, 2, 3]), 3),
        (Seeds(complex=[Protein(SEQUENCE)], count=5), 5),
        ([Entry(id="x", molecules=SEQUENCE, params=Params(seed=3)), "GGG"], 2),
    ],
    ids=["matrix", "targets", "variants", "scan", "seeds", "count", "list"],
)
def test_the_kinds_of_batches(pleat: Pleat, plan: object, rows: int) -> None:
    plan_of = pleat.validate_batch(plan, name="plan", model="mini")  # type: ignore[arg-type]
    assert plan_of.errors == ()
    assert plan_of.rows == rows


def test_ligands_need_a_model_that_takes_them(pleat: Pleat) -> None:
    plan = pleat.validate_batch(Ligands(complex="GGG", ligands={"e": Ligand(smiles="CCO")}), name="l")
    assert not plan.valid
    assert "ligand" in plan.errors[0].message


async def test_a_batch_awaited(apleat: AsyncPleat, tmp_path: Path) -> None:
    rows = {"g": "GGG", "p": "PPP"}
    assert (await apleat.validate_batch(rows, name="awaited", model="example-helix")).rows == 2
    batch = await (await apleat.batch(rows, name="awaited", model="example-helix")).wait(progress=False)
    assert list((await batch.to_pandas())["status"]) == ["COMPLETED", "FAILED"]
    assert (await apleat.batch(rows, name="awaited", model="example-helix")).id == batch.id
    assert (await (await apleat.get_batch(batch.id)).rows())[0].custom_id == "g"
    assert (await batch.save(tmp_path)).stat().st_size > 0
    assert await batch.retry_failed() == 1
    assert await batch.status in ("INITIALIZED", "RUNNING", "COMPLETED")
