"""Make a tiny ESMFold of random weights, so that the real transformers package runs without the released ones.

Random weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
from pathlib import Path

import torch
from transformers import EsmConfig, EsmForProteinFolding


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    config = EsmConfig(
        vocab_size=33, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, pad_token_id=1, is_folding_model=True,
        esmfold_config={"trunk": {"num_blocks": 2}, "fp16_esm": False},
    )  # fmt: skip
    model = EsmForProteinFolding(config)
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * 0.02)  # no output is constant
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    model.save_pretrained(options.folder)


if __name__ == "__main__":
    main()
