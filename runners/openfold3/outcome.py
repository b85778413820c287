"""Checks the model's output for completeness, finite values and the job's shape, and builds the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import biotite.structure as struc
import numpy as np
from openfold3.core.data.resources.residues import DNA_RESTYPE_1TO3, PROTEIN_RESTYPE_1TO3, RNA_RESTYPE_1TO3
from openfold3.core.runners.writer import OF3OutputWriter

from document import Document
from foldrun import Failure, Job, Result
from foldrun.document import modifications

# The model gives the mean of 64 bins up to 32 Å; the middle of the last bin is the highest value.
PAE_MAX = 31.75
# Names of residues by letter, and the name of any other letter.
STANDARD = {
    "protein": (PROTEIN_RESTYPE_1TO3, "UNK"),
    "rna": (RNA_RESTYPE_1TO3, "N"),
    "dna": (DNA_RESTYPE_1TO3, "DN"),
}
SCORES = ("sample_ranking_score", "ptm", "iptm", "disorder", "has_clash", "gpde")


class Layout:
    """The atoms of a job in the package's order, and their residues, tokens and chains."""

    def __init__(self, atoms: Any) -> None:
        self.atoms = atoms
        starts = struc.get_residue_starts(atoms, add_exclusive_stop=True)
        self.token_of = np.unique(atoms.token_id, return_inverse=True)[1]  # by atom
        self.count = int(self.token_of[-1]) + 1
        self.tokens = [len(set(self.token_of[a:b].tolist())) for a, b in zip(starts, starts[1:])]  # by residue
        self.chains: dict[str, list[str]] = {}  # name → names of its residues
        for a in starts[:-1]:
            self.chains.setdefault(str(atoms.chain_id[a]), []).append(str(atoms.res_name[a]))
        self.numbered = [
            str(c) for c in np.unique(atoms.chain_id)
        ]  # the package numbers chains in the order of their names


@dataclass
class Sample:
    """One structure and its scores, on the CPU."""

    seed: int
    positions: np.ndarray  # atoms × 3, Å
    plddt: np.ndarray  # by atom, 0 to 100
    pae: np.ndarray  # tokens × tokens, Å
    scores: dict[str, float]
    chain_ptm: dict[str, float]  # by chain
    pairs: dict[tuple[str, str], float]  # two chains → their ipTM


def check(layout: Layout, sequences: Sequence[Mapping[str, Any]], doc: Document) -> None:
    """Checks that the package has built every chain and residue of the job, with its modifications."""
    expected = {}
    for s in sequences:
        for c in s["chains"]:
            expected[doc.names[c]] = residues(s)
    if list(layout.chains) != list(expected):
        raise Failure("output_invalid", "OpenFold3 made other chains than the job has")
    for job, name in doc.names.items():
        if expected[name] is None and len(layout.chains[name]) == 1:  # a SMILES, which the package names
            continue
        if layout.chains[name] != expected[name]:
            raise Failure("output_invalid", f"OpenFold3 made other residues of chain {job} than the job has")


def residues(s: Mapping[str, Any]) -> list[str] | None:
    """The names of a sequence's residues with its modifications; None for a SMILES, which has no name."""
    if s["kind"] == "ligand":
        return [s["sequence"]] if s.get("is_ccd") else None
    letters, unknown = STANDARD[s["kind"]]
    names = [letters.get(c, unknown) for c in s["sequence"]]
    for position, code in modifications(s):
        names[position - 1] = code
    return names


def samples(positions: Any, scores: Mapping[str, Any], seed: int, layout: Layout) -> list[Sample]:
    """The samples of one seed. The first dimension of every tensor is the batch, which is 1, the second the samples."""
    names = layout.numbered

    def array(tensor: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
        values = tensor[0].float().cpu().numpy()
        if values.shape[1:] != shape or not np.isfinite(values).all():
            raise Failure(
                "output_invalid",
                f"the model gave {name} of the shape {values.shape[1:]}; {shape} finite numbers were expected",
            )
        return values

    atoms, tokens = len(layout.atoms), layout.count
    positions = array(positions, (atoms, 3), "coordinates")
    plddt, pae = array(scores["plddt"], (atoms,), "pLDDT"), array(scores["pae"], (tokens, tokens), "PAE")
    single = {name: array(scores[name], (), name) for name in SCORES}
    chain_ptm = {names[int(k) - 1]: array(v, (), "chain_ptm") for k, v in scores["chain_ptm"].items()}
    pairs = {}
    for key, v in scores["chain_pair_iptm"].items():
        a, b = (names[int(n) - 1] for n in key.strip("()").split(","))
        pairs[a, b] = array(v, (), "chain_pair_iptm")

    def at(values: Mapping[Any, Any], k: int) -> dict[Any, float]:
        return {name: float(v[k]) for name, v in values.items()}

    return [
        Sample(seed, positions[k], plddt[k], pae[k], at(single, k), at(chain_ptm, k), at(pairs, k))
        for k in range(len(positions))
    ]


def result(job: Job, layout: Layout, doc: Document, drawn: Sequence[Sample]) -> Result:
    """Writes the samples in the package's ranking, the best first, and builds the result."""
    ranked = sorted(drawn, key=lambda s: -s.scores["sample_ranking_score"])
    sizes = np.bincount(layout.token_of)
    for rank, s in enumerate(ranked):
        cif = job.path(f"openfold3/model_{rank}.cif")
        OF3OutputWriter.write_structure_prediction(layout.atoms, s.positions, s.plddt, cif)
        job.file("structure", cif, rank=rank)
        job.array("plddt", np.bincount(layout.token_of, weights=s.plddt) / sizes, rank=rank)
        job.array("pae", s.pae, rank=rank)
    job.tokens(layout.tokens)
    best, several = ranked[0], len(layout.chains) > 1
    out = Result(chain_map=doc.chain_map(), notes=list(doc.notes))
    out.scores = {"ptm": best.scores["ptm"], "pae_max": PAE_MAX}
    if several:
        out.scores["iptm"] = best.scores["iptm"]
        out.scores["pairs"] = [{"chain_a": a, "chain_b": b, "iptm": v} for (a, b), v in best.pairs.items()]
    out.metrics = metrics(layout, doc, ranked, several)
    return out


def metrics(layout: Layout, doc: Document, ranked: Sequence[Sample], several: bool) -> dict[str, Any]:
    """The package's other scores, without those that are meaningless for the job. several: it has more than one
    chain."""
    kept = [name for name in SCORES if several or name not in ("iptm", "has_clash")]
    rows = [{"seed": s.seed} | {name: s.scores[name] for name in kept} for s in ranked]
    job = {ours: name for name, ours in doc.names.items()}
    return {"tokens": layout.count, "samples": rows, "chains_ptm": {job[c]: v for c, v in ranked[0].chain_ptm.items()}}
