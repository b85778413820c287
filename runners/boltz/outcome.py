"""Reads the files that Boltz wrote, checks that they are complete and of the expected shape, and builds the result."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gemmi
import numpy as np

from chemistry import residue_name
from document import Document, Entity
from foldrun import Failure, Job, Result

NONPOLYMER, PROTEIN = 3, 0
# The model gives the mean of 64 bins up to 32 Å; the middle of the last bin is the highest value.
PAE_MAX = 31.75
AFFINITY = ("affinity_pred_value", "affinity_probability_binary")


class Layout:
    """The chains and residues of a job in the order of Boltz's files."""

    def __init__(self, structure: Path, record: Any, per_atom: bool) -> None:
        """per_atom: a modified residue has a token for each atom (Boltz-1), not one (Boltz-2)."""
        data = np.load(structure)
        chains, residues = data["chains"], data["residues"]
        self.chain_names = [str(c["name"]) for c in chains]
        self.kinds = [int(c["mol_type"]) for c in chains]
        self.atoms = int(len(data["atoms"]))
        if [c.chain_name for c in record.chains] != self.chain_names:
            raise Failure(
                "output_invalid", "Boltz put the chains of its record and its structure into different orders"
            )
        self.residues: list[list[str]] = []  # names by chain
        self.counts: list[int] = []  # tokens by residue
        for c in chains:
            rows = residues[c["res_idx"] : c["res_idx"] + c["res_num"]]
            self.residues.append([str(r["name"]) for r in rows])
            ligand = c["mol_type"] == NONPOLYMER
            self.counts += [int(r["atom_num"]) if ligand or (per_atom and not r["is_standard"]) else 1 for r in rows]
        self.tokens = sum(self.counts)


@dataclass
class Scores:
    """Scores of the samples, best first."""

    samples: list[dict[str, Any]]
    ptm: float
    iptm: float | None
    pairs: list[dict[str, Any]] = field(default_factory=list)
    affinity: dict[str, float] | None = None


def number(value: Any, name: str) -> float:
    """A finite number of Boltz's output. Raises output_invalid for anything else."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Failure("output_invalid", f"Boltz gave no number as {name}")
    return float(value)


def read(path: Path) -> dict[str, Any]:
    """A JSON file that Boltz has written. Raises output_invalid if it is missing or incomplete."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        raise Failure("output_invalid", f"Boltz did not write {path.name} completely") from None


def scores(folder: Path, name: str, chains: list[str]) -> Scores:
    """The scores of the confidence files."""
    samples = []
    for rank in range(len(list(folder.glob(f"confidence_{name}_model_*.json")))):
        samples.append(read(folder / f"confidence_{name}_model_{rank}.json"))
    if not samples:
        raise Failure("output_invalid", "Boltz wrote no confidence file")
    best = samples[0]
    out = Scores(samples, number(best.get("ptm"), "ptm"), None)
    if len(chains) < 2:
        return out
    out.iptm = number(best.get("iptm"), "iptm")
    pairs = best.get("pair_chains_iptm") or {}
    for i, a in enumerate(chains):
        for j in range(i + 1, len(chains)):
            # The score depends on which chain is aligned; like ipTM it is the better of the two.
            both = [number(pairs.get(str(x), {}).get(str(y)), "pair_chains_iptm") for x, y in ((i, j), (j, i))]
            out.pairs.append({"chain_a": a, "chain_b": chains[j], "iptm": max(both)})
    return out


def affinity(folder: Path, name: str) -> dict[str, float]:
    """The affinity of the ligand: log10 of the IC50 in µM, and the probability that it binds, 0 to 1, of the ensemble
    and of each member."""
    data = read(folder / f"affinity_{name}.json")
    return {k: number(data.get(k), k) for k in AFFINITY} | {k: number(v, k) for k, v in data.items() if k[-1] in "12"}


