"""Make small SimpleFold models, a small ESM-2 and a small chemical dictionary of random weights, so that the real package runs
without the released files.

Random weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
import pickle
import sys
from importlib import resources
from pathlib import Path

import hydra
import omegaconf
import simplefold
import torch
from esm import ESM2, Alphabet
from rdkit import Chem

sys.path.insert(0, str(Path(__file__).parents[2] / "testing"))
from dictionary import dictionary  # noqa: E402

sys.path.append(str(Path(simplefold.__file__).parent))  # as the package's command does

HIDDEN, HEADS, DEPTH = 96, 4, 2
# The smallest ESM-2 that the package's table of sizes knows: 6 layers of 320.
ESM_NAME, ESM_LAYERS, ESM_WIDTH, ESM_HEADS = "esm2_8M", 6, 320, 20
MODELS = ("100M", "1.6B")
NOISE = 0.02


def config(name: str):
    """The package's configuration, made small."""
    c = omegaconf.OmegaConf.load(resources.files("simplefold.configs") / "model" / "architecture" / f"{name}.yaml")
    trunk = c.transformer_blocks if name == "plddt_module" else c.trunk
    c.hidden_size = trunk.block.hidden_size = trunk.block.self_attention_layer.hidden_size = HIDDEN
    trunk.block.self_attention_layer.pos_embedder.embed_dim = HIDDEN
    trunk.block.self_attention_layer.num_heads = trunk.block.self_attention_layer.pos_embedder.num_heads = HEADS
    trunk.depth = DEPTH
    if name != "plddt_module":
        c.esm_model, c.time_embedder.hidden_size, c.num_heads = ESM_NAME, HIDDEN, HEADS
    return c


def noisy(model):
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * NOISE)
    return model.state_dict()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
    (folder / "ccd.pkl").write_bytes(pickle.dumps(dictionary(options.seed)))
    torch.manual_seed(options.seed)
    files = {f"foldingdit_{m}": f"simplefold_{m}.ckpt" for m in MODELS} | {"plddt_module": "plddt_module_1.6B.ckpt"}
    for name, file in files.items():
        small = config(name)
        omegaconf.OmegaConf.save(small, folder / f"{name}.yaml")
        torch.save(noisy(hydra.utils.instantiate(small)), folder / file)
    model = ESM2(ESM_LAYERS, ESM_WIDTH, ESM_HEADS, Alphabet.from_architecture("ESM-1b"), token_dropout=True)
    sizes = argparse.Namespace(encoder_layers=ESM_LAYERS, encoder_embed_dim=ESM_WIDTH, encoder_attention_heads=ESM_HEADS, token_dropout=True)
    torch.save({"model": noisy(model), "cfg": {"model": sizes}}, folder / "esm2_t36_3B_UR50D.pt")


if __name__ == "__main__":
    main()
