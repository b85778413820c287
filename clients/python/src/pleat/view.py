"""The display of a result in a notebook: a table of scores, and the structure in the colours of its confidence."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
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


def colour(plddt: float) -> str:
    """The colour of a confidence. The lower end of a band does not belong to it."""
    return next((c for low, c, _ in BANDS if plddt > low), BANDS[-1][1])


def view_of(cif: str, plddt: Mapping[str, Sequence[float]], *, width: int = 640, height: int = 480) -> Any:
    """A py3Dmol view."""
    view = need("py3Dmol", "notebook").view(width=width, height=height)
    # The text becomes part of a script of the page, and the title of a file is that of its job: "<" is not needed.
    view.addModel(cif.replace("<", " "), "cif")
    view.setStyle({"stick": {}})
    view.setStyle({"hetflag": False}, {"cartoon": {"colorscheme": "chain"}})
    for chain, values in plddt.items():
        scheme = {"prop": "resi", "map": {i: colour(v) for i, v in enumerate(values, 1)}}
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
        ("pTM", scores.ptm),
        ("ipTM", scores.iptm),
        ("largest PAE (Å)", scores.max_pae),
    ]
    if scores.affinity is not None:
        rows.append(("log10 IC50 (µM)", scores.affinity.affinity_value))
        rows.append(("probability of binding", scores.affinity.affinity_probability))
    return [(k, v) for k, v in rows if v is not None]


def html_of(name: str, scores: Scores, cif: str, plddt: Mapping[str, Sequence[float]]) -> str:
    """Scores and, where py3Dmol is installed, the structure."""
    out = table(name, score_rows(scores))
    try:
        view = view_of(cif, plddt)
    except ImportError:
        return out + "<p>With the extra [notebook] of the client, the structure is here.</p>"
    legend = " ".join(f"<span style='color:{c}'>&#9632;</span> {n}" for _, c, n in BANDS) if plddt else ""
    return out + view._make_html() + (f"<p>pLDDT: {legend}</p>" if legend else "")
