"""Make a tiny ESMFold and a tiny ESMFold2 of random weights, so that the real transformers package runs without the released ones.

Random weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
from pathlib import Path

import torch
from transformers import EsmConfig, EsmFold2Config, EsmFold2Model, EsmForProteinFolding


MARKER = "Made by make_random_weights.py: no prediction of these weights means anything.\n"


def esmfold():
    return EsmForProteinFolding(EsmConfig(
        vocab_size=33, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, pad_token_id=1, is_folding_model=True,
        esmfold_config={"trunk": {"num_blocks": 2}, "fp16_esm": False},
    ))  # fmt: skip


def esmfold2():
    atoms = dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, output_dim=32)
    return EsmFold2Model(EsmFold2Config(
        hidden_size=32, pairwise_hidden_size=16, pair_transition_intermediate_size=32, folding_trunk_num_hidden_layers=2, num_loops=2,
        single_inputs_size=32 + 2 * 33 + 1,  # of the atoms, and of two one-hot residues and their deletions
        atom_encoder=atoms, confidence_head=dict(num_hidden_layers=1), lm_encoder=dict(num_hidden_layers=1),
        msa_encoder=dict(hidden_size=16, outer_hidden_size=8, num_hidden_layers=2, num_attention_heads=2, head_dim=8, intermediate_size=32),
        structure_head=dict(num_diffusion_samples=2, inference_num_steps=10, diffusion_module=dict(
            hidden_size=32, fourier_dim=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, pair_intermediate_size=32, atom_encoder=atoms)),
        esmc_config=dict(model_type="esmc", hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64),
    ))  # fmt: skip


def save(model, folder):
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * 0.02)  # no output is constant
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RANDOM_WEIGHTS").write_text(MARKER)
    model.save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    for make, folder in ((esmfold, options.folder), (esmfold2, options.folder / "esmfold2")):
        torch.manual_seed(options.seed)
        save(make(), folder)


if __name__ == "__main__":
    main()
