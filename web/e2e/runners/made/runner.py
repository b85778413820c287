"""A runner for the tests of the page: complexes, ligands, every class of confidence, as many residues as are asked for, and failures.
Its shapes are ideal helices laid side by side, its scores follow from the residues' numbers. It predicts nothing."""

import array
import math
import time
import zlib

import foldrun

NAMES = dict(zip("ACDEFGHIKLMNPQRSTVWY", "ALA CYS ASP GLU PHE GLY HIS ILE LYS LEU MET ASN PRO GLN ARG SER THR VAL TRP TYR".split()))
COLUMNS = "group_PDB id type_symbol label_atom_id label_comp_id label_asym_id label_entity_id label_seq_id auth_asym_id auth_seq_id Cartn_x Cartn_y Cartn_z"
BACKBONE = [("N", "N", 1.55, -28, -0.9), ("CA", "C", 2.28, 0, 0), ("C", "C", 1.67, 27, 1.1), ("O", "O", 1.96, 17, 2.3), ("CB", "C", 3.3, -18, -0.4)]
LONG, WIDE, APART = 40, 7, 9.0  # residues of one helix, helices side by side, Å between them


class Made(foldrun.Runner):
    engine = "made"
    kinds = ("fold", "md")

    def load(self, request):
        self.bare = request.model == "made-bare"
        return foldrun.Ready(engine_version="1")

    def predict(self, job):
        if job.kind == "md":
            raise foldrun.Failure("unsupported", "this engine simulates nothing")
        steps = job.params.get("samplingSteps", 1)
        for i in range(steps):
            job.progress("diffusion", i, steps)
            if i % 10 == 0:
                job.log(f"step {i} of {steps}")
            time.sleep(0.1)
        if job.params.get("recyclingSteps") == 2:
            job.fail("oom", "the device has no memory left for this many tokens")
        if job.params.get("recyclingSteps") == 3:
            job.fail("invalid_input", "chain A has a residue that this engine does not like")
        # 0 to 1 by what is folded, for scores that differ; None: the scores are the same of all.
        text = "".join(item["sequence"] for item in job.input["sequences"])
        differ = [zlib.crc32(f"{text}{k}".encode()) / 2**32 for k in range(4)] if job.params.get("stepScale") == 2 else None
        rows, plddt, chains = [], [], []  # chains: the chain of each token
        entities, polymers, column = [], [], 0
        for number, item in enumerate(job.input["sequences"], 1):
            ligand = item["kind"] == "ligand"
            entities.append(f"{number} {'non-polymer' if ligand else 'polymer'}")
            if not ligand:
                polymers.append(f"{number} 'polypeptide(L)'")
            for chain in item["chains"]:
                at = len(set(chains))
                if ligand:
                    for k in range(6):
                        x, y = 1.4 * math.cos(k * math.pi / 3), 1.4 * math.sin(k * math.pi / 3)
                        rows.append(f"HETATM {len(rows) + 1} C C{k + 1} LIG {chain} {number} . {chain} 1 {column * APART + x:.3f} {y:.3f} 8.000")
                        plddt.append(81.0)
                        chains.append(at)
                    column += 1
                    continue
                text = item["sequence"]
                for i, letter in enumerate(text):
                    turn, along = divmod(i, LONG)
                    up = along if turn % 2 == 0 else LONG - 1 - along
                    for name, element, radius, angle, rise in BACKBONE:
                        if name == "CB" and letter == "G":
                            continue
                        a = math.radians(100 * i + angle)
                        x = (column + turn % WIDE) * APART + radius * math.cos(a)
                        y = turn // WIDE * APART + radius * math.sin(a)
                        rows.append(f"ATOM {len(rows) + 1} {element} {name} {NAMES[letter]} {chain} {number} {i + 1} {chain} {i + 1} {x:.3f} {y:.3f} {up * 1.5 + rise:.3f}")
                    plddt.append(30 + 68 * i / max(1, len(text) - 1))  # every class, from the first residue to the last
                    chains.append(at)
                column += min(WIDE, -(-len(text) // LONG))
        cif = f"data_made\nloop_\n_entity.id\n_entity.type\n" + "\n".join(entities)
        cif += "\nloop_\n_entity_poly.entity_id\n_entity_poly.type\n" + "\n".join(polymers)
        cif += "\nloop_\n" + "\n".join("_atom_site." + c for c in COLUMNS.split()) + "\n" + "\n".join(rows) + "\n"
        path = job.path("model.cif")
        path.write_text(cif, encoding="utf-8")
        job.file("structure", path)
        if self.bare:  # as engines that give a structure alone, and several samples of it
            for rank in range(1, job.params["numModelSeeds"]):
                path = job.path(f"model-{rank}.cif")
                path.write_text(cif, encoding="utf-8")
                job.file("structure", path, rank=rank)
            return foldrun.Result(timings={"trunk": 1.5, "diffusion": 0.25})
        if differ:
            plddt = [v * (0.6 + 0.4 * differ[0]) for v in plddt]
        job.array("plddt", plddt)
        n = len(chains)
        errors = array.array("f", bytes(4 * n * n))
        for i in range(n):
            for j in range(n):
                errors[i * n + j] = min(30.0, 0.02 * abs(i - j) + (i != j) * 0.8) if chains[i] == chains[j] else 12 + i % 7
        raw = job.path("pae.f32")
        raw.write_bytes(errors.tobytes())
        job.file("pae", raw, shape=[n, n])
        names = [c for s in job.input["sequences"] for c in s["chains"]]
        pairs = [{"chain_a": a, "chain_b": b, "iptm": 0.55 + 0.2 * (k % 3)} for k, (a, b) in enumerate((a, b) for i, a in enumerate(names) for b in names[i + 1 :])]
        scores = {"ptm": 0.84, "pae_max": 31.75, **({"iptm": 0.71, "pairs": pairs} if len(names) > 1 else {})}
        if any(s.get("property_type") == "affinity" for s in job.input["sequences"]):
            scores["affinity"] = {"affinity_pred_value": -1.2, "affinity_probability_binary": 0.92}
        if differ:
            scores["ptm"] = round(0.2 + 0.5 * differ[0] + 0.25 * differ[1], 4)
            if "iptm" in scores:
                scores["iptm"] = round(0.1 + 0.4 * differ[0] + 0.45 * differ[2], 4)
                for pair in pairs:
                    pair["iptm"] = round(0.1 + 0.85 * differ[3], 4)
        return foldrun.Result(scores=scores)


foldrun.serve(Made())
