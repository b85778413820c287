"""Folds on a real server, blocking and awaited."""

import pickle
import threading
from pathlib import Path

import httpx
import numpy as np
import pytest

from conftest import QUICK, SEQUENCE, Server
from pleat import AsyncPleat, Job, Params, Pleat, Progress, Scores, errors

pytestmark = pytest.mark.anyio


def check_scores(scores: Scores) -> None:
    assert scores.mean_plddt is not None
    assert 0 < scores.mean_plddt <= 100
    assert scores.iptm is None  # one chain has none
    assert scores.chains == ("A",)
    assert scores.affinity is None


def test_a_job_folds(folded: Job) -> None:
    assert folded.status == "COMPLETED"
    check_scores(folded.scores)
    assert folded.plddt.shape == (6,)
    assert folded.plddt.dtype == np.float64
    assert folded.plddt.mean() == pytest.approx(folded.scores.mean_plddt, abs=0.01)
    assert folded.pae.shape == (6, 6)
    assert folded.pae.max() == folded.scores.max_pae
    assert not folded.pae.diagonal().any()
    assert folded.results.prediction.mean_plddt == folded.scores.mean_plddt
    assert folded.results.sequences[0].sequence == SEQUENCE
    assert "http" in folded.results.artifacts[0].url
    assert "http" not in repr(folded.results)


def test_sequences_and_seeds_in_other_forms(pleat: Pleat, folded: Job) -> None:
    again = pleat.fold(SEQUENCE.encode(), name="six", seed=1)  # type: ignore[arg-type] # as a file has it
    assert np.array_equal(again.wait(progress=False).plddt, folded.plddt)
    with pytest.raises(ValueError, match="seed is given twice"):
        pleat.fold(SEQUENCE, params=Params(seed=1), seed=2)


def test_jobs_and_clients_are_pickled(pleat: Pleat, folded: Job) -> None:
    again: Job = pickle.loads(pickle.dumps(folded))
    assert (again.id, again.status) == (folded.id, "COMPLETED")
    again._driver.close()  # a job has no connections of its own unless it was pickled
    with pickle.loads(pickle.dumps(pleat)) as copy:
        assert copy.me() == pleat.me()
    with httpx.Client() as http, pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Pleat(pleat.url, http=http))


async def test_a_client_is_pickled_awaited(apleat: AsyncPleat) -> None:
    async with pickle.loads(pickle.dumps(apleat)) as again:
        assert await again.me() == await apleat.me()


async def test_a_job_folds_awaited(apleat: AsyncPleat, folded: Job, tmp_path: Path) -> None:
    job = await (await apleat.fold(SEQUENCE, name="six", params=Params(seed=1))).wait(progress=False)
    assert await job.status == "COMPLETED"
    check_scores(await job.scores)
    assert np.array_equal(await job.plddt, folded.plddt)
    assert np.array_equal(await job.pae, folded.pae)
    assert (await job.structures)[0] == await job.structure()
    assert (await job.results).job.name == "six"
    assert (await job.to_gemmi())[0]["A"][0].name == "GLY"
    assert len(await job.to_biotite()) == len(folded.to_biotite())
    assert [c.id for c in (await job.to_biopython()).get_chains()] == ["A"]
    assert len(await job.residues_to_pandas()) == 6
    assert len(await job.pairs_to_pandas()) == 0
    assert "pLDDT" in job._repr_html_()
    assert "3Dmol" in (await job.save_html(tmp_path / "six.html")).read_text()
    assert {p.name for p in await job.save(tmp_path, only=["model.cif"])} == {"model.cif"}
    assert (await job.contacts()).total == 0
    await job.publish()
    assert (await job.refresh()).job.is_public
    again = await apleat.job(job.id)
    assert again.name == "six"
    assert job.id in [row.id async for row in apleat.jobs(name="six")]
    await again.delete()
    with pytest.raises(errors.NotFound):
        await again.refresh()


def test_the_result_has_other_forms(folded: Job) -> None:
    atoms = folded.to_biotite()
    assert set(atoms.chain_id) == {"A"}
    assert atoms.b_factor[atoms.atom_name == "CA"] == pytest.approx(folded.plddt, abs=0.01)
    gemmi = folded.to_gemmi()
    assert [r.name for r in gemmi[0]["A"]] == ["GLY"] * 3 + ["ALA"] * 3
    assert len(list(folded.to_biopython().get_residues())) == 6
    table = folded.residues_to_pandas()
    assert list(table.columns) == ["chain", "residue", "plddt", "secondary_structure"]
    assert table["plddt"].to_numpy() == pytest.approx(folded.plddt)
    assert list(folded.pairs_to_pandas().columns)[:3] == ["chain_a", "chain_b", "iptm"]


def test_chains_that_are_folded_alone_are_several_structures(pleat: Pleat) -> None:
    job = pleat.complex(["GGG", "AAA"], model="mini", name="two", params=Params(seed=1)).wait()
    first, second = job.structures
    assert [r.name for r in first.to_gemmi()[0][0]] == ["GLY"] * 3
    assert [r.name for r in second.to_gemmi()[0][0]] == ["ALA"] * 3
    assert first.plddt.shape == second.plddt.shape == (3,)
    with pytest.raises(errors.NoResult, match="there is none 2"):
        job.structure(2)


def test_the_progress_is_reported(pleat: Pleat) -> None:
    told: list[Progress] = []
    pleat.fold("GGG", name="told", cache=False).wait(progress=told.append)
    assert told[-1].status == "COMPLETED"
    stages = [p.stage for p in told if p.stage]
    assert "write" in stages
    assert any(p.total > 1 and 0 < p.done <= p.total for p in told)
    assert any(p.line and "mean confidence" in p.line for p in told)


