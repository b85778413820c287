"""A runner for the tests of designs: it draws sequences at random and folds nothing."""

import json
import random
import re

import foldrun

THREE = dict(zip("ARNDCQEGHILKMFPSTWYV", "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split()))
ONE = {v: k for k, v in THREE.items()}
COLUMNS = "group_PDB id type_symbol label_atom_id label_comp_id label_asym_id label_seq_id Cartn_x Cartn_y Cartn_z B_iso_or_equiv".split()


def spans(text, length):
    """The positions, from 0, that a res_index names; all of them if it is absent."""
    out = []
    for part in text.split(",") if text else [f"1..{length}"]:
        low, _, high = part.partition("..")
        out += range(int(low) - 1, int(high or low))
    return out


def cif(chains, b=71.5, moved=0):
    """The chains as mmCIF, the first of them moved along z by so many Å."""
    rows = []
    for k, (name, sequence) in enumerate(chains):
        for i, letter in enumerate(sequence):
            for j, atom in enumerate(["N", "CA", "C", "O"]):
                rows.append(f"ATOM {len(rows) + 1} {atom[0]} {atom} {THREE[letter]} {name} {i + 1} {3.8 * i + j:.3f} {9 * k + j * i % 3} {j + moved * (k == 0)} {b:.2f}")
    return "data_x\nloop_\n" + "".join(f"_atom_site.{c}\n" for c in COLUMNS) + "\n".join(rows) + "\n"


class Designer(foldrun.Runner):
    engine = "designer"
    kinds = ("fold", "design")

    def load(self, request):
        self.model = request.model
        return foldrun.Ready(engine_version="1")

    def predict(self, job):
        if self.model == "designer-complex":
            job.path("model.cif").write_text(cif([(c, s["sequence"]) for s in job.input["sequences"] for c in s["chains"]], moved=2))
            job.file("structure", "model.cif")
            return foldrun.Result(scores={"ptm": 0.5, "iptm": 0.25})
        draw = random.Random(job.seed)
        spec_path = job.workdir / job.input["spec"]
        entities = json.loads(spec_path.read_text())["entities"]
        if self.model == "sequencer":
            return self.redesign(job, draw, spec_path.parent, entities[0]["file"])
        binder = next(e["protein"] for e in entities if "protein" in e)
        target = []
        for e in entities:
            if "file" in e:
                text = (spec_path.parent / e["file"]["path"]).read_text()
                names = re.findall(r"^ATOM +\d+ +(?:\S+ )?CA \S* *(\w{3}) ", text, re.M)
                target = [("X", "".join(ONE[n] for n in names))]
        number = job.params["numDesigns"]
        rows, returned = [], []
        for stage in ["design", "inverse_folding", "folding", "analysis", "filtering"]:
            for i in range(number):
                job.progress(stage, i + 1, number)
        considered = max(number - 1, 1)
        for i in range(considered):
            sequence = ""
            for low, high, letters in re.findall(r"(\d+)(?:\.\.(\d+))?|([A-Z]+)", binder["sequence"]):
                sequence += letters or "".join(draw.choice("ARNDEQGHILKMFPSTWYV") for _ in range(draw.randint(int(low), int(high or low))))
            rank = i + 1 if i < 1 else i + 2
            row = {"id": f"{job.input['stem']}_{rank}", "final_rank": rank, "pass_filters": i == 0, "designed_chain_sequence": sequence,
                   "designed_sequence": sequence, "num_design": len(sequence), "quality_score": 1 - i / 10, "ptm": 0.5, "design_to_target_iptm": 0.4 + i / 100,
                   "min_design_to_target_pae": 5.0 + i, "failed_filters": [] if i == 0 else ["filter_rmsd"], "filter_rmsd_design": 99999 if i == 0 else 1.5}
            if target:
                row["bindsite_under_5rmsd"] = 0.5
            rows.append(row)
            if i < job.params["budget"]:
                path = f"d{i}.cif"
                job.path(path).write_text(cif([("Y", sequence), *target]))
                returned.append((path, row))
        job.path("designs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        job.file("designs", "designs.jsonl")
        names = [next(iter(e.values())) for e in entities]
        chain_map = {"Y": binder["id"]}
        if target:
            chain_map["X"] = names[1]["include"][0]["chain"]["id"]
        for path, row in returned:
            job.file("design", path, id=row["id"], rank=row["final_rank"])
        job.path("all_designs_metrics.csv").write_text("id\n")
        job.file("table", "all_designs_metrics.csv")
        job.path("results_overview.pdf").write_text("%PDF")
        job.file("report", "results_overview.pdf")
        return foldrun.Result(chain_map=chain_map, metrics={"generated": number, "duplicates": number - considered},
                              notes=["The sequences are drawn at random."],
                              params={"alpha": job.params.get("alpha", 0.01), "refoldingRmsdThreshold": 2.5})

    def redesign(self, job, draw, folder, file):
        text = (folder / file["path"]).read_text()
        assert set(file) == {"path", "design"} and "_pdbx_poly_seq_scheme" in text and "_ma_qa_metric" not in text
        given = [ONE[n] for n in re.findall(r"^ATOM +\d+ +(?:\S+ )?CA \S* *(\w{3}) ", text, re.M)]
        chain = file["design"][0]["chain"]
        places = spans(chain.get("res_index", ""), len(given))
        rows = []
        for i in range(job.params["numDesigns"]):
            letters = list(given)
            for k in places:
                letters[k] = draw.choice("ARNDEQGHILKMFPSTWYV")
            designed = "".join(letters[k] for k in places)
            kept = sum(letters[k] == given[k] for k in places) / len(places)
            rows.append({"id": f"{job.input['stem']}_{i + 1}", "final_rank": i + 1, "quality_score": None, "designed_sequence": designed, "num_design": len(places),
                         "designed_chain_sequence": "".join(letters), "sequence_score": 1.25 + i / 100, "sequence_recovery": kept})
            job.progress("design", i + 1, job.params["numDesigns"])
        job.path("designs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        job.file("designs", "designs.jsonl")
        for row in rows[: job.params["budget"]]:
            path = f"{row['id']}.cif"
            job.path(path).write_text(cif([("Y", row["designed_chain_sequence"])], 0))
            job.file("design", path, id=row["id"], rank=row["final_rank"])
        return foldrun.Result(chain_map={"Y": chain["id"]}, metrics={"generated": len(rows), "duplicates": 0})


foldrun.serve(Designer())
