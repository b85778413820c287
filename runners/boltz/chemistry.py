"""Chemistry that Boltz would fail on later, or accept silently: checked before the job begins."""

import copy
import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gemmi
from boltz.data import const
from boltz.data.parse.schema import compute_3d_conformer
from rdkit import Chem

from document import Document, Entity
from foldrun import Component, Failure, invalid, unsupported
from foldrun.chemistry import molecule, seeded_conformers
from foldrun.document import check_dictionary, modifications

# Atoms besides hydrogen of a ligand whose affinity is predicted, at most: the package refuses more.
AFFINITY_ATOMS = 128
# The package names ligands of a SMILES so in its files.
LIGAND = re.compile(r"LIG[0-9]+")


class Dictionary:
    """The chemical components of a cache: a folder of pickles (Boltz-2), or one pickle of all (Boltz-1)."""

    def __init__(self, cache: Path, folder: bool) -> None:
        self.mols = cache / "mols"
        self.ccd = None if folder else pickle.loads((cache / "ccd.pkl").read_bytes())
        self.own: dict[str, Any] = {}  # molecules of a job, by code, which go before the dictionary's

    def has(self, code: str) -> bool:
        """Whether the dictionary has a CCD code."""
        if code in self.own:
            return True
        return code in self.ccd if self.ccd is not None else (self.mols / f"{code}.pkl").is_file()

    def get(self, code: str) -> Any:
        """The RDKit molecule of a component."""
        if code in self.own:
            return self.own[code]
        if self.ccd is not None:
            return self.ccd[code]
        # The cache is the operator's own, and the code was checked when the document was built.
        return pickle.loads((self.mols / f"{code}.pkl").read_bytes())

    def extended(self, own: Mapping[str, Any], codes: Iterable[str], folder: Path) -> "Dictionary":
        """The dictionary with molecules of a job before its own, in a new folder: the package reads a molecule by its
        path. The shared folder stays as it is; the new one has links to the standard residues and the given codes."""
        out = copy.copy(self)
        out.own, out.mols = dict(own), folder
        folder.mkdir(parents=True)
        for code in {*const.tokens, *codes} - set(own):
            if self.has(code):
                (folder / f"{code}.pkl").symlink_to(self.mols / f"{code}.pkl")
        for code, mol in own.items():
            (folder / f"{code}.pkl").write_bytes(pickle.dumps(mol))
        return out


def codes(sequences: Iterable[Mapping[str, Any]]) -> set[str]:
    """The codes that the sequences of a job name."""
    out = {s["sequence"] for s in sequences if s.get("is_ccd")}
    return out.union(code for s in sequences for _, code in modifications(s))


def without_hydrogens(sequences: Iterable[Mapping[str, Any]], dictionary: Dictionary) -> dict[str, Any]:
    """The dictionary's molecules whose affinity is asked for, without hydrogens, where these make them too large: the
    package counts them in entries of the dictionary, and not in a SMILES."""
    asked = {s["sequence"] for s in sequences if s.get("is_ccd") and s.get("property_type") == "affinity"}
    mols = {code: dictionary.get(code) for code in asked if dictionary.has(code)}
    return {  # with the count of hydrogens, of which the package takes the molecular weight
        code: Chem.RemoveHs(mol, updateExplicitCount=True, sanitize=False)
        for code, mol in mols.items()
        if mol.GetNumAtoms() > AFFINITY_ATOMS
    }


def components(given: Sequence[Component], seed: int) -> dict[str, Any]:
    """The molecules of a job's own, by code, as the dictionary has molecules: with names, without hydrogens, with one
    conformer. Raises Failure with a sentence that names the field."""
    out = {}
    with seeded_conformers(seed):
        for c in given:
            if LIGAND.fullmatch(c.code):
                raise unsupported(
                    f"the component {c.code} has a code that Boltz gives ligands of a SMILES; choose another"
                )
            out[c.code] = component(c)
    return out


def component(c: Component) -> Any:
    """The molecule of a component."""
    mol = from_file(c) if c.path else from_smiles(c)
    mol = Chem.AddHs(mol)
    for atom in mol.GetAtoms():
        if not atom.HasProp("name"):
            atom.SetProp("name", f"H.{atom.GetIdx()}")  # of no component: its names have no dots
            atom.SetProp("leaving_atom", "0")
    Chem.AssignStereochemistry(mol, force=True, cleanIt=True)
    if not compute_3d_conformer(mol):
        raise invalid(f"the component {c.code} is a molecule for which RDKit finds no three-dimensional conformer")
    return Chem.RemoveHs(mol, sanitize=False)


