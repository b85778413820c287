"""Run where httpx is the only package: the client can be imported, and says which package a feature needs."""

import importlib.util

import pleat
from pleat import errors, webhooks
from pleat.models import Scores
from pleat.structure import Structure

for package in ("numpy", "pandas", "tqdm", "py3Dmol", "gemmi", "biotite", "Bio", "MDAnalysis"):
    assert importlib.util.find_spec(package) is None, f"{package} is installed, so that this proves nothing"

with pleat.Pleat("http://127.0.0.1:9", "k") as client:
    assert "127.0.0.1:9" in repr(client)
assert callable(webhooks.verify)

scores = Scores(
    chains=("A",),
    mean_plddt=50.0,
    predicted_rmsd=None,
    ptm=None,
    iptm=None,
    max_pae=None,
    affinity=None,
    pairs=(),
    templates=None,
    confidence="",
    sequence_id=None,
)
structure = Structure(name="x", scores=scores, cif="data_x\n", plddt_by_chain={"A": (50.0,)}, secondary_structure={})
assert "<td>50.0</td>" in structure.to_html()
FEATURES = {
    "arrays": lambda: structure.plddt,
    "pandas": structure.pairs_to_pandas,
    "structure": structure.to_gemmi,
    "notebook": structure.view,
}
for extra, feature in FEATURES.items():
    try:
        feature()
    except errors.MissingPackage as e:
        assert f"the extra [{extra}]" in str(e), e
    else:
        raise AssertionError(f"{extra} needs no package")
print("the core needs httpx alone")
