"""A small chemical dictionary for tests: the standard residues and a few components, as the packages that come from Boltz read them.

RDKit builds the molecules; no entry is taken from the released dictionary.
"""

from rdkit import Chem
from rdkit.Chem import AllChem

PROTEIN = {
    "ALA": "A", "ARG": "R", "ASN": "N", "ASP": "D", "CYS": "C", "GLN": "Q", "GLU": "E", "GLY": "G", "HIS": "H", "ILE": "I",
    "LEU": "L", "LYS": "K", "MET": "M", "PHE": "F", "PRO": "P", "SER": "S", "THR": "T", "TRP": "W", "TYR": "Y", "VAL": "V",
    "UNK": "A",
}
RNA = {"A": "A", "C": "C", "G": "G", "U": "U", "N": "A"}
DNA = {"DA": "A", "DC": "C", "DG": "G", "DT": "T", "DN": "A"}

# Components beyond the standard residues: SMILES, and the atoms' names in its order. OXT leaves when a chain forms.
COMPONENTS = {
    "SEP": ("N[C@@H](COP(=O)(O)O)C(=O)O", "N CA CB OG P O1P O2P O3P C O OXT"),
    "HYP": ("N1C[C@H](O)C[C@H]1C(=O)O", "N CD CG OD1 CB CA C O OXT"),
    "EDO": ("OCCO", "O1 C1 C2 O2"),
    "GOL": ("OCC(O)CO", "O1 C1 C2 O2 C3 O3"),
    "BNZ": ("c1ccccc1", "C1 C2 C3 C4 C5 C6"),
    "MG": ("[Mg+2]", "MG"),
}

# RDKit's flavours of MolFromSequence: L-amino acids, RNA and DNA with a 5' phosphate.
FLAVOUR_PROTEIN, FLAVOUR_RNA, FLAVOUR_DNA = 0, 3, 7
# RDKit's names of a nucleotide's phosphate oxygens and of thymine's methyl, where they differ from the dictionary's.
RENAMED = {"OP3": "OP3", "C5M": "C7", "O1P": "OP1", "O2P": "OP2"}


def embedded(mol, seed):
    """The molecule with one conformer and without hydrogens."""
    full = Chem.AddHs(mol)
    if AllChem.EmbedMolecule(full, randomSeed=seed) != 0:
        raise RuntimeError(f"no conformer for {Chem.MolToSmiles(mol)}")
    bare = Chem.RemoveHs(full, sanitize=False)
    bare.GetConformer().SetProp("name", "Computed")  # what Boltz-1 and its kin look for
    return bare


def residue(letter, flavour, seed):
    mol = Chem.MolFromSequence(letter, flavor=flavour)
    for atom in mol.GetAtoms():
        name = atom.GetPDBResidueInfo().GetName().strip()
        atom.SetProp("name", RENAMED.get(name, name))
        atom.SetProp("leaving_atom", "1" if name == "OXT" else "0")
    return embedded(mol, seed)


def component(smiles, names, seed):
    mol = Chem.MolFromSmiles(smiles)
    names = names.split()
    if mol.GetNumAtoms() != len(names):
        raise RuntimeError(f"{smiles} has {mol.GetNumAtoms()} atoms and {len(names)} names")
    for atom, name in zip(mol.GetAtoms(), names):
        atom.SetProp("name", name)
        atom.SetProp("leaving_atom", "1" if name == "OXT" else "0")
    return embedded(mol, seed)


def dictionary(seed):
    """CCD code → molecule."""
    mols = {}
    for flavour, table in ((FLAVOUR_PROTEIN, PROTEIN), (FLAVOUR_RNA, RNA), (FLAVOUR_DNA, DNA)):
        for code, letter in table.items():
            mols[code] = residue(letter, flavour, seed)
    for code, (smiles, names) in COMPONENTS.items():
        mols[code] = component(smiles, names, seed)
    return mols
