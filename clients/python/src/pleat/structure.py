"""A predicted structure: its scores, its confidence as arrays, and its file as objects of other packages."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import errors
from ._packages import need
from .models import Scores
from .view import Coloured, colours_of, html_of, page_of, view_of

if TYPE_CHECKING:
    import gemmi
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from Bio.PDB.Structure import Structure as BioStructure
    from biotite.structure import AtomArray


@dataclass(frozen=True, kw_only=True)
class Structure:
    """One structure of a job. A value that the engine lacks is None, or raises NoResult where it is an array."""

    name: str
    scores: Scores
    cif: str = field(repr=False)
    plddt_by_chain: Mapping[str, tuple[float, ...]] = field(repr=False)
    secondary_structure: Mapping[str, str] = field(repr=False)
    """A letter for each residue: H helix, E strand, T turn, - none."""
    predicted_rmsd_by_chain: Mapping[str, tuple[float, ...]] = field(
        repr=False, default_factory=dict[str, tuple[float, ...]]
    )
    """In Å, lower being better, of a model that gives it in place of pLDDT."""

    @property
    def plddt(self) -> npt.NDArray[np.float64]:
        """pLDDT, 0 to 100, of the residues of all chains in the order of `scores.chains`."""
        np = need("numpy", "arrays")
        if not self.plddt_by_chain:
            raise errors.NoResult(f"the engine gives no pLDDT for the residues of {self.name}")
        return np.array([v for values in self.plddt_by_chain.values() for v in values], dtype=np.float64)

    @property
    def predicted_rmsd(self) -> npt.NDArray[np.float64]:
        """The predicted RMSD in Å of the residues of all chains in the order of `scores.chains`; lower is better."""
        np = need("numpy", "arrays")
        if not self.predicted_rmsd_by_chain:
            raise errors.NoResult(f"the engine gives no predicted RMSD for the residues of {self.name}")
        return np.array([v for values in self.predicted_rmsd_by_chain.values() for v in values], dtype=np.float64)

    def pairs_to_pandas(self) -> pd.DataFrame:
        """The scores of each two chains."""
        columns = ["chain_a", "chain_b", "iptm", "ipsae", "pdockq2", "lis"]
        rows = [[getattr(p, c) for c in columns] for p in self.scores.pairs]
        return need("pandas", "pandas").DataFrame(rows, columns=columns)

    def residues_to_pandas(self) -> pd.DataFrame:
        """A row for each residue: chain, number, pLDDT, or the predicted RMSD of a model that gives that instead, and
        secondary structure."""
        by_chain, column = self.plddt_by_chain, "plddt"
        if not by_chain and self.predicted_rmsd_by_chain:
            by_chain, column = self.predicted_rmsd_by_chain, "predicted_rmsd"
        rows = [
            (chain, i + 1, value, self.secondary_structure.get(chain, "")[i : i + 1] or None)
            for chain, values in by_chain.items()
            for i, value in enumerate(values)
        ]
        return need("pandas", "pandas").DataFrame(rows, columns=["chain", "residue", column, "secondary_structure"])

    def to_biotite(self) -> AtomArray[Any]:
        """An AtomArray of biotite, with pLDDT as `b_factor`, or the predicted RMSD that a model gives in its place."""
        pdbx = need("biotite.structure.io.pdbx", "structure")
        file = pdbx.CIFFile.read(io.StringIO(self.cif))
        return pdbx.get_structure(file, model=1, extra_fields=["b_factor"])

    def to_gemmi(self) -> gemmi.Structure:
        """A structure of gemmi."""
        gemmi = need("gemmi", "structure")
        structure = gemmi.make_structure_from_block(gemmi.cif.read_string(self.cif).sole_block())
        structure.setup_entities()
        return structure

    def to_biopython(self) -> BioStructure:
        """A structure of Biopython."""
        parser = need("Bio.PDB.MMCIFParser", "structure").MMCIFParser(QUIET=True)
        return parser.get_structure(self.name, io.StringIO(self.cif))

    def view(self, *, width: int = 640, height: int = 480) -> Any:
        """A py3Dmol view, coloured by confidence where there is one and by chain otherwise."""
        return view_of(self.cif, self._coloured(), width=width, height=height)

    def _coloured(self) -> Coloured:
        return colours_of(self.plddt_by_chain, self.predicted_rmsd_by_chain)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """The display in a notebook: the scores and, where py3Dmol is installed, the structure."""
        return html_of(self.name, self.scores, self.cif, self._coloured())

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page that shows the structure in a browser, with the library 3Dmol.js from its usual address."""
        need("py3Dmol", "notebook")
        to = Path(path)
        to.write_text(page_of(self.name, self.to_html()), encoding="utf-8")
        return to


def structure_of(name: str, scores: Scores, cif: bytes, metrics: bytes) -> Structure:
    """Joins a structure file with its part of metrics.json."""
    mine: dict[str, Any] = {}
    try:
        for p in json.loads(metrics).get("predictions") or ():
            if scores.sequence_id in (None, p.get("sequence_id")) and tuple(p.get("chains") or ()) == scores.chains:
                mine = p
                break
    except (ValueError, AttributeError, TypeError) as e:
        raise errors.InvalidAnswer(f"metrics.json of {name} has another form than it should") from e

    def by_chain(name: str) -> dict[str, tuple[float, ...]]:
        values: dict[str, list[float]] = mine.get(name) or {}
        return {c: tuple(values[c]) for c in (*scores.chains, *values) if c in values}

    return Structure(
        name=name,
        scores=scores,
        cif=cif.decode(),
        plddt_by_chain=by_chain("plddt"),
        predicted_rmsd_by_chain=by_chain("predicted_rmsd"),
        secondary_structure=dict(mine.get("secondary_structure") or {}),
    )


def pae_of(name: str, text: bytes) -> npt.NDArray[np.float64]:
    """The predicted aligned error in Å of a pae.json, in the format of the AlphaFold database."""
    np = need("numpy", "arrays")
    try:
        pae = np.array(json.loads(text)[0]["predicted_aligned_error"], dtype=np.float64)
    except (ValueError, LookupError, TypeError) as e:
        raise errors.InvalidAnswer(f"{name} is not a table of predicted aligned errors") from e
    return pae
