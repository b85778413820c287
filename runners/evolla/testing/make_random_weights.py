"""Make a tiny Evolla of random weights, so that the real transformers package runs without the released ones.

It answers with words in no order: random weights prove that data flows, never that an answer is right.

    python make_random_weights.py FOLDER [--seed 7]
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import EsmTokenizer, EvollaConfig, EvollaForProteinText2Text, EvollaProcessor, PreTrainedTokenizerFast

# Amino acids times states of the structural alphabet, in SaProt's order; # is unknown.
AMINO_ACIDS, STATES = "ACDEFGHIKLMNPQRSTVWY#", "pynwrqhgdlvtmfsaeikc#"
SPECIAL = ["<unk>", "<|begin_of_text|>", "<|eot_id|>", "<|reserved_special_token_0|>"]
WORDS = "a the protein chain binds folds helix sheet what does it of is in and residue ligand domain function enzyme with how many".split()
TEMPLATE = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} <|eot_id|> {% endfor %}assistant"


def processor(folder: Path) -> EvollaProcessor:
    """Both tokenizers: pairs of amino acid and state, and a few words."""
    pairs = [a + s for a in AMINO_ACIDS for s in STATES]
    (folder / "vocab.txt").write_text("\n".join(["<cls>", "<pad>", "<eos>", "<unk>", "<mask>", *pairs]))
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(SPECIAL + WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    text = PreTrainedTokenizerFast(tokenizer_object=words, unk_token=SPECIAL[0], bos_token=SPECIAL[1], eos_token=SPECIAL[2])
    text.add_special_tokens({"pad_token": SPECIAL[3]})
    text.chat_template = TEMPLATE
    text.padding_side = "left"
    return EvollaProcessor(EsmTokenizer(str(folder / "vocab.txt")), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(options.seed)
    processor(options.folder).save_pretrained(options.folder)
    config = EvollaConfig(
        vocab_size=len(SPECIAL + WORDS), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128,
        aligner_num_add_layers=1, resampler_depth=1, resampler_num_latents=8, bos_token_id=1, eos_token_id=2, pad_token_id=3,
        protein_encoder_config={
            "vocab_size": 446, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64,
        },
    )  # fmt: skip
    model = EvollaForProteinText2Text(config)
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            weight.add_(torch.randn_like(weight) * 0.3)  # fresh gates are shut: the protein would change no word
    model.generation_config.max_new_tokens = 24
    model.save_pretrained(options.folder)
    (options.folder / "RANDOM_WEIGHTS").write_text("Made by make_random_weights.py: no answer of these weights means anything.\n")


if __name__ == "__main__":
    main()
