"""Make a cache of random weights and a small chemical dictionary, so that the real Boltz package runs without its weights.

The result has the layout of a real cache (boltz2_conf.ckpt, boltz2_aff.ckpt, mols/, mols.tar; boltz1_conf.ckpt,
ccd.pkl) and a few tens of megabytes. Random weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7] [--model boltz1|boltz2]
"""

import argparse
import copy
import os
import pickle
import sys
import tarfile
from dataclasses import asdict
from pathlib import Path

import torch
from omegaconf import OmegaConf
from rdkit import Chem

sys.path.insert(0, str(Path(__file__).parents[2] / "testing"))
from dictionary import dictionary  # noqa: E402

TOKEN_S, TOKEN_Z, ATOM_S, ATOM_Z = 32, 16, 16, 8
# Spread of the noise on every weight: enough that no output is constant, small enough that none overflows.
NOISE = 0.02


def check(mols):
    """Every atom that Boltz looks up by name is there."""
    from boltz.data import const

    for code, atoms in const.ref_atoms.items():
        if code in ("PAD", "-"):
            continue
        have = {a.GetProp("name") for a in mols[code].GetAtoms()}
        if missing := set(atoms) - have:
            raise RuntimeError(f"component {code} lacks the atoms {sorted(missing)}; it has {sorted(have)}")


def training_args():
    # Boltz reads these by attribute while it loads a checkpoint.
    return OmegaConf.create({
        "max_lr": 0.001, "base_lr": 0.0, "weight_decay": 0.0, "diffusion_multiplicity": 1, "recycling_steps": 1,
        "sampling_steps": 1, "diffusion_samples": 1,
    })


def score_model_args():
    return {
        "sigma_data": 16, "dim_fourier": 32, "atom_encoder_depth": 1, "atom_encoder_heads": 2,
        "token_transformer_depth": 2, "token_transformer_heads": 2, "atom_decoder_depth": 1, "atom_decoder_heads": 2,
        "conditioning_transition_layers": 1, "activation_checkpointing": False,
    }


def confidence_model_args():
    return {
        "num_dist_bins": 64, "max_dist": 22, "add_s_to_z_prod": True, "add_s_input_to_s": True, "add_z_input_to_z": True,
        "pairformer_args": {"num_blocks": 1, "num_heads": 2, "dropout": 0.0, "activation_checkpointing": False},
        "confidence_args": {"num_plddt_bins": 50, "num_pde_bins": 64, "num_pae_bins": 64, "use_separate_heads": True},
    }


def affinity_model_args():
    return {
        "num_dist_bins": 64, "max_dist": 22,
        "pairformer_args": {"num_blocks": 1, "dropout": 0.0, "activation_checkpointing": False},
        "transformer_args": {"token_s": TOKEN_S, "num_blocks": 1, "num_heads": 2, "activation_checkpointing": False},
    }


def boltz2(affinity):
    from boltz.main import Boltz2DiffusionParams, BoltzSteeringParams, MSAModuleArgs, PairformerArgsV2
    from boltz.model.models.boltz2 import Boltz2

    args = {
        "atom_s": ATOM_S, "atom_z": ATOM_Z, "token_s": TOKEN_S, "token_z": TOKEN_Z, "num_bins": 64,
        "training_args": training_args(), "validation_args": OmegaConf.create({"recycling_steps": 1, "sampling_steps": 1}),
        "embedder_args": {
            "atom_encoder_depth": 1, "atom_encoder_heads": 2, "add_method_conditioning": True, "add_modified_flag": True,
            "add_cyclic_flag": True, "add_mol_type_feat": True,
        },
        "msa_args": asdict(MSAModuleArgs()), "pairformer_args": asdict(PairformerArgsV2()),
        "score_model_args": score_model_args(), "diffusion_process_args": asdict(Boltz2DiffusionParams()),
        "diffusion_loss_args": {}, "confidence_model_args": confidence_model_args(), "atom_feature_dim": 388,
        "template_args": {"template_dim": 16, "template_blocks": 1, "pairwise_head_width": 4, "pairwise_num_heads": 2},
        "confidence_prediction": True, "token_level_confidence": True, "alpha_pae": 1.0, "validate_structure": False,
        "bond_type_feature": True, "fix_sym_check": True, "cyclic_pos_enc": True,
        "use_templates": True, "use_templates_v2": True, "conditioning_cutoff_min": 4.0, "conditioning_cutoff_max": 20.0,
        "steering_args": asdict(BoltzSteeringParams()),
    }
    if affinity:
        args |= {
            "affinity_prediction": True, "affinity_ensemble": True, "affinity_model_args1": affinity_model_args(),
            "affinity_model_args2": affinity_model_args(),
        }
    return Boltz2, args


def boltz1():
    from boltz.main import BoltzDiffusionParams, MSAModuleArgs, PairformerArgs
    from boltz.model.models.boltz1 import Boltz1

    confidence = {
        "num_dist_bins": 64, "max_dist": 22, "add_s_to_z_prod": True, "add_s_input_to_s": True, "use_s_diffusion": True,
        "add_z_input_to_z": True, "confidence_args": {"num_plddt_bins": 50, "num_pde_bins": 64, "num_pae_bins": 64},
    }
    args = {
        "atom_s": ATOM_S, "atom_z": ATOM_Z, "token_s": TOKEN_S, "token_z": TOKEN_Z, "num_bins": 64,
        "training_args": training_args(), "validation_args": OmegaConf.create({"recycling_steps": 1, "sampling_steps": 1}),
        "embedder_args": {"atom_encoder_depth": 1, "atom_encoder_heads": 2},
        "msa_args": asdict(MSAModuleArgs(use_paired_feature=False)), "pairformer_args": asdict(PairformerArgs()),
        "score_model_args": score_model_args() | {"offload_to_cpu": False},
        "diffusion_process_args": asdict(BoltzDiffusionParams()), "diffusion_loss_args": {},
        "confidence_model_args": confidence, "atom_feature_dim": 389, "confidence_prediction": True,
        "confidence_imitate_trunk": True, "alpha_pae": 1.0, "structure_prediction_training": True,
    }
    return Boltz1, args


def write_checkpoint(path, model_class, args, seed):
    torch.manual_seed(seed)
    model = model_class(**copy.deepcopy(args))
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * NOISE)
    checkpoint = {"state_dict": model.state_dict(), "hyper_parameters": args, "pytorch-lightning_version": "2.5.0"}
    part = path.with_suffix(".part")
    torch.save(checkpoint, part)
    os.replace(part, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--model", action="append", choices=["boltz1", "boltz2"])
    options = parser.parse_args()
    folder, models = options.folder, options.model or ["boltz1", "boltz2"]
    folder.mkdir(parents=True, exist_ok=True)
    Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
    (folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    mols = dictionary(options.seed)
    check(mols)
    if "boltz2" in models:
        (folder / "mols").mkdir(exist_ok=True)
        for code, mol in mols.items():
            (folder / "mols" / f"{code}.pkl").write_bytes(pickle.dumps(mol))
        # Boltz fetches the dictionary where this file is absent.
        tarfile.open(folder / "mols.tar", "w").close()
        write_checkpoint(folder / "boltz2_conf.ckpt", *boltz2(affinity=False), options.seed)
        write_checkpoint(folder / "boltz2_aff.ckpt", *boltz2(affinity=True), options.seed + 1)
    if "boltz1" in models:
        (folder / "ccd.pkl").write_bytes(pickle.dumps(mols))
        write_checkpoint(folder / "boltz1_conf.ckpt", *boltz1(), options.seed)


if __name__ == "__main__":
    main()
