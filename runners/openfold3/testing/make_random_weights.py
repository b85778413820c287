"""Make a small model of random weights, so that the real OpenFold3 package runs without its released ones.

The folder has what the runner looks for: the checkpoint under its released name, and model_update.json, which says how the model
differs from the released one. Random weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
import json
import os
from pathlib import Path

import torch
from openfold3.entry_points.parameters import DEFAULT_CHECKPOINT_NAME, OPENFOLD_MODEL_CHECKPOINT_REGISTRY
from openfold3.projects.of3_all_atom.model import OpenFold3
from openfold3.projects.of3_all_atom.project_entry import ModelUpdate, OF3ProjectEntry

# Spread of the noise on every weight: enough that no output is constant, small enough that none overflows.
NOISE = 0.02
ATOMS = {"c_atom": 16, "c_atom_pair": 8, "c_hidden": 8, "no_heads": 2, "no_blocks": 1}
PAIRFORMER = {"c_hidden_pair_bias": 8, "no_heads_pair_bias": 2, "c_hidden_mul": 8, "c_hidden_pair_att": 8, "no_heads_pair": 2, "no_blocks": 1}
# The package's configuration, narrower and shallower. A name that occurs once stands for every place that shares it.
SMALL = {
    "architecture": {
        "shared": {"c_s": 32, "c_z": 16},
        "input_embedder": {"atom_attn_enc": {**ATOMS, "c_token": 32}},
        "template": {"c_t": 8, "template_pair_stack": {"c_hidden_tri_att": 8, "c_hidden_tri_mul": 8, "no_blocks": 1, "no_heads": 2}},
        "msa": {
            "msa_module_embedder": {"c_m": 16},
            "msa_module": {"c_hidden_opm": 8, "c_hidden_mul": 8, "c_hidden_pair_att": 8, "no_heads_msa": 2, "no_heads_pair": 2, "no_blocks": 1},
        },
        "pairformer": PAIRFORMER,
        "diffusion_module": {
            "diffusion_module": {"c_token": 32},
            "atom_attn_enc": ATOMS,
            "diffusion_transformer": {"c_hidden": 16, "no_heads": 2, "no_blocks": 2},
            "atom_attn_dec": {"c_hidden": 8, "no_heads": 2, "no_blocks": 1},
        },
        "heads": {"pairformer_embedding": {"pairformer": PAIRFORMER}},
    }
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    (folder / "model_update.json").write_text(json.dumps(SMALL, indent=2) + "\n")
    torch.manual_seed(options.seed)
    model = OpenFold3(OF3ProjectEntry().get_model_config_with_update(ModelUpdate(presets=["predict"], custom=SMALL)))
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * NOISE)
    path = folder / OPENFOLD_MODEL_CHECKPOINT_REGISTRY[DEFAULT_CHECKPOINT_NAME].file_name
    part = path.with_suffix(".part")
    torch.save(model.state_dict(), part)
    os.replace(part, path)


if __name__ == "__main__":
    main()
