"""The runner of the part idle: it writes how long its device was idle between two predictions, in seconds.

It draws an ideal helix with made-up confidence, so that the service has as much to check, draw and store as after a
real fold, and sleeps instead of computing: the processor is free, as it is while an accelerator computes.
"""

import array
import math
import sys
import time

import foldrun

COMPUTING = 0.5  # seconds of each prediction
COLUMNS = (
    "group_PDB id type_symbol label_atom_id label_comp_id label_asym_id label_entity_id label_seq_id "
    "Cartn_x Cartn_y Cartn_z"
)
ENTITY = "_entity.id 1\n_entity.type polymer\n_entity_poly.entity_id 1\n_entity_poly.type 'polypeptide(L)'\n"


class Bench(foldrun.Runner):
    """A runner that measures its own idle time."""

    engine = "bench"
    ended: float | None = None  # when the last prediction ended

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        return foldrun.Ready(engine_version="1")

    def predict(self, job: foldrun.Job) -> foldrun.Result:
        began = time.monotonic()
        if self.ended is not None:
            with open(sys.argv[1], "a", encoding="ascii") as idle:
                print(began - self.ended, file=idle)
        result = self.fold(job)
        self.ended = time.monotonic()
        return result

    def fold(self, job: foldrun.Job) -> foldrun.Result:
        """Draws the helix of a chain of alanine."""
        chain, text = job.input["sequences"][0]["chains"][0], job.input["sequences"][0]["sequence"]
        n, rows = len(text), []
        for i in range(n):
            for name, angle, rise, radius in (("N", -28, -0.9, 1.5), ("CA", 0, 0, 2.3), ("C", 27, 1.1, 1.7)):
                turn, z = math.radians(100 * i + angle), 1.5 * i + rise
                xyz = f"{radius * math.cos(turn):.3f} {radius * math.sin(turn):.3f} {z:.3f}"
                rows.append(f"ATOM {len(rows) + 1} {name[0]} {name} ALA {chain} 1 {i + 1} {xyz}")
        columns = ["_atom_site." + c for c in COLUMNS.split()]
        loop = "\n".join(["loop_", *columns, *rows]) + "\n"
        path = job.path("model.cif")
        path.write_text("data_helix\n" + ENTITY + loop, encoding="utf-8")
        job.file("structure", path)
        job.array("plddt", [70.0 + i % 25 for i in range(n)])
        row = array.array("f", [min(30.0, 0.1 * i) for i in range(n)])
        pae = job.path("pae.f32")
        pae.write_bytes(b"".join((row[n - i :][::-1] + row[: n - i]).tobytes() for i in range(n)))
        job.file("pae", pae, shape=[n, n])
        time.sleep(COMPUTING)
        return foldrun.Result(scores={"ptm": 0.8})


foldrun.serve(Bench())