def result(job: Job, folder: Path, name: str, layout: Layout, doc: Document, found: Scores, samples: int) -> Result:
    """Checks the files of every sample and adds them to the result."""
    if len(found.samples) != samples:
        raise Failure("output_invalid", f"Boltz wrote {len(found.samples)} samples; {samples} were asked for")
    for rank in range(samples):
        cif = folder / f"{name}_model_{rank}.cif"
        check_structure(cif, layout, doc)
        job.file("structure", cif, rank=rank)
        plddt = array(folder / f"plddt_{name}_model_{rank}.npz", "plddt", (layout.tokens,))
        job.array("plddt", plddt * 100, rank=rank)
        pae = array(folder / f"pae_{name}_model_{rank}.npz", "pae", (layout.tokens, layout.tokens))
        job.array("pae", pae, rank=rank)
    job.tokens(layout.counts)
    out = Result(chain_map=doc.chain_map(), notes=list(doc.notes))
    out.scores = {"ptm": found.ptm, "pae_max": PAE_MAX}
    if found.iptm is not None:
        out.scores |= {"iptm": found.iptm, "pairs": found.pairs}
    if found.affinity:
        out.scores["affinity"] = {k: found.affinity[k] for k in AFFINITY}
    out.metrics = metrics(layout, doc, found)
    return out


def metrics(layout: Layout, doc: Document, found: Scores) -> dict[str, Any]:
    """The package's other scores, pLDDT from 0 to 100, without those that are meaningless for the job."""
    several, ligand = len(layout.chain_names) > 1, NONPOLYMER in layout.kinds
    out = []
    for s in found.samples:
        row = {
            "confidence_score": s["confidence_score"],
            "complex_plddt": 100 * s["complex_plddt"],
            "complex_pde": s["complex_pde"],
            "ptm": s["ptm"],
        }
        if several:
            row |= {"iptm": s["iptm"], "complex_iplddt": 100 * s["complex_iplddt"], "complex_ipde": s["complex_ipde"]}
        if ligand and PROTEIN in layout.kinds:
            row["ligand_iptm"] = s["ligand_iptm"]
        if layout.kinds.count(PROTEIN) > 1:
            row["protein_iptm"] = s["protein_iptm"]
        out.append(row)
    job = {boltz: name for name, boltz in doc.names.items()}
    ptms = found.samples[0]["chains_ptm"]
    more: dict[str, Any] = {"tokens": layout.tokens, "samples": out}
    more["chains_ptm"] = {job[c]: ptms[str(i)] for i, c in enumerate(layout.chain_names)}
    if found.affinity:
        more["affinity"] = found.affinity
    return more


def array(path: Path, key: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a NumPy file, as float32. Raises output_invalid if it has another shape or a value is not finite."""
    try:
        with np.load(path) as data:
            values = data[key].astype(np.float32)
    except (OSError, ValueError, KeyError):
        raise Failure("output_invalid", f"Boltz did not write {path.name} completely") from None
    if values.shape != shape or not np.isfinite(values).all():
        raise Failure(
            "output_invalid", f"{path.name} has the shape {values.shape}; {shape} finite numbers were expected"
        )
    return values


def check_structure(path: Path, layout: Layout, doc: Document) -> None:
    """Checks that the structure file has every chain, residue and atom of the job, and its modifications."""
    try:
        model = gemmi.read_structure(str(path))[0]
    except (OSError, RuntimeError, ValueError, IndexError):
        raise Failure("output_invalid", f"Boltz did not write {path.name} completely") from None
    residues: dict[str, list[str]] = {}
    for chain in model:
        residues.setdefault(chain.name, []).extend(r.name for r in chain)
    if list(residues) != layout.chain_names or list(residues.values()) != layout.residues:
        raise Failure("output_invalid", "the structure that Boltz wrote has other chains or residues than the job")
    if model.count_atom_sites() != layout.atoms:
        raise Failure(
            "output_invalid",
            f"the structure that Boltz wrote has {model.count_atom_sites()} atoms; {layout.atoms} were expected",
        )
    for e in doc.entities:
        for chain in e.chains:
            if e.kind != "ligand" and residues[doc.names[chain]] != expected(e):
                raise Failure(
                    "output_invalid", f"chain {chain} of the structure that Boltz wrote has other residues than the job"
                )


def expected(e: Entity) -> list[str]:
    """The names of a polymer's residues, with its modifications."""
    names = [residue_name(e.kind, c) for c in e.sequence]
    for position, code in e.modifications:
        names[position - 1] = "MET" if code == "MSE" else code  # the package replaces MSE by methionine
    return names
