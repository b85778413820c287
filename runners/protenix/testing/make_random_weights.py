"""Make the two models of Protenix with few blocks and random weights, and a small chemical dictionary, so that the real package
runs without the released files.

Random weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
import json
import os
import pickle
import sys
from pathlib import Path

os.environ["LAYERNORM_TYPE"] = "torch"

import numpy as np  # noqa: E402
import torch  # noqa: E402
from rdkit import Chem  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "testing"))
from dictionary import DNA, PROTEIN, RNA, dictionary  # noqa: E402
from protenix.model.protenix import Protenix  # noqa: E402
from settings import MODELS, settings  # noqa: E402

# The sizes that differ from those of the released models, which the weights alone do not say.
SIZES = {
    "model.pairformer.n_blocks": 1, "model.msa_module.n_blocks": 1, "model.template_embedder.n_blocks": 1,
    "model.diffusion_module.atom_encoder.n_blocks": 1, "model.diffusion_module.transformer.n_blocks": 1,
    "model.diffusion_module.atom_decoder.n_blocks": 1, "model.confidence_head.n_blocks": 1,
}  # fmt: skip
# Spread of the noise on every weight: enough that no output is constant, small enough that none overflows.
NOISE = 0.02
LINKING = ((PROTEIN, "L-PEPTIDE LINKING"), (RNA, "RNA LINKING"), (DNA, "DNA LINKING"), (("SEP", "HYP"), "L-PEPTIDE LINKING"))
ORDERS = {Chem.BondType.SINGLE: "SING", Chem.BondType.DOUBLE: "DOUB", Chem.BondType.TRIPLE: "TRIP", Chem.BondType.AROMATIC: "SING"}
ATOM = "comp_id atom_id alt_atom_id pdbx_component_atom_id type_symbol charge pdbx_leaving_atom_flag pdbx_model_Cartn_x_ideal pdbx_model_Cartn_y_ideal pdbx_model_Cartn_z_ideal".split()
BOND = "comp_id atom_id_1 atom_id_2 value_order pdbx_aromatic_flag".split()


def quoted(name):
    return f'"{name}"' if "'" in name else name


def entry(code, mol):
    """The molecule as the chemical dictionary has it."""
    kind = next((kind for codes, kind in LINKING if code in codes), "NON-POLYMER")
    letter = next((table[code] for table in (PROTEIN, RNA, DNA) if code in table and code not in ("UNK", "N", "DN")), "?")
    lines = [f"data_{code}", "#"]
    for name, value in (("id", code), ("name", code), ("type", f'"{kind}"'), ("pdbx_synonyms", "?"), ("formula", "?"), ("formula_weight", "?"), ("one_letter_code", letter)):
        lines.append(f"_chem_comp.{name} {value}")
    lines += ["#", "loop_"] + [f"_chem_comp_atom.{c}" for c in ATOM]
    at = mol.GetConformer().GetPositions()
    for a, (x, y, z) in zip(mol.GetAtoms(), at):
        name = quoted(a.GetProp("name"))
        leaves = "Y" if a.GetProp("name") in ("OXT", "OP3") else "N"
        lines.append(f"{code} {name} {name} {name} {a.GetSymbol().upper()} {a.GetFormalCharge()} {leaves} {x:.3f} {y:.3f} {z:.3f}")
    if mol.GetNumBonds():
        lines += ["#", "loop_"] + [f"_chem_comp_bond.{c}" for c in BOND]
        for b in mol.GetBonds():
            names = " ".join(quoted(a.GetProp("name")) for a in (b.GetBeginAtom(), b.GetEndAtom()))
            lines.append(f"{code} {names} {ORDERS[b.GetBondType()]} {'Y' if b.GetIsAromatic() else 'N'}")
    return "\n".join(lines) + "\n#\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    folder = options.folder
    for name in ("common", "checkpoint"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    (folder / "sizes.json").write_text(json.dumps(SIZES, indent=1) + "\n")
    mols = dictionary(options.seed)
    (folder / "common/components.cif").write_text("".join(entry(code, mol) for code, mol in mols.items()))
    Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
    for mol in mols.values():  # what the package's own script adds
        mol.atom_map = {a.GetProp("name"): a.GetIdx() for a in mol.GetAtoms()}
        mol.ref_conf_id = 0
        mol.ref_mask = np.ones(mol.GetNumAtoms(), dtype=bool)
    (folder / "common/components.cif.rdkit_mol.pkl").write_bytes(pickle.dumps(mols))
    for name in MODELS.values():
        torch.manual_seed(options.seed)
        model = Protenix(settings(name, SIZES))
        with torch.no_grad():
            for _, weight in sorted(model.named_parameters()):
                weight.add_(torch.randn_like(weight) * NOISE)
        torch.save({"model": model.state_dict()}, folder / f"checkpoint/{name}.pt")


if __name__ == "__main__":
    main()
