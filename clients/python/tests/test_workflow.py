"""Questions, simulations, designs and the library on a real server."""

from pathlib import Path

import pytest

from pleat import (
    AsyncDesign,
    AsyncPleat,
    AsyncQuestion,
    AsyncSimulation,
    Design,
    Job,
    Pleat,
    Question,
    Simulation,
    errors,
)

pytestmark = pytest.mark.anyio
MOTION = {"sim_length_ns": 0.02, "step_size_ns": 0.01, "seed": 1}


def test_a_question_is_answered(pleat: Pleat, folded: Job) -> None:
    question = pleat.ask(folded, "How confident is it?").wait()
    assert "Mean pLDDT" in question.answer
    assert question.result["targetSource"] == "fold_job"
    assert isinstance(pleat.workflow(question.id), Question)
    assert "qna_v1" in question._repr_html_()
    assert question.log is not None


def test_a_simulation_is_a_trajectory(pleat: Pleat, folded: Job, tmp_path: Path) -> None:
    simulation = pleat.simulate(folded, name="moves", **MOTION).wait()
    universe = simulation.trajectory(tmp_path)
    assert len(universe.trajectory) == 2
    assert universe.select_atoms("name CA").n_atoms == 6
    assert sorted(p.name for p in tmp_path.iterdir()) == ["topology.pdb", "trajectory.dcd"]
    assert simulation.metrics["radius_of_gyration"]
    assert isinstance(pleat.workflow(simulation.id), Simulation)
    files = {p.name for p in simulation.save(tmp_path)}
    assert {"trajectory.dcd", "energies.csv", "rmsd.png"} <= files
    with pytest.raises(errors.NoResult, match=r"no file x\.txt; it has"):
        simulation.save(tmp_path, only=["x.txt"])


def test_a_simulation_of_a_sequence(pleat: Pleat) -> None:
    universe = pleat.simulate(sequence="GSGSGS", **MOTION).wait().trajectory()
    assert universe.residues.n_residues == 6
    for path in (universe.filename, universe.trajectory.filename):
        Path(path).unlink()
    Path(universe.filename).parent.rmdir()


def test_a_design_is_a_table_and_is_folded(pleat: Pleat, folded: Job) -> None:
    design = pleat.design(folded, binder={"length": 8}, numDesigns=3, budget=2, seed=7, modelName="designer").wait()
    ranks = [d["final_rank"] for d in design.designs]
    assert len(ranks) == 2
    assert ranks == sorted(ranks)
    table = design.to_pandas()
    assert list(table.index) == [d["id"] for d in design.designs]
    assert "pass_filters" in table
    (job,) = design.fold(model="designer-complex", top=1)
    assert job.wait().scores.ptm == 0.5
    assert isinstance(pleat.workflow(design.id), Design)
    assert design.refresh().folds[0].job_id == job.id
    with pytest.raises(errors.NoResult, match="no trajectory"):
        Simulation(pleat._driver, pleat._policy, design.id, "x").trajectory()


def test_a_workflow_that_fails_or_is_wrong(pleat: Pleat) -> None:
    with pytest.raises(errors.InvalidRequest, match="sim_lenght_ns"):
        pleat.simulate(sequence="GGG", sim_lenght_ns=1)
    with pytest.raises(ValueError, match="it must be a job"):
        pleat.ask("url:http://x", "?")
    with pytest.raises(ValueError, match="from sequence="):
        pleat.simulate("pdb:1l2y")
    with pytest.raises(ValueError, match="a design is for"):
        pleat.design("uniprot:P1")
    with pytest.raises(errors.InvalidRequest):
        pleat.ask("pdb:1l2y", "?")  # this server may not fetch entries


async def test_workflows_awaited(apleat: AsyncPleat, folded: Job, tmp_path: Path) -> None:
    question = await (await apleat.ask(folded.id, "How confident is it?")).wait(progress=False)
    assert "pLDDT" in await question.answer
    assert (await question.result)["question"] == "How confident is it?"
    assert isinstance(await question.log, str)
    assert {p.name for p in await question.save(tmp_path)} == set()
    simulation = await (await apleat.simulate(sequence="GSGSGS", **MOTION)).wait(progress=False)
    assert len((await simulation.trajectory(tmp_path)).trajectory) == 2
    assert await simulation.metrics
    target = {"sequence": "MKTGS"}
    design = await apleat.design(target, binder={"length": 8}, numDesigns=2, budget=1, modelName="designer")
    await design.wait(progress=False)
    assert len(await design.designs) == len(await design.to_pandas()) == 1
    (job,) = await design.fold(model="designer-complex", top=1)
    await job.wait(progress=False)
    for made, kind in [(question, AsyncQuestion), (simulation, AsyncSimulation), (design, AsyncDesign)]:
        assert isinstance(await apleat.workflow(made.id), kind)


def test_the_library(pleat: Pleat, folded: Job, tmp_path: Path) -> None:
    folded.save(tmp_path / "from", only=["model.pdb", "model.cif"])
    sent = tmp_path / "from" / "model.pdb"
    folder = pleat.library.create_folder("structures")
    made = pleat.library.upload(sent, tmp_path / "from" / "model.cif", name="six", folder=folder)
    assert [f.file_name for f in made.files] == ["model.pdb", "model.cif"]
    item = pleat.library.get(made.id)
    assert (item.name, item.parent_id) == ("six", folder)
    assert folder in [row.id for row in pleat.library.list()]
    got = pleat.library.download(made.id, "model.pdb", tmp_path / "to")
    assert got.read_bytes() == sent.read_bytes()
    assert "pLDDT" in pleat.ask(f"library:{made.id}", "How confident is it?").wait().answer
    pleat.library.delete(folder)
    with pytest.raises(errors.NotFound):
        pleat.library.get(made.id)


def test_an_upload_that_is_refused_leaves_no_item(pleat: Pleat, tmp_path: Path) -> None:
    before = len(pleat.library.list())
    (tmp_path / "x.exe").write_bytes(b"MZ")
    with pytest.raises(errors.APIError):
        pleat.library.upload(tmp_path / "x.exe")
    assert len(pleat.library.list()) == before
    with pytest.raises(ValueError, match="at least one file"):
        pleat.library.upload()


async def test_the_library_awaited(apleat: AsyncPleat, tmp_path: Path) -> None:
    (tmp_path / "a.pdb").write_text(
        "ATOM      1  CA  GLY A   1       0.000   0.000   0.000  1.00  0.00           C\nEND\n"
    )
    folder = await apleat.library.create_folder("awaited")
    made = await apleat.library.upload(tmp_path / "a.pdb", folder=folder)
    assert (await apleat.library.get(made.id)).name == "a.pdb"
    assert folder in [row.id for row in await apleat.library.list()]
    got = await apleat.library.download(made.id, "a.pdb", tmp_path / "to")
    assert got.read_bytes() == (tmp_path / "a.pdb").read_bytes()
    await apleat.library.delete(folder)
