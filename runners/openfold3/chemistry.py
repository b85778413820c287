"""What of a job's chemistry OpenFold3 would fail on without saying where, or build wrongly: checked before it begins."""

import biotite.structure.info as info
from rdkit import Chem, rdBase

from document import invalid

# What a component must have to take a residue's place in a chain.
BACKBONE = {"protein": {"N", "CA", "C", "O"}, "rna": {"P", "O5'", "C5'", "C3'", "O3'"}, "dna": {"P", "O5'", "C5'", "C3'", "O3'"}}


def check(sequences: list):
    """Refuses components that are not in the dictionary of the package, those that cannot stand in a chain, and SMILES that are no
    molecule."""
    for i, s in enumerate(sequences):
        for m in s.get("modifications") or []:
            where = f"sequences[{i}] has the modification {m['ccd']} at residue {m['res_idx']}"
            atoms = component(m["ccd"])
            if not atoms:
                raise invalid(f"{where}, which is not in the chemical dictionary")
            if missing := BACKBONE[s["kind"]] - atoms:
                raise invalid(f"{where}, which lacks the atoms {', '.join(sorted(missing))} of a {s['kind']} chain")
        if s["kind"] == "ligand" and s.get("is_ccd") and not component(s["sequence"]):
            raise invalid(f"sequences[{i}] is the chemical component {s['sequence']}, which is not in the chemical dictionary")
        if s["kind"] == "ligand" and not s.get("is_ccd"):
            molecule(s["sequence"], f"sequences[{i}]")


def component(code: str) -> set:
    """The names of a component's heavy atoms; empty where it is not known."""
    try:
        found = info.residue(code)
    except KeyError:
        return set()
    return set(found.atom_name[found.element != "H"].tolist())


def molecule(smiles: str, field: str):
    """Refuses a SMILES that is no molecule, with a sentence that says what is wrong with it."""
    silent = rdBase.BlockLogs()
    try:
        mol = Chem.MolFromSmiles(smiles, sanitize=False)
        if mol is None:
            raise invalid(f"{field} is not a SMILES that can be read")
        problems = [p.Message() for p in Chem.DetectChemistryProblems(mol)]
        if problems:
            raise invalid(f"{field} is a SMILES of no possible molecule: {problems[0]}")
        whole = Chem.MolFromSmiles(smiles)
        if whole is None or whole.GetNumHeavyAtoms() == 0:
            raise invalid(f"{field} is a SMILES without a heavy atom")
        if any(a.GetAtomicNum() == 0 for a in whole.GetAtoms()):
            raise invalid(f"{field} is a SMILES with an atom of no element")
    finally:
        del silent
