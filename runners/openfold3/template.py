"""Templates of a job as the package's slices of templates. The service has aligned them, so that neither the package's
alignment of a template nor its folder of prepared structures is needed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from biotite.structure import AtomArray
from biotite.structure.io.pdbx import CIFFile
from openfold3.core.data.primitives.structure.template import TemplateSlice, TemplateSliceCollection
from openfold3.core.data.primitives.structure.tokenization import get_token_starts

FRAME = ("N", "CA", "C")


def collection(atoms: Any, templates: Mapping[str, Sequence[AtomArray]]) -> TemplateSliceCollection:
    """The templates of each chain, by its name in atoms, the package's structure of the query."""
    slices = {}
    for chain, given in templates.items():
        query = atoms[atoms.chain_id == chain]
        tokens = query[get_token_starts(query)]
        slices[chain] = [one(tokens, t) for t in given]
    return TemplateSliceCollection(template_slices=slices)


def one(tokens: Any, template: AtomArray) -> TemplateSlice:
    """A template on the tokens of its chain: one for a residue, or one for each atom of a modified one."""
    aligned = tokens[np.isin(tokens.res_id, template.res_id)]
    _, repeats = np.unique(aligned.res_id, return_counts=True)
    return TemplateSlice(
        atom_array=template, query_token_positions=aligned.token_position, template_residue_repeats=repeats
    )


def residues(path: Path) -> tuple[AtomArray, int]:
    """The residues of a file that have all that the package reads, N, CA, C and CB, and how many have not: the package
    silently leaves out a template with such a residue. Residues have the positions of the job's chain, from 1."""
    site = CIFFile.read(path).block["atom_site"]
    seq, comp = site["label_seq_id"].as_array(int), site["label_comp_id"].as_array(str)
    name = site["label_atom_id"].as_array(str)
    out = AtomArray(len(seq))
    out.coord = np.stack([site[f"Cartn_{axis}"].as_array(float) for axis in "xyz"], axis=-1)
    out.res_id, out.res_name, out.atom_name = seq, comp, name
    has = {n: set(seq[name == n].tolist()) for n in (*FRAME, "CB")}
    glycines = set(seq[comp == "GLY"].tolist())
    complete = set.intersection(*(has[n] for n in FRAME)) & (has["CB"] | glycines)
    return out[np.isin(seq, sorted(complete))], len(set(seq.tolist()) - complete)
