"""The runner of IntelliFold 2-flash: the PyTorch package's own functions, with the model and the dictionary kept between jobs.

It does what `intellifold predict` does, step by step, less the command line, which fetches what is missing, prints its failures
and goes on.
"""

import json
import pickle
import random
from argparse import Namespace
from contextlib import contextmanager
from importlib.metadata import version

import foldrun
import intellifold.data.module.inference as package
import numpy as np
import torch
import torch.nn.functional as F
from document import Refused, build
from foldrun import Failure, Watch
from foldrun.alignment import MAX_ROWS, Broken, rows, table
from intellifold.data import const
from intellifold.data.feature.featurizer import BoltzFeaturizer
from intellifold.data.parse.csv import parse_csv
from intellifold.data.parse.yaml import parse_yaml
from intellifold.data.tokenize.boltz import BoltzTokenizer
from intellifold.data.write.writer import write_cif
from intellifold.openfold.model.confidences import get_summary_confidence
from intellifold.openfold.model.model import IntelliFold
from intellifold.openfold.utils.atom_token_conversion import aggregate_fn_advanced
from intellifold.openfold.v2_flash_inference_config import get_model_config
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem

WEIGHTS, DICTIONARY = "intellifold_v2_flash.pt", "ccd_v2.pkl"
# Beside weights of another size than the released: what differs in the model's configuration, by dotted name, and the lengths to
# which jobs are padded.
SIZES = "sizes.json"
# A folder of random weights has this file, so that no result of it passes for a prediction.
RANDOM = "RANDOM_WEIGHTS"
NAME = "job"
# The package's attention over atoms works in windows, of which it needs four: it fails on a job of fewer atoms.
LEAST_ATOMS = 97
# Samples at once where the service sets no bound; the package's own default.
PARALLEL = 5
# The model states errors in 64 bins up to 32 Å and gives their mean: the middle of the last is the most.
PAE_MAX = 31.75
# What the package raises on a job that it cannot take. Anything else is a fault of the installation, not of the job.
REFUSALS = (ValueError, KeyError, AssertionError)


