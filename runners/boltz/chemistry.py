"""Chemistry that Boltz would fail on later, or accept silently: checked before the job begins."""

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boltz.data import const
from rdkit import Chem

from document import Document, Entity
from foldrun import invalid
from foldrun.chemistry import molecule
from foldrun.document import check_dictionary


class Dictionary:
    """The chemical components of a cache: a folder of pickles (Boltz-2), or one pickle of all (Boltz-1)."""

    def __init__(self, cache: Path, folder: bool) -> None:
        self.mols = cache / "mols"
        self.ccd = None if folder else pickle.loads((cache / "ccd.pkl").read_bytes())

    def has(self, code: str) -> bool:
        """Whether the dictionary has a CCD code."""
        return code in self.ccd if self.ccd is not None else (self.mols / f"{code}.pkl").is_file()

    def get(self, code: str) -> Any:
        """The RDKit molecule of a component."""
        if self.ccd is not None:
            return self.ccd[code]
        # The cache is the operator's own, and the code was checked when the document was built.
        return pickle.loads((self.mols / f"{code}.pkl").read_bytes())


def check(sequences: Sequence[Mapping[str, Any]], doc: Document, dictionary: Dictionary) -> None:
    """Refuses components that are not in the dictionary, impossible SMILES, and bonds to atoms that do not exist."""
    check_dictionary(sequences, dictionary.has)
    for i, s in enumerate(sequences):
        if s["kind"] == "ligand" and not s.get("is_ccd"):
            molecule(s["sequence"], f"sequences[{i}]")
    entity_of = {doc.names[job]: (e, job) for e in doc.entities for job in e.chains}
    for i, bond in enumerate(c["bond"] for c in doc.content.get("constraints", []) if "bond" in c):
        for end in ("atom1", "atom2"):
            chain, residue, atom = bond[end]
            entity, job = entity_of[chain]
            names = atoms(entity, residue, dictionary)
            if atom not in names:
                known = ", ".join(names[:40]) + (" …" if len(names) > 40 else "")
                raise invalid(
                    f"constraints.bond[{i}].{end}.atom_name is {atom!r}; "
                    f"residue {residue} of chain {job} has the atoms {known}"
                )


def residue_name(kind: str, letter: str) -> str:
    """Boltz's name of a polymer's unmodified residue."""
    letters = {
        "protein": const.prot_letter_to_token,
        "rna": const.rna_letter_to_token,
        "dna": const.dna_letter_to_token,
    }
    return letters[kind].get(letter, const.unk_token[kind.upper()])


def atoms(entity: Entity, residue: int, dictionary: Dictionary) -> list[str]:
    """The names of a residue's heavy atoms in Boltz's files. residue counts from 1."""
    if entity.kind == "ligand" and not entity.ccd:
        mol = Chem.AddHs(Chem.MolFromSmiles(entity.sequence))
        ranks = Chem.CanonicalRankAtoms(mol)
        return [a.GetSymbol().upper() + str(r + 1) for a, r in zip(mol.GetAtoms(), ranks) if a.GetAtomicNum() > 1]
    polymer = entity.kind != "ligand"
    code = entity.sequence
    if polymer:
        code = dict(entity.modifications).get(residue) or residue_name(entity.kind, entity.sequence[residue - 1])
        if code in const.ref_atoms:
            return list(const.ref_atoms[code])

    def leaves(atom: Any) -> bool:  # when the residue is bonded into a chain
        return polymer and atom.HasProp("leaving_atom") and bool(int(atom.GetProp("leaving_atom")))

    mol = dictionary.get(code)
    return [a.GetProp("name") for a in mol.GetAtoms() if a.GetAtomicNum() > 1 and not leaves(a)]
