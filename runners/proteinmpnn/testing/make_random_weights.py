"""Make checkpoints of random weights, so that the real networks of rc-foundry run without their released ones.

They have the form of the released files, which the package calls legacy: its loader renames and reorders what is in
them. Random weights prove that data flows, never that a sequence is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
import ast
import inspect
import sys
from pathlib import Path

import torch
from mpnn.model.mpnn import LigandMPNN, ProteinMPNN
from mpnn.utils import weights

NOISE = 0.1  # spread of the noise on every weight: enough that sequences differ
ATOM_TYPES = ("embed_atom_type_features.weight", "ligand_subgraph_node_embedding.weight")


def new_names():
    """The names of weights in the released files, by those in the networks, as the package's loader has them."""
    for node in ast.walk(ast.parse(inspect.getsource(weights.load_legacy_weights))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "legacy_weight_to_new_weight":
            return {new: old for old, new in ast.literal_eval(node.value).items()}
    raise SystemExit("the package's loader has no table of names")


def checkpoint(network):
    """The weights of a network in the form of a released file."""
    names, out = new_names(), {}
    learned = {name for name, _ in network.named_parameters()}
    for name, value in network.state_dict().items():
        if name not in learned:
            continue
        value = value.detach() + NOISE * torch.randn_like(value)
        if name.endswith(ATOM_TYPES):  # released files have one atom type more, which the loader drops
            at = network.graph_featurization_module.num_atomic_numbers
            value = torch.cat([value[:, :at], torch.zeros(len(value), 1), value[:, at:]], 1)
        out[names.get(name, name)] = value
    return {"model_state_dict": out}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.save(checkpoint(ProteinMPNN()), args.folder / "proteinmpnn_v_48_020.pt")
    torch.save(checkpoint(ProteinMPNN()), args.folder / "solublempnn_v_48_020.pt")
    torch.save(checkpoint(LigandMPNN()), args.folder / "ligandmpnn_v_32_010_25.pt")
    (args.folder / "RANDOM_WEIGHTS").write_text(
        "The weights in this folder are random. What they predict has no meaning.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
