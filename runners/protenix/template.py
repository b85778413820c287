"""Templates of a job as the package's features of template hits. The service has aligned them, so that neither kalign
nor the package's folder of structures is needed."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from biotite.structure.io.pdbx import CIFFile
from protenix.data.constants import ATOM37_NUM, ATOM37_ORDER, PROTEIN_CHAIN
from protenix.data.inference.json_parser import PROTEIN_1to3
from protenix.data.template.template_parser import encode_template_restype

MAX = 4  # of each chain, as in the package
# The package gives chains of up to this many residues no template.
TOO_SHORT = 4
LETTERS = {three: one for one, three in PROTEIN_1to3.items()}


class Given:
    """In the place of the package's search for templates: it hands out those of each entry, in the order of entries."""

    def __init__(self, entries: Iterable[Sequence[str]]) -> None:
        self.entries = iter(entries)

    def get_templates(self, query_sequence: str, **_: Any) -> tuple[Any, None]:
        """The features of the next entry's templates, in the form of the package's result."""
        paths = next(self.entries)[:MAX]
        return SimpleNamespace(features=[features(Path(p), query_sequence) for p in paths]), None


def features(path: Path, query: str) -> dict[str, Any]:
    """One template on the residues of its chain: positions in Å of the atoms that it has, by the package's names."""
    site = CIFFile.read(path).block["atom_site"]
    columns = [site[name].as_array(str) for name in ("label_seq_id", "label_comp_id", "label_atom_id")]
    positions = np.stack([site[f"Cartn_{axis}"].as_array(float) for axis in "xyz"], axis=-1)
    out = np.zeros((len(query), ATOM37_NUM, 3), dtype=np.float32)
    has = np.zeros((len(query), ATOM37_NUM), dtype=np.float32)
    letters = ["-"] * len(query)
    for number, residue, atom, position in zip(*columns, positions):
        at, k = int(number) - 1, ATOM37_ORDER.get(atom)
        letters[at] = LETTERS.get(residue, "X")
        if k is not None:
            out[at, k], has[at, k] = position, 1
    sequence = "".join(letters)
    return {
        "template_all_atom_positions": out,
        "template_all_atom_masks": has,
        "template_sequence": sequence.encode(),
        "template_aatype": np.array(encode_template_restype(PROTEIN_CHAIN, sequence), dtype=np.int32),
        # Names and dates choose templates in the package's search; the model does not read them.
        "template_domain_names": np.array(b"own", dtype=object),
        "template_release_date": np.array(b"1970-01-01", dtype=object),
    }
