"""The display of a result in a notebook: a table of scores, and the structure in the colours of its confidence."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._packages import need
from .models import Scores

BANDS: tuple[tuple[float, str, str], ...] = (
    (90.0, "#0053d6", "very high"),
    (70.0, "#65cbf3", "confident"),
    (50.0, "#ffdb13", "low"),
    (0.0, "#ff7d45", "very low"),
)
"""Lower ends of pLDDT, colours and names, as in the AlphaFold database."""


def colour(value: float, bands: tuple[tuple[float, str, str], ...] = BANDS) -> str:
    """The colour of a confidence. The lower end of a band does not belong to it."""
    return next((c for low, c, _ in bands if value > low), bands[-1][1])


RMSD_BANDS: tuple[tuple[float, str, str], ...] = (
    (2.5, "#fde725", "above 2.5 Å"),
    (1.5, "#5ec962", "1.5 to 2.5 Å"),
    (1.0, "#21918c", "1 to 1.5 Å"),
    (0.5, "#3b528b", "0.5 to 1 Å"),
    (0.0, "#440154", "up to 0.5 Å"),
)
"""Lower ends of the predicted RMSD, colours and names, as in the service's own plots. Low values are good."""


@dataclass(frozen=True)
class Coloured:
    """The colours of residues by chain, and their meaning."""

    residues: Mapping[str, Sequence[str]]
    legend: str = ""


def colours_of(plddt: Mapping[str, Sequence[float]], rmsd: Mapping[str, Sequence[float]]) -> Coloured:
    """The colours by pLDDT or, where there is none, by predicted RMSD."""
    values, bands, name = (plddt, BANDS, "pLDDT") if plddt or not rmsd else (rmsd, RMSD_BANDS, "Predicted RMSD")
    if not values:
        return Coloured({})
    entries = " ".join(f"<span style='color:{c}'>&#9632;</span> {n}" for _, c, n in bands)
    residues = {chain: [colour(v, bands) for v in of] for chain, of in values.items()}
    return Coloured(residues, f"{name}: {entries}")


def view_of(cif: str, coloured: Coloured, *, width: int = 640, height: int = 480) -> Any:
    """A py3Dmol view."""
    view = need("py3Dmol", "notebook").view(width=width, height=height)
    # The text becomes part of a script of the page, and the title of a file is that of its job: "<" is not needed.
    view.addModel(cif.replace("<", " "), "cif")
    view.setStyle({"stick": {}})
    view.setStyle({"hetflag": False}, {"cartoon": {"colorscheme": "chain"}})
    for chain, colours in coloured.residues.items():
        scheme = {"prop": "resi", "map": dict(enumerate(colours, 1))}
        view.setStyle({"chain": chain, "hetflag": False}, {"cartoon": {"colorscheme": scheme}})
    view.zoomTo()
    return view


def table(title: str, rows: Sequence[tuple[str, object]]) -> str:
    """A small table, of which every text is escaped."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>" for k, v in rows
    )
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"


def page_of(title: str, body: str) -> str:
    """A page of its own."""
    return f"<!doctype html>\n<meta charset='utf-8'>\n<title>{html.escape(title)}</title>\n{body}\n"


def score_rows(scores: Scores) -> list[tuple[str, object]]:
    """The scores that there are, with their units."""
    rows = [
        ("mean pLDDT", scores.mean_plddt),
        ("mean predicted RMSD (Å)", scores.predicted_rmsd),
        ("pTM", scores.ptm),
        ("ipTM", scores.iptm),
        ("largest PAE (Å)", scores.max_pae),
    ]
    if scores.affinity is not None:
        rows.append(("log10 IC50 (µM)", scores.affinity.affinity_value))
        rows.append(("probability of binding", scores.affinity.affinity_probability))
    return [(k, v) for k, v in rows if v is not None]


def html_of(name: str, scores: Scores, cif: str, coloured: Coloured) -> str:
    """Scores and, where py3Dmol is installed, the structure."""
    out = table(name, score_rows(scores))
    try:
        view = view_of(cif, coloured)
    except ImportError:
        return out + "<p>With the extra [notebook] of the client, the structure is here.</p>"
    return out + view._make_html() + (f"<p>{coloured.legend}</p>" if coloured.legend else "")
