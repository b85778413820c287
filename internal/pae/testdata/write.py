"""Writes the files of this folder: one PAE in the form of each program. It needs numpy.

The error of row i and column j is 2 i + j + 0.5 Å, so that a matrix that is read across has other numbers.
"""

import json

import numpy as np

PAE = np.array([[2 * i + j + 0.5 for j in range(3)] for i in range(3)], dtype=np.float32)
ROWS = PAE.tolist()
PLDDT = [90.1, 80.2, 70.3]


def write(name, document, **how):
    with open(name, "w") as f:
        json.dump(document, f, **how)


# AlphaFold, notebooks/notebook_utils.py (get_pae_json), as version 1 of the database had it.
rows, columns = (n.flatten().tolist() for n in np.indices(PAE.shape) + 1)
distance = np.round(PAE.astype(np.float64), decimals=1).flatten().tolist()
v1 = {"residue1": rows, "residue2": columns, "distance": distance, "max_predicted_aligned_error": 31.75}
write("alphafold-db-v1.json", [v1], indent=None, separators=(",", ":"))
# Versions 2 to 6 of the database, and AlphaFold, alphafold/common/confidence.py (pae_json).
v2 = {"predicted_aligned_error": ROWS, "max_predicted_aligned_error": 31.75}
write("alphafold-db-v4.json", [v2], separators=(",", ":"))
# ColabFold, colabfold/batch.py (write_scores).
write("colabfold.json", {"plddt": PLDDT, "max_pae": 6.5, "pae": ROWS, "ptm": 0.8})
# AlphaFold 3, src/alphafold3/model/confidence_types.py; the Server writes the same.
tokens = {"token_chain_ids": ["A", "A", "B"], "token_res_ids": [1, 2, 1]}
atoms = {"atom_chain_ids": ["A", "A", "B"], "atom_plddts": PLDDT}
write("alphafold3.json", {**atoms, "contact_probs": np.eye(3).tolist(), "pae": ROWS, **tokens}, indent=1)
# Protenix, runner/dumper.py, with need_atom_confidence.
full = {"atom_plddt": [0.9, 0.8, 0.7], "token_pair_pde": ROWS, "contact_probs": np.eye(3).tolist()}
full |= {"token_pair_pae": ROWS, "token_has_frame": [True, True, True], "token_asym_id": [0, 0, 1]}
write("protenix.json", full, indent=4)
# OpenFold3, openfold3/core/runners/writer.py, in both of its forms.
write("openfold3.json", {"plddt": PLDDT, "pde": ROWS, "pae": ROWS}, indent=4)
np.savez_compressed("openfold3.npz", plddt=np.array(PLDDT), pde=PAE, pae=PAE)
# Boltz, boltz/data/write/writer.py.
np.savez_compressed("boltz.npz", pae=PAE)
# What people save of an output of ESMFold or Chai-1: with a dimension of the batch, in half precision, by columns.
np.savez("batch.npz", predicted_aligned_error=PAE[None].astype(np.float16))
np.savez("columns.npz", pae=np.asfortranarray(PAE.astype(np.float64)))
