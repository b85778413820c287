"""Make small models of random weights, so that the real BoltzGen package runs without its released ones.

The folder has what the runner looks for: the checkpoints of every step under their released names, and the molecules.
Random weights prove that data flows, never that a design is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
import copy
import os
import pickle
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testing"))

import boltzgen
import torch
from boltzgen.model.models.boltz import Boltz
from dictionary import dictionary
from omegaconf import OmegaConf
from rdkit import Chem

# Spread of the noise on every weight: enough that no output is constant, small enough that none overflows.
NOISE = 0.02
TRAINING = Path(boltzgen.__file__).parent / "resources/config/train"
CONFIDENCE = {
    "num_dist_bins": 64,
    "max_dist": 22,
    "add_s_to_z_prod": True,
    "add_s_input_to_s": True,
    "add_z_input_to_z": True,
    "pairformer_args": {"num_blocks": 1, "num_heads": 2, "dropout": 0.0, "activation_checkpointing": False},
    "confidence_args": {"num_plddt_bins": 50, "num_pde_bins": 64, "num_pae_bins": 64, "use_separate_heads": True},
}
AFFINITY = {
    "num_dist_bins": 64,
    "max_dist": 22,
    "pairformer_args": {"num_blocks": 1, "dropout": 0.0, "activation_checkpointing": False},
    "transformer_args": {"token_s": 32, "num_blocks": 1, "num_heads": 2, "activation_checkpointing": False},
}


def settings(name):
    """The arguments of the model in a configuration of the package, narrower and shallower."""
    config = OmegaConf.to_container(OmegaConf.load(TRAINING / name), resolve=False)
    config = OmegaConf.create({"model": config["model"], "data": {"backbone_only": False, "atom14": True, "atom37": False}})
    for key in ("validators", "refolding_validator", "_target_"):
        config.model.pop(key, None)
    m = OmegaConf.to_container(config, resolve=True)["model"]
    m.update(atom_s=16, atom_z=8, token_s=32, token_z=16, ema=False, use_kernels=False, validate_structure=False)
    m["embedder_args"].update(atom_encoder_depth=1, atom_encoder_heads=2)
    m["pairformer_args"].update(num_blocks=1, num_heads=2, dropout=0.0)
    m["msa_args"].update(msa_s=8, msa_blocks=1, pairwise_head_width=4, pairwise_num_heads=2)
    m["score_model_args"].update(
        dim_fourier=16,
        atom_encoder_depth=1,
        atom_encoder_heads=2,
        token_transformer_depth=1,
        token_transformer_heads=2,
        atom_decoder_depth=1,
        atom_decoder_heads=2,
        conditioning_transition_layers=1,
    )
    if m.get("template_args"):
        m["template_args"].update(template_dim=8, template_blocks=1)
    if m.get("token_distance_args"):
        m["token_distance_args"].update(token_distance_dim=8, token_distance_blocks=1)
    return m


def design():
    return settings("boltzgen_small.yaml")


def inverse_folding():
    return {**settings("inverse_folding.yaml"), "token_s": 384, "token_z": 128, "atom_s": 128, "atom_z": 16}


def folding():
    m = design()
    m.update(confidence_prediction=True, alpha_pae=1.0, predict_bfactor=False, masker_args={})
    for key in ("add_design_mask_flag", "add_binding_specification", "add_ss_specification"):
        m["embedder_args"][key] = False
    m["confidence_model_args"] = copy.deepcopy(CONFIDENCE)
    return m


def affinity():
    m = folding()
    m.update(affinity_prediction=True, affinity_ensemble=True, affinity_mw_correction=False)
    m.update(affinity_model_args1=copy.deepcopy(AFFINITY), affinity_model_args2=copy.deepcopy(AFFINITY))
    return m


def save(path, arguments, seed):
    """Writes a checkpoint of a model with these arguments."""
    kept = copy.deepcopy(arguments)
    for key in ("training_args", "validation_args"):
        kept[key] = OmegaConf.create(kept[key])
    torch.manual_seed(seed)
    model = Boltz(**copy.deepcopy(kept))
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * NOISE)
    part = path.with_suffix(".part")
    checkpoint = {"state_dict": model.state_dict(), "hyper_parameters": kept, "pytorch-lightning_version": "2.5.0"}
    torch.save(checkpoint, part)
    os.replace(part, path)


def save_molecules(path, seed):
    Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for code, molecule in dictionary(seed).items():
            archive.writestr(f"{code}.pkl", pickle.dumps(molecule))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    models = {
        "boltzgen1_diverse.ckpt": design(),
        "boltzgen1_adherence.ckpt": design(),
        "boltzgen1_ifold.ckpt": inverse_folding(),
        "boltz2_conf_final.ckpt": folding(),
        "boltz2_aff.ckpt": affinity(),
    }
    for i, (name, arguments) in enumerate(models.items()):
        save(folder / name, arguments, options.seed + i)
    save_molecules(folder / "mols.zip", options.seed)


if __name__ == "__main__":
    main()
