"""The networks of the package: their weights, their features, and how sequences are drawn."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gemmi
import numpy as np
import torch
from mpnn.model.mpnn import LigandMPNN, ProteinMPNN
from mpnn.transforms.feature_aggregation.token_encodings import MPNN_TOKEN_ENCODING
from mpnn.utils.weights import load_legacy_weights

from backbone import THREE, Chain, complete, observed

MODELS = {"proteinmpnn": ProteinMPNN, "solublempnn": ProteinMPNN, "ligandmpnn": LigandMPNN}
FILES = {
    "proteinmpnn": "proteinmpnn_v_48_020.pt",
    "solublempnn": "solublempnn_v_48_020.pt",
    "ligandmpnn": "ligandmpnn_v_32_010_25.pt",
}
TOKENS = [str(t) for t in MPNN_TOKEN_ENCODING.idx_to_token]
LETTER_OF = {code: letter for letter, code in THREE.items()}
UNKNOWN = "UNK"
NEVER = -1e8  # added to the logit of what must not be drawn
COLDEST = 1e-6  # the most likely amino acid is certain; below it, logits over the temperature overflow
# Residues times sequences that are drawn at once: some GB at most, and a few seconds between two looks at a cancel.
AT_ONCE = 8000
MOST_AT_ONCE = 16


@dataclass
class Token:
    """A residue that the network sees."""

    chain: Chain
    residue: gemmi.Residue
    position: int  # in the chain, from 1
    component: str  # standard, or UNK
    designed: bool


@dataclass
class Drawn:
    """A sequence."""

    letters: str  # of the designed residues, in the order of the tokens
    score: float  # mean negative log-likelihood of the designed residues, in nats


def load(model: str, folder: Path, device: torch.device) -> torch.nn.Module:
    """The network with its released weights, which are tensors alone: the file is not trusted with more."""
    net = MODELS[model]()
    with tensors_alone():
        load_legacy_weights(net, str(folder / FILES[model]))
    return net.eval().to(device)


@contextlib.contextmanager
def tensors_alone() -> Iterator[None]:
    """Makes torch.load refuse files that would run code, whatever its caller says."""
    original = torch.load

    def load(*args: Any, **options: Any) -> Any:
        return original(*args, **{**options, "weights_only": True})

    torch.load = load
    try:
        yield
    finally:
        torch.load = original


def tokens(chains: list[Chain]) -> list[Token]:
    """The residues with a whole backbone. A modified amino acid counts as its parent."""
    out = []
    for chain in chains:
        if not chain.protein:
            continue
        for residue in chain.residues:
            if complete(residue):
                position = residue.label_seq or 0
                component = THREE.get(chain.letter(residue), UNKNOWN)
                out.append(Token(chain, residue, position, component, position in chain.designed))
    return out


def features(chains: list[Chain], seen: list[Token], temperature: float, avoid: str) -> dict[str, Any]:
    """The input of a network for chains and their tokens: what the package's own pipeline makes of them, with a batch
    of one.

    X is (1, L, 37, 3) in Å, for L tokens; Y (1, M, 3) has the atoms of everything that is no protein."""
    atoms = {name: i for i, name in enumerate(MPNN_TOKEN_ENCODING.token_atoms[THREE["A"]])}
    xyz = np.zeros((len(seen), MPNN_TOKEN_ENCODING.n_atoms_per_token, 3), np.float32)
    there = np.zeros(xyz.shape[:2], bool)
    for i, token in enumerate(seen):
        for atom in token.residue:
            k = atoms.get(atom.name)
            if k is not None and observed(atom):
                xyz[i, k], there[i, k] = atom.pos.tolist(), True
    others = context(chains)
    labels = {id(c): i for i, c in enumerate(c for c in chains if c.protein)}
    bias = np.zeros((len(seen), len(TOKENS)), np.float32)
    # The package never draws UNK, but fails where it alone has any probability.
    for component in [UNKNOWN, *(THREE[code] for code in avoid)]:
        bias[:, TOKENS.index(component)] = NEVER
    return {
        "X": tensor(xyz),
        "X_m": tensor(there),
        "S": tensor(np.array([TOKENS.index(t.component) for t in seen], np.int64)),
        "R_idx": tensor(np.array([t.position - 1 for t in seen], np.int32)),
        "chain_labels": tensor(np.array([labels[id(t.chain)] for t in seen], np.int64)),
        "residue_mask": tensor(np.ones(len(seen), bool)),
        "Y": tensor(np.array([a.pos.tolist() for a in others], np.float32).reshape(-1, 3)),
        "Y_t": tensor(np.array([a.element.atomic_number for a in others], np.int32)),
        "Y_m": tensor(np.ones(len(others), bool)),
        "structure_noise": 0.0,
        "decode_type": "auto_regressive",
        "causality_pattern": "auto_regressive",
        "initialize_sequence_embedding_with_ground_truth": False,
        "atomize_side_chains": False,
        "features_to_return": {"input_features": [], "decoder_features": ["logits", "S_sampled"]},
        "designed_residue_mask": tensor(np.array([t.designed for t in seen], bool)),
        "temperature": tensor(np.full(len(seen), max(temperature, COLDEST), np.float32)),
        "symmetry_equivalence_group": None,
        "symmetry_weight": None,
        "bias": tensor(bias),
        "pair_bias": None,
    }


def tensor(values: np.ndarray) -> torch.Tensor:
    """An array as a tensor with a batch of one."""
    return torch.from_numpy(values)[None]


def batch(residues: int, parallel: int) -> int:
    """How many sequences are drawn at once."""
    most = max(1, min(MOST_AT_ONCE, AT_ONCE // max(residues, 1)))
    return min(most, parallel) if parallel else most


def draw(net: torch.nn.Module, made: dict[str, Any], seen: list[Token], number: int) -> list[Drawn]:
    """Draws sequences. The score is that of the amino acids at temperature 1 among all tokens, what is avoided too, in
    the order in which the network has drawn them."""
    device = next(net.parameters()).device
    given = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in made.items()}
    given["repeat_sample_num"] = number if number > 1 else None
    out = net({"input_features": given})["decoder_features"]
    sampled = out["S_sampled"].cpu()
    likely = torch.log_softmax(out["logits"].float(), -1).cpu()
    places = [i for i, t in enumerate(seen) if t.designed]
    result = []
    for row, scores in zip(sampled, likely):
        codes = "".join(LETTER_OF[TOKENS[int(row[i])]] for i in places)
        nll = -sum(float(scores[i, row[i]]) for i in places) / len(places)
        result.append(Drawn(codes, nll))
    return result


def context(chains: list[Chain]) -> list[gemmi.Atom]:
    """The atoms of everything that is no protein, without hydrogens."""
    return [a for c in chains if not c.protein for r in c.residues for a in r if not a.is_hydrogen() and observed(a)]