def from_smiles(c: Component) -> Any:
    """The molecule of a SMILES, with the names of its atoms."""
    molecule(c.smiles, f"the component {c.code}")
    params = Chem.SmilesParserParams()
    params.removeHs = False  # the names count them
    mol = Chem.MolFromSmiles(c.smiles, params)
    if mol.GetNumAtoms() != len(c.atoms):
        raise Failure(
            "internal", f"the component {c.code} has {mol.GetNumAtoms()} atoms for RDKit; {len(c.atoms)} have names"
        )
    for atom, name in zip(mol.GetAtoms(), c.atoms, strict=True):
        atom.SetProp("name", name)
        atom.SetProp("leaving_atom", "1" if name in c.leaving else "0")
    return mol


ATOM = ["atom_id", "type_symbol", "charge", "pdbx_leaving_atom_flag"]
ATOM += [f"pdbx_model_Cartn_{axis}_ideal" for axis in "xyz"]
ORDERS = {
    "SING": Chem.BondType.SINGLE,
    "DOUB": Chem.BondType.DOUBLE,
    "TRIP": Chem.BondType.TRIPLE,
    "AROM": Chem.BondType.AROMATIC,
    "DATI": Chem.BondType.DATIVE,
}


def from_file(c: Component) -> Any:
    """The molecule of a file that the service has written. Its coordinates give the stereochemistry alone."""
    block = gemmi.cif.read(str(c.path)).sole_block()
    mol, index = Chem.RWMol(), {}
    rows = [[gemmi.cif.as_string(v) for v in row] for row in block.find("_chem_comp_atom.", ATOM)]
    conformer = Chem.Conformer(len(rows))
    for name, symbol, charge, leaves, *xyz in rows:
        atom = Chem.Atom(symbol)
        atom.SetFormalCharge(int(charge))
        atom.SetProp("name", name)
        atom.SetProp("leaving_atom", "1" if leaves == "Y" else "0")
        index[name] = mol.AddAtom(atom)
        conformer.SetAtomPosition(index[name], [float(v) for v in xyz])
    for row in block.find("_chem_comp_bond.", ["atom_id_1", "atom_id_2", "value_order"]):
        first, second, order = (gemmi.cif.as_string(v) for v in row)
        mol.AddBond(index[first], index[second], ORDERS[order])
        if order == "AROM":
            for name in (first, second):
                mol.GetAtomWithIdx(index[name]).SetIsAromatic(True)
    mol.AddConformer(conformer)
    problems = [p.Message() for p in Chem.DetectChemistryProblems(mol)]
    if problems:
        raise invalid(f"the component {c.code} is no possible molecule: {problems[0]}")
    Chem.SanitizeMol(mol)
    Chem.AssignStereochemistryFrom3D(mol)
    mol.RemoveAllConformers()
    return mol.GetMol()


def check(sequences: Sequence[Mapping[str, Any]], doc: Document, dictionary: Dictionary) -> None:
    """Refuses components that are not in the dictionary, impossible SMILES, and bonds to atoms that do not exist."""
    check_dictionary(sequences, dictionary.has)
    for i, s in enumerate(sequences):
        if s["kind"] == "ligand" and not s.get("is_ccd"):
            molecule(s["sequence"], f"sequences[{i}]")
    check_affinity(doc, dictionary)
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


def check_affinity(doc: Document, dictionary: Dictionary) -> None:
    """Refuses the affinity of a ligand that is too large for the package."""
    for e in doc.entities:
        if e.affinity:
            mol = dictionary.get(e.sequence) if e.ccd else Chem.MolFromSmiles(e.sequence)
            if mol.GetNumHeavyAtoms() > AFFINITY_ATOMS:
                raise unsupported(
                    f"sequences[{e.first}] asks for an affinity and has {mol.GetNumHeavyAtoms()} atoms "
                    f"besides hydrogen; Boltz takes {AFFINITY_ATOMS}"
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
    """The names of a residue's heavy atoms in Boltz's files, not of a SMILES. residue counts from 1."""
    polymer = entity.kind != "ligand"
    code = entity.sequence
    if polymer:
        code = dict(entity.modifications).get(residue) or residue_name(entity.kind, entity.sequence[residue - 1])
        code = "MET" if code == "MSE" else code  # as in the package
        if code in const.ref_atoms:
            return list(const.ref_atoms[code])

    def leaves(atom: Any) -> bool:  # when the residue is bonded into a chain
        return polymer and atom.HasProp("leaving_atom") and bool(int(atom.GetProp("leaving_atom")))

    mol = dictionary.get(code)
    return [a.GetProp("name") for a in mol.GetAtoms() if a.GetAtomicNum() > 1 and not leaves(a)]
