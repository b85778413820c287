"""The use of RDKit that runners share: SMILES that are checked, and conformers that depend on the job's seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem import AllChem

from .job import invalid


def molecule(smiles: str, field: str) -> Any:
    """The RDKit molecule of a SMILES. Raises Failure with a message that names the field and the fault."""
    block = rdBase.BlockLogs()
    try:
        mol = Chem.MolFromSmiles(smiles, sanitize=False)
        if mol is None:
            raise invalid(f"{field} is not a SMILES that can be read")
        problems = [p.Message() for p in Chem.DetectChemistryProblems(mol)]
        if problems:
            raise invalid(f"{field} is a SMILES of no possible molecule: {problems[0]}")
        sanitized = Chem.MolFromSmiles(smiles)
        if sanitized is None or sanitized.GetNumHeavyAtoms() == 0:
            raise invalid(f"{field} is a SMILES without a heavy atom")
        return sanitized
    finally:
        del block


@contextmanager
def seeded_conformers(seed: int) -> Iterator[None]:
    """Makes RDKit generate conformers from the job's seed. Otherwise they depend on what the process did before."""
    original = AllChem.EmbedMolecule

    def embed(mol: Any, options: Any) -> int:
        options.randomSeed = seed & 0x7FFFFFFF
        return original(mol, options)

    AllChem.EmbedMolecule = embed
    try:
        yield
    finally:
        AllChem.EmbedMolecule = original
