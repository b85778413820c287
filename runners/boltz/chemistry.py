"""What of a job's chemistry Boltz would fail on later, or without a word: checked before it begins, with a sentence for the owner."""

import pickle
from pathlib import Path

from rdkit import Chem, rdBase

from boltz.data import const
from document import Document, invalid


class Dictionary:
    """The chemical components of a cache: a folder of pickles (Boltz-2), or one pickle of all (Boltz-1)."""

    def __init__(self, cache: Path, folder: bool):
        self.mols = cache / "mols"
        self.ccd = None if folder else pickle.loads((cache / "ccd.pkl").read_bytes())

    def has(self, code: str) -> bool:
        return code in self.ccd if self.ccd is not None else (self.mols / f"{code}.pkl").is_file()

    def get(self, code: str) -> Chem.Mol:
        if self.ccd is not None:
            return self.ccd[code]
        # The cache is the operator's own; the code was checked when the document was built.
        return pickle.loads((self.mols / f"{code}.pkl").read_bytes())


def check(doc: Document, dictionary: Dictionary):
    """Refuses components that are not in the dictionary, SMILES that are no molecule, and bonds to atoms that are not there."""
    for e in doc.entities:
        for position, code in e.modifications:
            if not dictionary.has(code):
                raise invalid(f"sequences[{e.first}] has the modification {code} at residue {position}, which is not in the chemical dictionary")
        if e.kind == "ligand" and e.ccd and not dictionary.has(e.sequence):
            raise invalid(f"sequences[{e.first}] is the chemical component {e.sequence}, which is not in the chemical dictionary")
        if e.kind == "ligand" and not e.ccd:
            molecule(e.sequence, f"sequences[{e.first}]")
    bonds = [c["bond"] for c in doc.content.get("constraints", []) if "bond" in c]
    where = {name: (e, job) for e in doc.entities for job in e.chains for name in [doc.names[job]]}
    for i, bond in enumerate(bonds):
        for end in ("atom1", "atom2"):
            chain, residue, atom = bond[end]
            entity, job = where[chain]
            names = atoms(entity, residue, dictionary)
            if atom not in names:
                known = ", ".join(names[:40]) + (" …" if len(names) > 40 else "")
                raise invalid(f"constraints.bond[{i}].{end}.atom_name is {atom!r}; residue {residue} of chain {job} has the atoms {known}")


def molecule(smiles: str, field: str) -> Chem.Mol:
    """The molecule of a SMILES, or a refusal that says what is wrong with it."""
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
        return whole
    finally:
        del silent


def atoms(entity, residue: int, dictionary: Dictionary) -> list:
    """The names of a residue's heavy atoms, as Boltz has them."""
    if entity.kind == "ligand" and not entity.ccd:
        mol = Chem.AddHs(Chem.MolFromSmiles(entity.sequence))
        ranks = Chem.CanonicalRankAtoms(mol)
        return [a.GetSymbol().upper() + str(r + 1) for a, r in zip(mol.GetAtoms(), ranks) if a.GetAtomicNum() > 1]
    if entity.kind == "ligand":
        code, leaving = entity.sequence, False
    else:
        modified = dict(entity.modifications)
        letters = {"protein": const.prot_letter_to_token, "rna": const.rna_letter_to_token, "dna": const.dna_letter_to_token}[entity.kind]
        code, leaving = modified.get(residue) or letters.get(entity.sequence[residue - 1], const.unk_token[entity.kind.upper()]), True
    if leaving and code in const.ref_atoms:
        return list(const.ref_atoms[code])
    mol = dictionary.get(code)
    return [a.GetProp("name") for a in mol.GetAtoms() if a.GetAtomicNum() > 1 and not (leaving and a.HasProp("leaving_atom") and int(a.GetProp("leaving_atom")))]
