"""Makes internal/antibody/profiles.txt, and the sequences that its tests compare.

usage: profiles.py FIXTURES PROFILES TESTDATA [NUMBERED.json ...]

FIXTURES is the folder fixtures/validation of the immunum repository (MIT licence), which lists the variable domains of
antibodies and T-cell receptors in the Protein Data Bank (CC0) by kind. The tables were made with its commit 6e2640e.
Only the sequences are read. Those that resemble another one are left out; ANARCII 2.0.8 (BSD-3-Clause) numbers the
others. Three quarters are counted into PROFILES, by the hash of the sequence. The last quarter goes to TESTDATA with
its numbers in each scheme. So do the chains in each NUMBERED.json: {name: {chain, chothia, imgt: [[number, letter,
residue]]}}, as ANARCII numbered them.
"""

import contextlib
import csv
import gzip
import hashlib
import io
import json
import sys
from collections import Counter
from pathlib import Path

from anarcii import Anarcii

# The kinds, the file of each, the letter that ANARCII has for it, and how much of one sequence may be in another.
KINDS = {
    "heavy": ("ab_H", "H", 0.80),
    "kappa": ("ab_K", "K", 0.80),
    "lambda": ("ab_L", "L", 0.80),
    "alpha": ("tcr_A", "A", 0.93),
    "beta": ("tcr_B", "B", 0.93),
    "gamma": ("tcr_G", "G", 0.93),
    "delta": ("tcr_D", "D", 0.93),
}
SCHEMES = ("imgt", "chothia", "kabat", "aho")


def digest(sequence: str) -> str:
    return hashlib.sha1(sequence.encode()).hexdigest()


def held_out(sequence: str) -> bool:
    return int(digest(sequence), 16) % 4 == 0


def distinct(path: Path, limit: float) -> dict[str, str]:
    """Returns sequences of a fixture by name, none of which shares more than the limit of its words with another."""
    with path.open() as f:
        rows = sorted(csv.DictReader(f), key=lambda row: digest(row["sequence"]))
    kept: list[tuple[str, str, set[str]]] = []
    for row in rows:
        s = row["sequence"]
        words = {s[i : i + 4] for i in range(len(s) - 3)}
        if all(len(words & w) <= limit * min(len(words), len(w)) for _, _, w in kept):
            kept.append((row["header"].split("|")[0], s, words))
    return {name: s for name, s, _ in kept}


def number(model: Anarcii, sequences: dict[str, str]) -> dict[str, dict]:
    """Returns, for each sequence, its kind, the first and the last residue that has a number, and the numbers."""
    out: dict[str, dict] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for scheme in SCHEMES:
            results = model.number(list(sequences.values())) if scheme == "imgt" else model.to_scheme(scheme)
            for name, result in zip(sequences, results.values(), strict=True):
                if result["error"] or not result["numbering"]:
                    continue
                e = out.setdefault(name, {"chain": result["chain_type"], "start": result["query_start"]})
                e[scheme] = [f"{n}{letter.strip()}" for (n, letter), residue in result["numbering"] if residue != "-"]
    return out


def plausible(kind: str, columns: dict[str, str]) -> bool:
    """Reports whether ANARCII has the two cysteines in their places: in some T-cell receptors it has not."""
    return kind in ("heavy", "kappa", "lambda") or (columns.get("23"), columns.get("104")) == ("C", "C")


def profile(kind: str, rows: list[dict[str, str]]) -> list[str]:
    """Returns the lines of a kind: at each position, the residues with their counts; a hyphen is a gap."""
    lines = [f"{kind} {len(rows)}"]
    spans = [[int(n) for n in row if n.isdigit()] for row in rows]
    for position in range(1, 129):
        counts = Counter(
            row.get(str(position), "-")
            for row, span in zip(rows, spans, strict=True)
            if min(span) <= position <= max(span)
        )
        ordered = sorted(counts.items(), key=lambda c: (-c[1], c[0]))
        lines.append(" ".join([str(position), *(f"{residue}{n}" for residue, n in ordered)]))
    return lines


def main() -> None:
    fixtures, profiles, testdata, *more = map(Path, sys.argv[1:])
    models = {t: Anarcii(seq_type=t, mode="speed", cpu=True, ncpu=1, batch_size=128) for t in ("antibody", "tcr")}
    lines: list[str] = []
    tests: list[str] = []
    for kind, (file, chain, limit) in KINDS.items():
        sequences = distinct(fixtures / f"{file}_imgt.csv", limit)
        numbered = number(models["antibody" if file.startswith("ab") else "tcr"], sequences)
        rows = []
        for name, n in numbered.items():
            s, start = sequences[name], n["start"]
            if n["chain"] != chain:
                continue
            columns = dict(zip(n["imgt"], s[start:], strict=False))
            if held_out(s):
                tests.append("\t".join([name, kind, s, str(start), *(",".join(n[x]) for x in SCHEMES)]))
            elif plausible(kind, columns):
                rows.append(columns)
        lines += profile(kind, rows)
    kinds = {chain: kind for kind, (_, chain, _) in KINDS.items()}
    for path in more:
        for name, n in json.loads(path.read_text()).items():
            s = "".join(residue for _, _, residue in n["imgt"])
            numbers = [",".join(f"{k}{letter}" for k, letter, _ in n.get(x, [])) for x in SCHEMES]
            tests.append("\t".join([name, kinds[n["chain"]], s, "0", *numbers]))
    profiles.write_text("\n".join(lines) + "\n")
    testdata.write_bytes(gzip.compress(("\n".join(tests) + "\n").encode(), mtime=0))


main()
