#!/usr/bin/env python3
"""Holds the table of formula.go against the Chemical Component Dictionary, as biotite ships it.

    pip install biotite
    python formulas.py          # exits 1 where a formula differs
    python formulas.py print    # writes the table for the codes of internal/structure/residues.go

A formula within a chain is that of the neutral free molecule without one water. The dictionary has some residues as
cations: each positive charge is one hydrogen less. Caps replace the hydrogen or the hydroxyl of a chain's end.
"""

import collections
import pathlib
import re
import sys

from biotite.structure.info.ccd import get_from_ccd

HERE = pathlib.Path(__file__).parent
RESIDUES = (HERE / "../../structure/residues.go").read_text()
TABLE = (HERE / "../formula.go").read_text() if (HERE / "../formula.go").exists() else ""
CAPS = {"ACE": {"H": -2}, "FOR": {"H": -2}, "NH2": {"O": -1, "H": -1}, "NME": {"O": -1, "H": -2}, "ETA": {"O": -1, "H": -2}}
# Codes that molecular dynamics programs use for protonation states; the dictionary has other molecules by them, or none.
OTHER = set("CYX CYM LYN GLH ASH HSD HSE HSP HID HIE HIP RA RC RG RU T N DN UNK ASX GLX".split())
ORDER = ["C", "H", "N", "O", "P", "S", "SE", "BR", "AS"]


def formula(code):
    field = lambda name: str(get_from_ccd("chem_comp", code, name).as_array()[0])
    count = collections.Counter()
    for symbol, n in re.findall(r"([A-Z][a-z]?)(\d*)", field("formula")):
        count[symbol.upper()] += int(n or 1)
    count["H"] -= int(field("pdbx_formal_charge"))
    if code in CAPS:
        for symbol, n in CAPS[code].items():
            count[symbol] += n
    else:
        count["H"] -= 2
        count["O"] -= 1
    assert set(count) <= set(ORDER), count
    return " ".join(s + (str(count[s]) if count[s] != 1 else "") for s in ORDER if count[s] or (code, s) == ("ETA", "O"))


codes = set(re.findall(r'"([A-Z0-9]{1,3})":\s*\'', RESIDUES)) | set(re.findall(r'\'[A-Z]\': "([A-Z]{3})"', RESIDUES))
codes = sorted((codes | set(CAPS)) - OTHER)
if sys.argv[1:] == ["print"]:
    for code in codes:
        print('"%s": "%s",' % (code, formula(code)))
    sys.exit()
table = dict(re.findall(r'"([A-Z0-9]{1,3})": "([A-Z0-9 -]+)"', TABLE))
wrong = [(c, table.get(c), formula(c)) for c in codes if table.get(c) != formula(c)]
wrong += [(c, f, "not among the codes") for c, f in table.items() if c not in codes]
print(wrong or "%d formulas agree" % len(codes))
sys.exit(bool(wrong))