def test_a_result_before_its_end_is_an_error(pleat: Pleat) -> None:
    job = pleat.fold("A" * 40, name="long", cache=False)
    with pytest.raises(errors.NoResult, match=r"wait\(\)"):
        _ = job.scores
    with pytest.raises(errors.WaitTimeout):
        job.wait(timeout=0)
    job.cancel()
    with pytest.raises(errors.RunStopped) as e:
        job.wait()
    assert e.value.status == "STOPPED"
    assert job.wait(check=False).status == "STOPPED"
    with pytest.raises(errors.RunStopped):
        _ = job.plddt
    with pytest.raises(errors.Conflict):
        job.cancel()


def test_an_interrupt_leaves_the_job(pleat: Pleat) -> None:
    job = pleat.fold("A" * 30, name="interrupted", cache=False)

    def interrupt(p: Progress) -> None:
        if p.stage == "sample":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.wait(progress=interrupt)
    assert job.status == "RUNNING"
    job.cancel()
    job.wait(check=False)


def test_a_job_that_fails_says_why(pleat: Pleat) -> None:
    job = pleat.fold("AAPA", model="example-helix", name="fails")
    with pytest.raises(errors.RunFailed, match="the residue 3 is a proline") as e:
        job.wait()
    assert e.value.kind == "invalid_input"
    assert e.value.id == job.id
    assert job.wait(check=False).status == "FAILED"
    with pytest.raises(errors.RunFailed):
        job.save("nowhere")
    assert not Path("nowhere").exists()


def test_what_an_engine_does_not_give_is_none(pleat: Pleat) -> None:
    job = pleat.fold("AAA", model="example-helix", name="helix").wait()
    assert job.scores.mean_plddt is None
    assert job.scores.ptm is None
    with pytest.raises(errors.NoResult, match="no pLDDT"):
        _ = job.plddt
    with pytest.raises(errors.NoResult, match="pae_json"):
        _ = job.pae
    assert "pLDDT" not in job._repr_html_().split("</table>")[0]


def test_the_files_are_saved(folded: Job, tmp_path: Path) -> None:
    saved = folded.save(tmp_path / "six")
    names = {p.name for p in saved}
    assert {"model.cif", "model.pdb", "pae.json", "plddt.png", "metrics.json", "config.json"} <= names
    assert "results.zip" not in names
    sizes = {a.name: a.bytes for a in folded.results.artifacts}
    assert all(p.stat().st_size == sizes[p.name] for p in saved)
    assert {p.name for p in (tmp_path / "six").iterdir()} == names  # nothing temporary is left
    before = {p: p.stat().st_mtime_ns for p in saved}
    assert folded.save(tmp_path / "six") == saved
    assert {p: p.stat().st_mtime_ns for p in saved} == before
    (tmp_path / "six" / "model.cif").write_text("changed")
    folded.save(tmp_path / "six")
    assert (tmp_path / "six" / "model.cif").stat().st_size == sizes["model.cif"]
    with pytest.raises(errors.NoResult, match=r"no file nothing\.txt; it has"):
        folded.save(tmp_path, only=["nothing.txt"])


def test_one_key_and_body_make_one_job(pleat: Pleat) -> None:
    first = pleat.fold("GGG", name="once", idempotency_key="once")
    assert pleat.fold("GGG", name="once", idempotency_key="once").id == first.id
    with pytest.raises(errors.Conflict):
        pleat.fold("AAA", name="once", idempotency_key="once")
    assert pleat.fold("GGG", name="once").id != first.id


def test_a_job_runs_again(pleat: Pleat, folded: Job) -> None:
    job = pleat.fold(SEQUENCE, name="again", params=Params(seed=1)).wait()
    assert job.refresh().run.cached
    job.rerun(Params(seed=1))
    job.wait()
    assert [r.number for r in job.refresh().runs] == [2, 1]


def test_jobs_are_listed_and_deleted(pleat: Pleat) -> None:
    made = [pleat.fold("GGG", model="null", name=f"listed {i}").id for i in range(3)]
    rows = list(pleat.jobs(name="listed"))
    assert [r.id for r in rows] == made[::-1]
    job = pleat.job(made[0])
    job.wait(check=False)
    job.publish()
    with Pleat(pleat.url) as anonymous:
        assert anonymous.job(job.id).id == job.id
    job.publish(False)
    job.delete()
    with pytest.raises(errors.NotFound, match="Job not found"):
        pleat.job(made[0])


def test_a_job_is_checked_before(pleat: Pleat) -> None:
    good = pleat.validate([SEQUENCE])
    assert good.valid
    assert good.tokens == 6
    bad = pleat.validate(["GG1"], model="mini")
    assert not bad.valid
    assert bad.errors[0].field == "sequences[0].proteinChain.sequence"


def test_the_service_is_described(pleat: Pleat) -> None:
    models = {m.name: m for m in pleat.models()}
    assert models["mini"].kind == "fold"
    assert models["mini"].params[0].name == "seed"
    usage = pleat.usage()
    assert usage.used + usage.remaining == usage.limit
    assert pleat.request("GET", "/v1/jobs", limit=1)["data"]


async def test_the_service_is_described_awaited(apleat: AsyncPleat) -> None:
    assert "mini" in {m.name for m in await apleat.models()}
    assert (await apleat.usage()).limit == 1000
    assert (await apleat.validate([SEQUENCE])).valid
    assert "data" in await apleat.request("GET", "/v1/models")


def test_a_client_is_used_by_several_threads(server: Server, key: str) -> None:
    with Pleat(server.url, key, policy=QUICK) as client:
        done: list[str] = []

        def fold(i: int) -> None:
            done.append(client.fold("GGG", model="null", name=f"thread {i}").wait(check=False).status)

        threads = [threading.Thread(target=fold, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(done) == 4
