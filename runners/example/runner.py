"""An example of a runner: it draws an ideal helix for any sequence. It predicts nothing and gives no confidence."""

import math

import foldrun

THREE_LETTERS = "ALA CYS ASP GLU PHE GLY HIS ILE LYS LEU MET ASN PRO GLN ARG SER THR VAL TRP TYR"
NAMES = dict(zip("ACDEFGHIKLMNPQRSTVWY", THREE_LETTERS.split()))
COLUMNS = (
    "group_PDB id type_symbol label_atom_id label_comp_id label_asym_id label_entity_id label_seq_id "
    "Cartn_x Cartn_y Cartn_z"
)
ENTITY = "_entity.id 1\n_entity.type polymer\n_entity_poly.entity_id 1\n_entity_poly.type 'polypeptide(L)'\n"


class Example(foldrun.Runner):
    """A runner without a model. Copy it to begin a runner of your own."""

    engine = "example"

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        return foldrun.Ready(engine_version="1")

    def predict(self, job: foldrun.Job) -> foldrun.Result:
        chain, text = job.input["sequences"][0]["chains"][0], job.input["sequences"][0]["sequence"]
        if "P" in text:
            job.fail("invalid_input", f"the residue {text.index('P') + 1} is a proline, which breaks the helix")
        rows = []
        for i, letter in enumerate(text):
            job.progress("diffusion", i, len(text))  # raises Cancelled after a cancel
            turn, rise = math.radians(100 * i), 1.5 * i  # of an ideal alpha helix, radius 2.3 Å
            x, y = 2.3 * math.cos(turn), 2.3 * math.sin(turn)
            rows.append(f"ATOM {i + 1} C CA {NAMES[letter]} {chain} 1 {i + 1} {x:.3f} {y:.3f} {rise:.3f}")
        columns = ["_atom_site." + c for c in COLUMNS.split()]
        loop = "\n".join(["loop_", *columns, *rows]) + "\n"
        path = job.path("model.cif")
        path.write_text("data_helix\n" + ENTITY + loop, encoding="utf-8")
        job.file("structure", path)
        return foldrun.Result(metrics={"length_angstrom": 1.5 * len(text)})


foldrun.serve(Example())
