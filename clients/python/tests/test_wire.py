"""The models and inputs agree with /openapi.json of the server, in both directions."""

import dataclasses
import io
import pathlib
from typing import Any

import pytest

import pleat.models
from pleat import batch, errors, inputs
from pleat._wire import WIRE, decode, wire_names
from pleat.models import BatchInfo, Scores

# The schema of each model that has another name.
SCHEMAS = {
    "BatchInfo": "Batch",
    "BatchPage": "BatchRows",
    "ResultJob": "Job",
    "ResultParameters": "Parameters",
    "Scores": "ScoredChains",
    "WorkflowView": "Workflow",
}

# The fields that the models leave out, and why.
LEFT_OUT = {
    "JobView": {"links"},  # the client knows the paths
    "Model": {"memory", "speed", "room"},  # how the service plans; validate() says what a job costs
    "Prediction": {"execution_time_in_minutes"},  # the same as executionTimeInMinutes
    "ResultSequence": {"sequenceType"},  # the same as type
    "Workflow": {"graph"},  # of other clients' drafts; request() reads it
}

MODELS = [m for m in vars(pleat.models).values() if dataclasses.is_dataclass(m) and m is not pleat.models.WorkflowFile]
"""All but what stands inside `result_raw_json`, which has no schema; docs/interface.md describes it."""


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_a_model_has_the_fields_of_its_schema(model: Any, openapi: dict[str, Any]) -> None:
    name = SCHEMAS.get(model.__name__, model.__name__)
    schema = openapi["components"]["schemas"][name]
    properties = schema["properties"]
    found: set[str] = set()
    for f in dataclasses.fields(model):
        names = [n for n in wire_names(f.name) if n in properties]
        assert names, f"{model.__name__}.{f.name} is none of {sorted(properties)}"
        found.add(names[0])
        check_null(model, f, properties[names[0]], names[0] in schema.get("required", ()))
    assert found | LEFT_OUT.get(name, set()) == set(properties)
    assert not found & LEFT_OUT.get(name, set())


def check_null(model: Any, f: Any, schema: dict[str, Any], required: bool) -> None:
    """A field may be None exactly if the service may leave it out or answer null."""
    if f.type == "Any":
        return
    kinds = schema.get("type")
    null = isinstance(kinds, list) and "null" in kinds or {"type": "null"} in schema.get("anyOf", ())
    assert ("None" in f.type) == (null or not required), f"{model.__name__}.{f.name} is {f.type}"


def test_every_spelling_is_used() -> None:
    fields = {f.name for m in MODELS for f in dataclasses.fields(m)}
    assert set(WIRE) <= fields


def test_what_is_left_out_exists(openapi: dict[str, Any]) -> None:
    for name, left_out in LEFT_OUT.items():
        assert left_out <= set(openapi["components"]["schemas"][name]["properties"])


RESIDUE = inputs.Residue("A", 1, "CA")
POLYMER = {
    "sequence": "AG",
    "chain": "A",
    "label": "x",
    "copies": 2,
    "cyclic": True,
    "modifications": [inputs.Modification(1, "SEP")],
}
PARAMS = inputs.Params(
    **{f.name: "1" if f.name in ("msa_algorithm", "alignment") else 1 for f in dataclasses.fields(inputs.Params)}
)
MSA = inputs.LibraryRef("i", "f")
EVERY_INPUT: list[tuple[dict[str, Any], str, set[str]]] = [
    (inputs.Protein(**POLYMER, msa=MSA).to_wire()["proteinChain"], "Polymer", {"property_type"}),
    (inputs.RNA(**POLYMER, msa=MSA).to_wire()["rnaSequence"], "Polymer", {"property_type"}),
    (inputs.DNA(**POLYMER).to_wire()["dnaSequence"], "Polymer", {"property_type", "msa"}),
    (
        inputs.Ligand(ccd="ATP", chain="B", label="x", copies=1, affinity=True).to_wire()["ligandSequence"],
        "LigandSequence",
        set(),
    ),
    (MSA.to_wire(), "FileRef", set()),
    (inputs.Modification(1, "SEP").to_wire(), "Modification", set()),
    (inputs.Pocket("B", [RESIDUE]).to_wire(), "Pocket", set()),
    (inputs.Residue("A", 1).to_wire(), "ResidueRef", set()),
    (RESIDUE.to_wire(), "AtomRef", set()),
    (inputs.Bond(RESIDUE, RESIDUE).to_wire(), "Bond", set()),
    (inputs.Contact(RESIDUE, RESIDUE, 5.0).to_wire(), "Contact", set()),
    (
        inputs.Template(
            library_item="i",
            job="j",
            pdb="p",
            file="f",
            template_chain="A",
            chain="A",
            force=True,
            max_distance=1.0,
        ).to_wire(),
        "Template",
        set(),
    ),
    (inputs.Component(code="LIG", smiles="C", library_item="i", file="f").to_wire(), "Component", set()),
    (
        inputs.constraints(
            inputs.Constraints(
                pockets=[inputs.Pocket("B", [RESIDUE])],
                bonds=[inputs.Bond(RESIDUE, RESIDUE)],
                contacts=[inputs.Contact(RESIDUE, RESIDUE)],
                components=[inputs.Component(code="LIG")],
                webhooks={"custom_http": {"enabled": True}},
            ),
            [inputs.Template(pdb="1abc")],
        ),
        "Constraints",
        set(),
    ),
    (PARAMS.to_wire("mini"), "Params", set()),
    (
        inputs.JobRequest(
            name="x", model="mini", molecules=[{}], params=PARAMS, constraints={"bond": []}, public=True
        ).to_wire(),
        "CreateJob",
        {"chatId", "projectId"},  # of other clients; the client adds its project
    ),
    (
        batch.Entry(
            id="x", molecules="G", params=PARAMS, constraints=inputs.Constraints(bonds=[inputs.Bond(RESIDUE, RESIDUE)])
        ).to_wire("mini"),
        "BatchJob",
        {"name"},  # the id names the job
    ),
]


