"""Chemistry that OpenFold3 would fail on without a clear message, or build wrongly: checked before the job begins."""

from collections.abc import Mapping, Sequence
from typing import Any

from biotite.structure import info

from foldrun import invalid
from foldrun.chemistry import molecule
from foldrun.document import check_dictionary, modifications

# The atoms that a component needs in order to replace a residue of a chain.
BACKBONE = {
    "protein": {"N", "CA", "C", "O"},
    "rna": {"P", "O5'", "C5'", "C3'", "O3'"},
    "dna": {"P", "O5'", "C5'", "C3'", "O3'"},
}


def check(sequences: Sequence[Mapping[str, Any]]) -> None:
    """Refuses components that are not in the package's dictionary or cannot be part of a chain, and impossible
    SMILES."""
    check_dictionary(sequences, lambda code: bool(component(code)))
    for i, s in enumerate(sequences):
        for position, code in modifications(s):
            if missing := BACKBONE[s["kind"]] - component(code):
                raise invalid(
                    f"sequences[{i}] has the modification {code} at residue {position}, "
                    f"which lacks the atoms {', '.join(sorted(missing))} of a {s['kind']} chain"
                )
        if s["kind"] == "ligand" and not s.get("is_ccd"):
            mol = molecule(s["sequence"], f"sequences[{i}]")
            if any(a.GetAtomicNum() == 0 for a in mol.GetAtoms()):
                raise invalid(f"sequences[{i}] is a SMILES with an atom of no element")


def component(code: str) -> set[str]:
    """The names of a component's heavy atoms; empty if the dictionary does not have it."""
    try:
        found = info.residue(code)
    except KeyError:
        return set()
    return set(found.atom_name[found.element != "H"].tolist())