class IntelliFold2(foldrun.Runner):
    engine = "intellifold"

    def load(self, request):
        torch.set_grad_enabled(False)
        if request.threads:
            torch.set_num_threads(request.threads)
        folder, self.device = request.weights_dir, torch.device(request.device)
        missing = [f for f in (WEIGHTS, DICTIONARY) if not (folder and (folder / f).is_file())]
        if missing:
            raise Failure("weights_missing", f"the weights of {request.model} are not complete: {', '.join(missing)} is missing")
        self.random, digest = (folder / RANDOM).exists(), foldrun.Digest([folder / WEIGHTS])
        self.dictionary = pickle.loads((folder / DICTIONARY).read_bytes())  # the operator's own file
        config = get_model_config(Namespace(sampling_steps=200, recycling_iters=10))
        if (folder / SIZES).is_file():
            sizes = json.loads((folder / SIZES).read_text())
            config.update_from_flattened_dict(sizes["config"])
            package._BUCKETS = tuple(sizes["lengths"])
        self.generator = torch.Generator(device=self.device)
        self.model = IntelliFold(config, generator=self.generator)
        self.model.load_state_dict(torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True))
        self.model.eval().to(self.device)
        self.watch = Watch(torch.cuda.synchronize if self.device.type == "cuda" else lambda: None)
        trunk = self.model.backbone_trunk
        self.watch.attach(self.model, trunk=trunk.pairformer, diffusion=self.model.diffusion_module, confidence=self.model.confidence_head)
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"
        detail = {"torch": torch.__version__, "random_weights": self.random}
        return foldrun.Ready(version("intellifold"), digest.hex(), name, detail=detail)

    def predict(self, job):
        if job.kind != "fold":
            raise Failure("unsupported", f"IntelliFold folds; it does no {job.kind}")
        with self.watch.follow(job) as watch:
            try:
                return Prediction(self, job, watch).run()
            except Refused as e:
                raise Failure(e.code, e.message) from None


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: IntelliFold2, job, watch: Watch):
        self.runner, self.job, self.watch = runner, job, watch
        number = {name: int(job.params.get(name) or default) for name, default in (("recyclingSteps", 10), ("samplingSteps", 200), ("diffusionSample", 5))}
        self.recycles, self.steps, self.samples = number["recyclingSteps"], number["samplingSteps"], number["diffusionSample"]

    def run(self) -> foldrun.Result:
        self.watch.say("prepare")
        seed(self.job.seed)
        self.runner.generator.manual_seed(self.job.seed)
        self.doc = build(self.job.input, self.alignments())
        self.chemistry()
        self.parse()
        candidates = self.fold()
        self.watch.say("write", 0, self.samples)
        result = self.hand_in(candidates)
        self.watch.enter("")
        result.timings = {k: round(v, 4) for k, v in self.watch.seconds.items()}
        if self.runner.random:
            result.notes.insert(0, "The weights of this model are random: the structure and every score are meaningless, and show only that the service works.")
        return result

    def alignments(self) -> dict:
        """Index of a sequence → path of its alignment as the package reads it."""
        out = {}
        for i, s in enumerate(self.job.input["sequences"]):
            unpaired, paired = self.job.input_file("msa", i), self.job.input_file("msa_paired", i)
            if s["kind"] != "protein" or not (unpaired or paired):
                continue
            try:
                whole = rows(unpaired.read_text("utf-8", "replace"), s["sequence"]) if unpaired else []
                matched = rows(paired.read_text("utf-8", "replace"), s["sequence"]) if paired else []
            except Broken as e:
                raise Refused("invalid_input", f"the alignment of sequences[{i}] cannot be used: {e}") from None
            path = self.job.path(f"intellifold/alignment-{i}.csv")
            path.write_text(table(whole, matched))
            out[i] = str(path)
        return out

    def chemistry(self):
        """Refuses components that are not in the dictionary, and SMILES that are no molecule."""
        for i, s in enumerate(self.job.input["sequences"]):
            for m in s.get("modifications") or []:
                if m["ccd"] not in self.runner.dictionary:
                    raise Refused("invalid_input", f"sequences[{i}] has the modification {m['ccd']} at residue {m['res_idx']}, which is not in the chemical dictionary")
            if s.get("is_ccd") and s["sequence"] not in self.runner.dictionary:
                raise Refused("invalid_input", f"sequences[{i}] is the chemical component {s['sequence']}, which is not in the chemical dictionary")
            if s["kind"] == "ligand" and not s.get("is_ccd"):
                silent = rdBase.BlockLogs()
                mol = Chem.MolFromSmiles(s["sequence"])
                del silent
                if mol is None or mol.GetNumHeavyAtoms() == 0:
                    raise Refused("invalid_input", f"sequences[{i}] is not a SMILES of a possible molecule")

    def parse(self):
        """The package's own reading of the document, and the model's input."""
        path = self.job.path(f"intellifold/{NAME}.yaml")
        path.write_text(json.dumps(self.doc.content))
        try:
            with seeded_conformers(self.job.seed):
                target = parse_yaml(path, self.runner.dictionary)
            self.job.check()
            self.record, folder = target.record, path.parent
            target.structure.dump(folder / f"{NAME}.npz")
            parsed = {}
            for chain in self.record.chains:
                if chain.msa_id in (0, -1):
                    chain.msa_id = -1
                    continue
                source = chain.msa_id
                if source not in parsed:
                    parsed[source] = f"alignment-{len(parsed)}"
                    parse_csv(folder / source, max_seqs=MAX_ROWS).dump(folder / f"{parsed[source]}.npz")
                chain.msa_id = parsed[source]
            data = package.load_input(self.record, folder, folder)
            self.structure = data.structure
            options = self.record.inference_options
            features = BoltzFeaturizer().process(
                BoltzTokenizer().tokenize(data), training=False, max_atoms=None, max_tokens=None, max_seqs=const.max_msa_seqs, pad_to_max_seqs=False,
                symmetries={}, compute_symmetries=False, inference_binder=options.binders, inference_pocket=options.pocket, compute_constraint_features=True,
            )
        except REFUSALS as e:
            if isinstance(e, KeyError) and e.args and isinstance(e.args[0], tuple) and len(e.args[0]) == 3:
                chain, residue, atom = e.args[0]
                raise Refused("invalid_input", f"constraints.bond names the atom {atom!r} of residue {residue + 1} of chain {self.job_chain(chain)}, which is not there") from None
            reason = f"{type(e).__name__}: {e}".replace(str(self.job.workdir), "")
            raise Failure("invalid_input", f"IntelliFold cannot read this job: {reason}") from e
        if len(self.structure.atoms) < LEAST_ATOMS:
            raise Refused("unsupported", f"the job has {len(self.structure.atoms)} atoms; IntelliFold needs at least {LEAST_ATOMS}")
        features |= {"record": self.record, "structure": self.structure}
        self.features = package.collate([features])
        self.tokens = int(self.features["N_tokens"])
        self.job.log(f"{self.tokens} tokens, {len(self.structure.atoms)} atoms in {len(self.structure.chains)} chains")

    def job_chain(self, chain: str) -> str:
        return self.doc.chain_map().get(chain, chain)

    def fold(self) -> list:
        """The candidates, the best first, each with its place among the samples."""
        model, device = self.runner.model, self.runner.device
        model.sample_config.no_sample_steps_T = self.steps
        model.backbone_trunk.recycling_iters = self.recycles
        batch = {k: v.to(device) for k, v in self.features.items() if isinstance(v, torch.Tensor)}
        batch["msa"] = F.one_hot(batch["msa"].long(), num_classes=32).float()
        batch |= package.construct_empty_template_features(batch, device=device)
        most = max(1, self.job.parallel or PARALLEL)
        parts = [min(most, self.samples - i) for i in range(0, self.samples, most)]
        # One call of the network more than steps: the schedule has a last step to no noise.
        self.watch.totals = {"trunk": (self.recycles + 1) * len(parts), "diffusion": (self.steps + 1) * len(parts), "confidence": len(parts)}
        out = []
        for n in parts:
            # The model changes what it is given.
            features = dict(batch)
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                prediction = model(features, diffusion_batch_size=n)
                summaries = get_summary_confidence(prediction, features)
            for k, summary in enumerate(summaries):
                one = {name: prediction[name][k].float().cpu() for name in ("x_predicted", "plddt", "pae")}
                out.append(one | {"summary": summary, "dense": features["pred_dense_atom_mask"].cpu(), "center": self.features["center_idx"][0]})
            del prediction, features
        return sorted(out, key=lambda c: -c["summary"]["ranking_score"])

    def hand_in(self, candidates: list) -> foldrun.Result:
        chains = [str(c["name"]) for c in self.structure.chains]
        counts = self.counts()
        if sum(counts) != self.tokens:
            raise Failure("output_invalid", f"the package counts {self.tokens} tokens in residues that have {sum(counts)}")
        for rank, c in enumerate(candidates):
            (coordinates, confidence), _ = aggregate_fn_advanced([c["x_predicted"][None], c["plddt"][None]], c["dense"])
            plddt = confidence[0, c["center"]]  # of each token's central atom, as the package has it
            pae = c["pae"][: self.tokens, : self.tokens]
            if not all(torch.isfinite(x).all() for x in (coordinates, plddt, pae)):
                raise Failure("output_invalid", "the model gave coordinates or confidences that are not numbers")
            path = self.job.path(f"intellifold/model-{rank}.cif")
            write_cif(self.structure, self.record, coordinates.numpy(), self.columns(plddt, counts)[None], path)
            self.job.file("structure", path, rank=rank)
            self.job.array("plddt", plddt * 100, rank=rank)
            self.job.array("pae", pae, rank=rank)
            self.watch.say("write", rank + 1, self.samples)
        self.job.tokens(counts)
        best = candidates[0]["summary"]
        result = foldrun.Result(chain_map=self.doc.chain_map(), notes=list(self.doc.notes), scores={"ptm": best["ptm"], "pae_max": PAE_MAX})
        if len(chains) > 1 and best["iptm"] is not None:
            # The table has one value for both directions of a pair.
            result.scores["iptm"] = best["iptm"]
            result.scores["pairs"] = [{"chain_a": a, "chain_b": b, "iptm": best["chain_pair_iptm"][i][j]}
                                      for i, a in enumerate(chains) for j, b in enumerate(chains) if i < j]
        ranked = [{"ranking_score": c["summary"]["ranking_score"], "ptm": c["summary"]["ptm"], "has_clash": bool(c["summary"]["has_clash"])} for c in candidates]
        result.metrics = {"tokens": self.tokens, "samples": ranked, "chains_ptm": {self.job_chain(n): v for n, v in zip(chains, best["chain_ptm"])}}
        return result

    def counts(self) -> list:
        """How many tokens each residue of the structure file has."""
        out = []
        for c in self.structure.chains:
            for r in self.structure.residues[c["res_idx"] : c["res_idx"] + c["res_num"]]:
                out.append(1 if r["is_standard"] else int(r["atom_num"]))
        return out

    def columns(self, plddt, counts: list):
        """Confidence as the package's writer counts: one value for each residue of a polymer, one for each atom of a ligand. By
        tokens it would be out of step behind a modified residue."""
        ligands = {i for c in self.structure.chains if c["mol_type"] == const.chain_type_ids["NONPOLYMER"] for i in range(c["res_idx"], c["res_idx"] + c["res_num"])}
        out, at = [], 0
        for i, n in enumerate(counts):
            part, at = plddt[at : at + n], at + n
            out.append(part if i in ligands else part.mean()[None])
        return torch.cat(out)


def seed(value: int):
    random.seed(value)
    np.random.seed(value)
    torch.manual_seed(value)


@contextmanager
def seeded_conformers(value: int):
    """Has RDKit draw a ligand's starting conformer from the job's seed. Unseeded, it is another each time."""
    original = AllChem.EmbedMolecule

    def embed(mol, options):
        options.randomSeed = value & 0x7FFFFFFF
        return original(mol, options)

    AllChem.EmbedMolecule = embed
    try:
        yield
    finally:
        AllChem.EmbedMolecule = original


if __name__ == "__main__":
    foldrun.serve(IntelliFold2())