@pytest.mark.parametrize(("wire", "schema", "left_out"), EVERY_INPUT, ids=lambda v: v if isinstance(v, str) else "")
def test_an_input_has_the_fields_of_its_schema(
    wire: dict[str, Any], schema: str, left_out: set[str], openapi: dict[str, Any]
) -> None:
    properties = set(openapi["components"]["schemas"][schema]["properties"])
    assert set(wire) | left_out == properties
    assert not set(wire) & left_out


PLANS: list[Any] = [
    {"a": "G"},
    batch.Matrix(
        binders=[batch.Entry(molecules="G", id="a")],
        targets=[batch.Entry(molecules="A")],
        upper_triangle=True,
        with_itself=True,
    ),
    batch.Ligands(complex="G", ligands={"a": inputs.Ligand(ccd="ATP", affinity=True)}),
    batch.Variants(complex="G", mutations=["G1A"], scan=(1, 1), to="A", chain="A"),
    batch.Seeds(complex="G", seeds=[1], count=1),
]


def test_the_plans_of_batches_have_the_fields_of_the_schema(openapi: dict[str, Any]) -> None:
    schemas = openapi["components"]["schemas"]
    of_kinds = set().union(*(batch.rows_to_wire(p, "mini") for p in PLANS))
    common = {"name", "params", "constraints", "isPublic", "projectId"}  # the client adds its project
    left_out = {"content", "files", "format", "webhooks"}  # files of other programs; request() sends them
    assert of_kinds | common | left_out == set(schemas["CreateBatch"]["properties"])
    (ligand,) = batch.rows_to_wire(PLANS[2], "mini")["ligands"]
    assert set(ligand) == set(schemas["BatchLigand"]["properties"])
    scan = batch.rows_to_wire(PLANS[3], "mini")["scan"]
    assert set(scan) == set(schemas["MutationScan"]["properties"])
    kinds = {batch.rows_to_wire(p, "mini")["kind"] for p in PLANS}
    assert kinds == set(schemas["BatchKind"]["enum"])


SCORES = {
    "chains": ["A"],
    "meanPLLDT": 66,
    "ptm_score": None,
    "iptm_score": None,
    "max_pae_score": None,
    "pairs": [],
    "confidence": "none",
}


def test_a_newer_service_is_read() -> None:
    scores = decode(Scores, {**SCORES, "novelty": {"a": [1]}})
    assert scores.mean_plddt == 66.0
    assert isinstance(scores.mean_plddt, float)
    assert scores.ptm is None
    assert scores.sequence_id is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"meanPLLDT": "66"}, "the answer has str at meanPLLDT; it must be float"),
        ({"meanPLLDT": True}, "the answer has bool at meanPLLDT; it must be float"),
        ({"chains": [1]}, r"the answer has int at chains\[0\]; it must be str"),
        ({"chains": "A"}, "the answer has str at chains"),
        ({"pairs": [{}]}, r"the answer lacks pairs\[0\].chain_a"),
    ],
)
def test_an_answer_of_another_form_is_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(errors.InvalidAnswer, match=sentence):
        decode(Scores, {**SCORES, **change})


def test_an_answer_that_is_no_object_is_refused() -> None:
    with pytest.raises(errors.InvalidAnswer, match="no object at its top"):
        decode(BatchInfo, [])


def test_a_ligand_is_smiles_or_ccd() -> None:
    for given in ({}, {"smiles": "C", "ccd": "ATP"}):
        with pytest.raises(ValueError, match="either smiles or ccd"):
            inputs.Ligand(**given)


def test_a_text_is_no_batch() -> None:
    with pytest.raises(TypeError, match="rows is one text"):
        batch.rows_to_wire("GGG", "mini")


@pytest.mark.parametrize("given", [b"GGG", bytearray(b"GGG"), memoryview(b"GGG"), inputs.Protein("GGG"), ["GGG"]])
def test_a_molecule_is_a_text_in_any_form(given: Any) -> None:
    assert inputs.molecules(given) == [{"proteinChain": {"sequence": "GGG"}}]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"A": "GGG"}, "a molecule is {'A': 'GGG'}; it must be"),
        (io.StringIO(">a\nGGG\nAAA\n"), "read the file first"),
        (pathlib.Path("a.fasta"), "read the file first"),
        ([5], "a molecule is 5; it must be"),
    ],
)
def test_what_is_no_molecule_is_named(given: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        inputs.molecules(given)


def test_a_name_is_a_text() -> None:
    request = inputs.JobRequest(name=pathlib.Path("x"), model="mini", molecules=[])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="it must be a text"):
        request.to_wire()
