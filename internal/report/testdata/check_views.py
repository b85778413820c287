"""Checks states of MolViewSpec with its library, each node with the parameters of its kind, and runs scripts in PyMOL."""

import json
import os
import sys
from pathlib import Path

import molviewspec as mvs
from molviewspec import nodes
from pymol import cmd

folder = Path(sys.argv[1])
os.chdir(folder)

PARAMS = {
    "download": nodes.DownloadParams,
    "parse": nodes.ParseParams,
    "structure": nodes.StructureParams,
    "component": nodes.ComponentInlineParams,
    "color": nodes.ColorInlineParams,
    "tooltip": nodes.TooltipInlineParams,
}


def check(node):
    """A node has a known kind and no parameter that its kind does not have."""
    params = node.get("params", {})
    kind = PARAMS.get(node["kind"])
    if node["kind"] == "representation":
        kind = nodes.RepresentationTypeParams[params["type"]]
    if kind:
        read = kind.model_validate(params)
        assert json.loads(read.model_dump_json(exclude_none=True)) == params, (node["kind"], params)
    else:
        assert node["kind"] == "root" and not params, node
    for child in node.get("children", []):
        check(child)


states = sorted(folder.glob("*.mvsj"))
assert [s.stem for s in states] == ["chains", "confidence"], states
for path in states:
    text = path.read_text()
    mvs.validate_state_tree(text)
    check(json.loads(text)["root"])

COLOURS = {"#0053d6": {"A": [1, 2], "B": [1]}, "#65cbf3": {"A": [3, 4]}, "#ffdb13": {"A": [5]}, "#ff7d45": {"A": [6, 7], "B": [2]}}


def residues(selection):
    """The residues of a selection, by chain."""
    found = {}
    cmd.iterate(selection, "found.setdefault(chain, set()).add(int(resi))", space={"found": found, "int": int, "set": set})
    return {chain: sorted(numbers) for chain, numbers in found.items()}


for name in ("confidence", "chains"):
    cmd.reinitialize()
    cmd.do(f"@{name}.pml", log=0)
    cmd.sync()
    assert cmd.get_object_list() == ["fold"], cmd.get_object_list()
    assert residues("interface") == {"A": [1, 2, 6, 7], "B": [1]}, residues("interface")
    assert residues("chain_L_a_ligand") == {"L": [1]}, residues("chain_L_a_ligand")
    assert cmd.count_atoms("chain_B_x_quit") == cmd.count_atoms("chain B") > 0
    assert residues("rep sticks") == {"A": [1, 2, 6, 7], "B": [1], "L": [1]}, residues("rep sticks")
    if name == "confidence":
        for colour, expected in COLOURS.items():
            wanted = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
            found = {}
            cmd.iterate("polymer and name CA", "seen.setdefault(color, []).append((chain, int(resi)))", space={"seen": found, "int": int})
            at = [r for index, list_ in found.items() if tuple(round(255 * v) for v in cmd.get_color_tuple(index)) == wanted for r in list_]
            assert sorted(at) == sorted((c, n) for c, numbers in expected.items() for n in numbers), (colour, at)
print(f"{len(states)} states and 2 scripts are valid")
