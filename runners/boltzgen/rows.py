"""The rows of a result, from the table of the package. Its placeholders for missing values become null."""

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXTS = ("id", "designed_sequence", "designed_chain_sequence", "liability_violations_summary")
INTEGERS = (
    "final_rank",
    "secondary_rank",
    "num_filters_passed",
    "num_design",
    "plip_hbonds_refolded",
    "plip_saltbridge_refolded",
    "liability_num_violations",
)
NUMBERS = (
    "max_rank",
    "quality_score",
    "ptm",
    "target_ptm",
    "design_ptm",
    "iptm",
    "protein_iptm",
    "ligand_iptm",
    "design_iptm",
    "design_iiptm",
    "design_to_target_iptm",
    "design_ipsae_min",
    "interaction_pae",
    "min_interaction_pae",
    "min_design_to_target_pae",
    "helix",
    "sheet",
    "loop",
    "filter_rmsd",
    "filter_rmsd_design",
    "delta_sasa_refolded",
    "design_hydrophobicity",
    "design_chain_hydrophobicity",
    "liability_score",
)
# Name of the row → column, and a factor.
RENAMED = {
    "plddt": ("complex_plddt", 100),
    "iplddt": ("complex_iplddt", 100),
    "designfolding_filter_rmsd": ("designfolding-filter_rmsd", 1),
}
# The residues to bind are counted from two on, and affinities in one protocol.
OPTIONAL = re.compile(r"bindsite_under_[3-9]rmsd|affinity_[a-z0-9_]{1,40}")
# The lowest PAE of no pair is this and more.
NO_PAIR = 100_000
FILTER = re.compile(r"pass_(.+)_filter")


@dataclass(frozen=True)
class Chain:
    """A chain of a design, in the order of the structure file."""

    name: str  # in the spec
    kind: str  # PROTEIN, DNA, RNA or NONPOLYMER
    designed: bool


def read(table: Path) -> list[dict[str, str]]:
    """The rows of a table as text."""
    with open(table, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def number(text: str | None) -> float | None:
    """A number of the table; None where the cell is missing, empty or no finite number."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def integer(text: str | None) -> int | None:
    """A whole number of the table, which it may write with a point."""
    value = number(text)
    return int(value) if value is not None and value == int(value) else None


def row(cells: dict[str, str], chains: Iterable[Chain]) -> dict[str, Any]:
    """The row of one design. chains says which scores have a meaning; without it, all that are not 0 have."""
    chains = list(chains)
    out: dict[str, Any] = {name: cells.get(name) or None for name in TEXTS}
    out |= {name: integer(cells.get(name)) for name in INTEGERS}
    out |= {name: number(cells.get(name)) for name in NUMBERS}
    for name, (column, factor) in RENAMED.items():
        value = number(cells.get(column))
        # The table has five decimals.
        out[name] = None if value is None else round(value * factor, 5)
    out |= {name: number(text) for name, text in cells.items() if OPTIONAL.fullmatch(name)}
    out["pass_filters"] = {"True": True, "False": False}.get(cells.get("pass_filters", ""))
    out["failed_filters"] = [
        match[1] for name, text in cells.items() if (match := FILTER.fullmatch(name)) and text == "False"
    ]
    for name in nothing(out, chains):
        out[name] = None
    if (out["quality_score"] is not None) and not 0 <= out["quality_score"] <= 1:
        out["quality_score"] = None
    out["notes"] = []
    return out


def nothing(out: dict[str, Any], chains: list[Chain]) -> list[str]:
    """The scores of a row that stand for no value."""
    empty: list[str] = []
    target = [c for c in chains if not c.designed]
    if chains:
        proteins = sum(c.kind == "PROTEIN" for c in chains)
        if len(chains) < 2:
            empty += ["iptm", "design_iptm", "design_iiptm"]
        if proteins < 2:
            empty.append("protein_iptm")
        if not any(c.kind == "NONPOLYMER" for c in chains):
            empty.append("ligand_iptm")
        if not target and len(chains) < 2:
            empty += ["design_to_target_iptm", "design_ipsae_min", "target_ptm"]
    # Written as exactly 0 where there is none; an error of 0 Å, or a score of 0 at five decimals, is not seen else.
    zeros = [
        "iptm",
        "protein_iptm",
        "ligand_iptm",
        "design_iptm",
        "design_iiptm",
        "design_to_target_iptm",
        "target_ptm",
    ]
    zeros += ["interaction_pae", "min_interaction_pae", "min_design_to_target_pae", "iplddt"]
    empty += [name for name in zeros if out[name] == 0]
    for name in ("interaction_pae", "min_interaction_pae", "min_design_to_target_pae"):
        if out[name] is not None and out[name] >= NO_PAIR:
            empty.append(name)
    if "X" in (out["designed_sequence"] or ""):
        empty.append("design_hydrophobicity")
    if "X" in (out["designed_chain_sequence"] or ""):
        empty.append("design_chain_hydrophobicity")
    if (out["num_design"] or 0) <= 5:
        empty += ["helix", "sheet", "loop"]
    return empty
