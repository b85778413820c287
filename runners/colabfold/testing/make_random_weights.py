"""Make parameters of AlphaFold 2 at random, so that the real packages run without the released ones.

The files have the names and arrays of the released ones, with fewer blocks in the trunk (--blocks 48 gives the full size). Random
weights prove that data flows, never that a prediction is right.

    python make_random_weights.py FOLDER [--seed 7] [--blocks 1] [--model monomer|multimer]
"""

import argparse
import os
import tarfile
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from alphafold.model import config, model
from colabfold import batch

SEQUENCE = "GSHMKT"  # of what the shapes are computed for; no parameter depends on it
TYPES = {
    "monomer": ("alphafold2_ptm", "ptm", "alphafold_params_2021-07-14.tar"),
    "multimer": ("alphafold2_multimer_v3", "multimer_v3", "alphafold_params_colab_2022-12-06.tar"),
}
# Gains of a layer and of the heads, chosen so that confidences differ between residues and between models. Numbers are rounded, so
# that the files compress.
GAIN, HEADS, STEP = 2.0, {"predicted_aligned_error_head": 0.1, "predicted_lddt_head": 4.0}, 1 / 1024


def shapes(name: str, kind: str, blocks: int) -> dict:
    """Module → array → shape, as the package would make them itself, its projections apart as in the released files."""
    cfg = config.model_config(name)
    trunk = cfg.model.embeddings_and_evoformer
    trunk.evoformer_num_block, trunk.extra_msa_stack_num_block = blocks, min(blocks, 4)
    stacks = [trunk.evoformer, trunk.template.template_pair_stack]
    if kind == "alphafold2_multimer_v3":
        trunk.num_msa = trunk.num_extra_msa = 1
    for stack in stacks:
        stack.triangle_multiplication_incoming.fuse_projection_weights = False
        stack.triangle_multiplication_outgoing.fuse_projection_weights = False
    runner = model.RunModel(cfg)
    features, _ = batch.generate_input_feature([SEQUENCE], [1], None, None, [batch.mk_mock_template(SEQUENCE)], False, kind, max_seq=1)
    if kind == "alphafold2_ptm":
        features = {k: v[:1] for k, v in runner.process_features(features, 0).items()}
    n = len(SEQUENCE)
    features["prev"] = {"prev_msa_first_row": np.zeros([n, 256]), "prev_pair": np.zeros([n, n, 128]), "prev_pos": np.zeros([n, 37, 3])}
    found = jax.eval_shape(runner.init, jax.random.PRNGKey(0), features)
    return {module: {k: v.shape for k, v in arrays.items()} for module, arrays in found.items()}


def values(module: str, name: str, shape: tuple, rng) -> np.ndarray:
    noise = rng.standard_normal(shape, dtype=np.float32)
    own = shape[1:] if "evoformer_iteration" in module or "extra_msa_stack" in module else shape  # the blocks of a stack come first
    if name == "scale":  # of a layer norm
        noise = 1 + noise / 10
    elif name in ("bias", "offset") or name.endswith("_b"):
        noise /= 20
    elif len(own) > 1:
        inputs = np.prod(own[:-1]) if name == "output_w" else own[0]
        noise *= next((gain for head, gain in HEADS.items() if head in module), GAIN) / np.sqrt(inputs)
    return (np.round(noise / STEP) * STEP).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--model", action="append", choices=TYPES)
    options = parser.parse_args()
    out = options.folder / "params"
    out.mkdir(parents=True, exist_ok=True)
    (options.folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no prediction of these weights means anything.\n")
    for chosen in options.model or TYPES:
        kind, suffix, archive = TYPES[chosen]
        tarfile.open(options.folder / archive, "w").close()  # the released files come in it, and the service looks for it
        for number in range(1, 6):
            layout = shapes(f"model_{number}_{suffix}", kind, options.blocks)  # two of monomer have modules for templates
            rng = np.random.default_rng([options.seed, number])
            arrays = {f"{m}//{k}": values(m, k, shape, rng) for m, found in sorted(layout.items()) for k, shape in sorted(found.items())}
            np.savez_compressed(out / f"params_model_{number}_{suffix}.npz", **arrays)


if __name__ == "__main__":
    main()
