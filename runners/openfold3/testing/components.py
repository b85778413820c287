"""The file internal/chem/components.gz, of biotite's copy of the Chemical Component Dictionary: scripts/components.

The file is text, compressed, in six parts that an empty line ends:

- the date of the newest change in the dictionary;
- the codes in the order of their bytes, one a line, each without the letters that it shares with the one before, whose number
  stands before the rest;
- for each code, the number of its atoms other than hydrogen, in one line;
- for each code, how many of these leave when a chain forms, in one line;
- for each code that can be a residue of a chain, or is a sugar: the code and the names of these atoms, one code a line. A minus
  after a name says that the atom leaves;
- for each standard residue that is the parent of others: its code and theirs, one parent a line.
"""

import gzip
import sys
from pathlib import Path

HYDROGEN = ("H", "D")
# Words in the types of components whose names the file has.
NAMED = ("LINKING", "TERMIN", "PEPTIDE", "SACCHARIDE")
# The residues whose modified forms the file has.
STANDARD = """ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL A C G U DA DC DG DT""".split()


def atoms():
    """Code → [(name, whether it leaves)] of its atoms other than hydrogen; the codes with names; the newest change."""
    from biotite.structure.info.ccd import get_ccd

    ccd = get_ccd()
    atom, component = ccd["chem_comp_atom"], ccd["chem_comp"]
    columns = ("comp_id", "atom_id", "type_symbol", "pdbx_leaving_atom_flag")
    out = {}
    for code, name, symbol, leaves in zip(*(atom[c].as_array(str).tolist() for c in columns)):
        found = out.setdefault(code, [])
        if symbol.upper() not in HYDROGEN:
            found.append((name, leaves == "Y"))
    types = zip(component["id"].as_array(str).tolist(), component["type"].as_array(str).tolist())
    named = {code for code, kind in types if code in out and any(word in kind.upper() for word in NAMED)}
    return out, named, max(component["pdbx_modified_date"].as_array(str).tolist())


def parents():
    """Standard residue → the codes whose only parent it is, by mon_nstd_parent_comp_id of the dictionary."""
    from biotite.structure.info.ccd import get_ccd

    component = get_ccd()["chem_comp"]
    out = {}
    for code, parent in zip(*(component[c].as_array(str).tolist() for c in ("id", "mon_nstd_parent_comp_id"))):
        if parent in STANDARD and code != parent:
            out.setdefault(parent, []).append(code)
    return {parent: sorted(out[parent]) for parent in sorted(out)}


def text():
    """The text of the file."""
    found, named, date = atoms()
    codes = sorted(found)
    lines, before = [], ""
    for code in codes:
        shared = next((i for i, (a, b) in enumerate(zip(before, code)) if a != b), min(len(before), len(code)))
        lines.append(f"{shared}{code[shared:]}")
        before = code
    heavy = " ".join(str(len(found[c])) for c in codes)
    leaving = " ".join(str(sum(leaves for _, leaves in found[c])) for c in codes)
    names = [" ".join([c, *(n + "-" * leaves for n, leaves in found[c])]) for c in codes if c in named]
    derived = [" ".join([parent, *codes]) for parent, codes in parents().items()]
    return "\n\n".join([date, "\n".join(lines), heavy, leaving, "\n".join(names), "\n".join(derived)]) + "\n"


def main(what, path):
    wanted = text()
    if what == "--write":
        Path(path).write_bytes(gzip.compress(wanted.encode(), 9, mtime=0))
    elif gzip.decompress(Path(path).read_bytes()).decode() != wanted:
        sys.exit(f"{path} is not what biotite's dictionary says; run scripts/components")


if __name__ == "__main__":
    main(*sys.argv[1:])
