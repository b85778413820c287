"""Make IntelliFold 2-flash with few blocks and random weights, and a small chemical dictionary, so that the real package runs
without the released files.

Random weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
import json
import pickle
import sys
from pathlib import Path

import torch
from intellifold.openfold.model.model import IntelliFold
from intellifold.openfold.v2_flash_inference_config import get_model_config
from rdkit import Chem

sys.path.insert(0, str(Path(__file__).parents[2] / "testing"))
from dictionary import dictionary  # noqa: E402

# The sizes that differ from those of the released model, which the weights alone do not say; and the lengths that jobs
# are padded to, the package's smallest being 256 tokens.
SIZES = {
    "config": {
        "backbone.input_embedder.no_blocks": 1, "backbone.template_embedder.no_blocks": 1, "backbone.msa.msa_stack.no_blocks": 1,
        "backbone.pairformer_stack.no_blocks": 1, "diffusion.atom_attention_encoder.no_blocks": 1,
        "diffusion.diffusion_transformer.no_blocks": 1, "diffusion.atom_attention_decoder.no_blocks": 1,
        "confidence_head.pairformer_stack.no_blocks": 1,
    },
    "lengths": [32, 64, 128, 256],
}  # fmt: skip
# Spread of the noise on every weight: enough that no output is constant, small enough that none overflows.
NOISE = 0.02


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    (folder / "sizes.json").write_text(json.dumps(SIZES, indent=1) + "\n")
    Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
    (folder / "ccd_v2.pkl").write_bytes(pickle.dumps(dictionary(options.seed)))
    torch.manual_seed(options.seed)
    config = get_model_config(argparse.Namespace(sampling_steps=200, recycling_iters=10))
    config.update_from_flattened_dict(SIZES["config"])
    model = IntelliFold(config)
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * NOISE)
    torch.save(model.state_dict(), folder / "intellifold_v2_flash.pt")


if __name__ == "__main__":
    main()
