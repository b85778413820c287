"""The runner of IntelliFold 2-flash. It calls the PyTorch package's own functions and keeps the model and the
dictionary loaded.

It does what `intellifold predict` does, step by step, without the command line, which downloads missing files, prints
its failures and continues.
"""

import json
import pickle
from argparse import Namespace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import intellifold.data.module.inference as package
import torch
import torch.nn.functional as F
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

import foldrun
from document import Document, build
from foldrun import Failure, Job, Watch, invalid, pytorch, unsupported, weights
from foldrun.alignment import MAX_ROWS
from foldrun.chemistry import molecule, seeded_conformers
from foldrun.document import alignment_tables, check_dictionary

WEIGHTS, DICTIONARY = "intellifold_v2_flash.pt", "ccd_v2.pkl"
# Next to weights of another size than the released: the differences of the model's configuration, by dotted name, and
# the lengths to which jobs are padded.
SIZES = "sizes.json"
NAME = "job"
# The package's attention over atoms works in windows and needs four of them: it fails on a job of fewer atoms.
MIN_ATOMS = 97
# Samples at once where the service sets no limit: the package's default.
PARALLEL = 5
# The model gives the mean of 64 bins up to 32 Å; the middle of the last bin is the highest value.
PAE_MAX = 31.75
# The exceptions of the package for a job that it cannot run. Any other exception is a fault of the installation.
REFUSALS = (ValueError, KeyError, AssertionError)


class IntelliFold2(foldrun.Runner):
    """IntelliFold 2 of its package."""

    engine = "intellifold"

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.random = False
        self.dictionary: dict[str, Any] = {}
        self.generator: Any = None
        self.model: Any = None
        self.watch = Watch()

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        pytorch.prepare(request.threads)
        folder = weights.require(request.model, request.weights_dir, [WEIGHTS, DICTIONARY])
        self.device = torch.device(request.device)
        self.random = weights.are_random(folder)
        digest = foldrun.Digest([folder / WEIGHTS])
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
        self.watch = pytorch.watch(self.device)
        self.watch.attach(
            self.model,
            trunk=self.model.backbone_trunk.pairformer,
            diffusion=self.model.diffusion_module,
            confidence=self.model.confidence_head,
        )
        return foldrun.Ready(
            engine_version=version("intellifold"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            detail={"torch": torch.__version__, "random_weights": self.random},
        )

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job) as watch:
            return Prediction(self, job, watch).run()


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: IntelliFold2, job: Job, watch: Watch) -> None:
        self.runner, self.job, self.watch = runner, job, watch
        self.recycles = job.integer("recyclingSteps", 10)
        self.steps = job.integer("samplingSteps", 200)
        self.samples = job.integer("diffusionSample", 5)
        self.doc = self.document()
        # Set by parse.
        self.record: Any = None
        self.structure: Any = None
        self.features: dict[str, Any] = {}
        self.tokens = 0

    def run(self) -> foldrun.Result:
        """Runs the steps of the job and returns its result."""
        pytorch.seed(self.job.seed)
        self.runner.generator.manual_seed(self.job.seed)
        self.parse()
        candidates = self.fold()
        self.watch.say("write", 0, self.samples)
        result = self.result(candidates)
        result.timings = self.watch.timings()
        if self.runner.random:
            result.notes.insert(0, weights.RANDOM_NOTE)
        return result

    def document(self) -> Document:
        """The input document of the job. Its alignments are written, and its ligands are checked."""
        self.watch.say("prepare")
        doc = build(self.job.input, alignment_tables(self.job, "intellifold"))
        sequences = self.job.input["sequences"]
        check_dictionary(sequences, lambda code: code in self.runner.dictionary)
        for i, s in enumerate(sequences):
            if s["kind"] == "ligand" and not s.get("is_ccd"):
                molecule(s["sequence"], f"sequences[{i}]")
        return doc

    def parse(self) -> None:
        """Lets the package read the document and make the model's input."""
        path = self.job.path(f"intellifold/{NAME}.yaml")
        path.write_text(json.dumps(self.doc.content))
        try:
            with seeded_conformers(self.job.seed):
                target = parse_yaml(path, self.runner.dictionary)
            self.job.check()
            features = self.featurize(target, path.parent)
        except REFUSALS as e:
            raise self.refusal(e) from e
        if len(self.structure.atoms) < MIN_ATOMS:
            raise unsupported(f"the job has {len(self.structure.atoms)} atoms; IntelliFold needs at least {MIN_ATOMS}")
        features |= {"record": self.record, "structure": self.structure}
        self.features = package.collate([features])
        self.tokens = int(self.features["N_tokens"])
        chains = len(self.structure.chains)
        self.job.log(f"{self.tokens} tokens, {len(self.structure.atoms)} atoms in {chains} chains")

    def featurize(self, target: Any, folder: Path) -> dict[str, Any]:
        """The model's input of a parsed target. Each alignment is parsed once, however many chains have it."""
        self.record = target.record
        target.structure.dump(folder / f"{NAME}.npz")
        parsed: dict[str, str] = {}  # path of an alignment → name of its parsed file
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
        return BoltzFeaturizer().process(
            BoltzTokenizer().tokenize(data),
            training=False,
            max_atoms=None,
            max_tokens=None,
            max_seqs=const.max_msa_seqs,
            pad_to_max_seqs=False,
            symmetries={},
            compute_symmetries=False,
            inference_binder=options.binders,
            inference_pocket=options.pocket,
            compute_constraint_features=True,
        )

    def refusal(self, e: Exception) -> Failure:
        """The failure that an exception of the package means. An unknown atom of a bond is a KeyError of its key."""
        if isinstance(e, KeyError) and e.args and isinstance(e.args[0], tuple) and len(e.args[0]) == 3:
            chain, residue, atom = e.args[0]
            return invalid(
                f"constraints.bond names the atom {atom!r} of residue {residue + 1} "
                f"of chain {self.job_chain(chain)}, which is not there"
            )
        reason = foldrun.without_folders(f"{type(e).__name__}: {e}", self.job.workdir)
        return invalid(f"IntelliFold cannot read this job: {reason}")

    def job_chain(self, chain: str) -> str:
        """The chain of the job that a chain of the package's files is."""
        return self.doc.chain_map().get(chain, chain)

    def fold(self) -> list[dict[str, Any]]:
        """The candidates, the best first."""
        model, device = self.runner.model, self.runner.device
        model.sample_config.no_sample_steps_T = self.steps
        model.backbone_trunk.recycling_iters = self.recycles
        batch = {k: v.to(device) for k, v in self.features.items() if isinstance(v, torch.Tensor)}
        batch["msa"] = F.one_hot(batch["msa"].long(), num_classes=32).float()
        batch |= package.construct_empty_template_features(batch, device=device)
        most = max(1, self.job.parallel or PARALLEL)
        parts = [min(most, self.samples - i) for i in range(0, self.samples, most)]
        # One call of the network more than steps: the schedule ends with a step to zero noise.
        self.watch.totals = {
            "trunk": (self.recycles + 1) * len(parts),
            "diffusion": (self.steps + 1) * len(parts),
            "confidence": len(parts),
        }
        out = []
        for n in parts:
            features = dict(batch)  # the model changes what it gets
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                prediction = model(features, diffusion_batch_size=n)
                summaries = get_summary_confidence(prediction, features)
            for k, summary in enumerate(summaries):
                candidate = {name: prediction[name][k].float().cpu() for name in ("x_predicted", "plddt", "pae")}
                candidate["summary"] = summary
                candidate["dense"] = features["pred_dense_atom_mask"].cpu()
                candidate["center"] = self.features["center_idx"][0]
                out.append(candidate)
            del prediction, features
        return sorted(out, key=lambda c: -c["summary"]["ranking_score"])

    def result(self, candidates: list[dict[str, Any]]) -> foldrun.Result:
        """Checks and writes the candidates, and builds the result."""
        counts = self.counts()
        if sum(counts) != self.tokens:
            raise Failure(
                "output_invalid", f"the package counts {self.tokens} tokens in residues that have {sum(counts)}"
            )
        for rank, c in enumerate(candidates):
            self.write(c, rank, counts)
            self.watch.say("write", rank + 1, self.samples)
        self.job.tokens(counts)
        chains = [str(c["name"]) for c in self.structure.chains]
        best = candidates[0]["summary"]
        result = foldrun.Result(chain_map=self.doc.chain_map(), notes=list(self.doc.notes))
        result.scores = {"ptm": best["ptm"], "pae_max": PAE_MAX}
        if len(chains) > 1 and best["iptm"] is not None:
            result.scores["iptm"] = best["iptm"]
            # The table has the same value for both directions of a pair.
            result.scores["pairs"] = [
                {"chain_a": a, "chain_b": b, "iptm": best["chain_pair_iptm"][i][j]}
                for i, a in enumerate(chains)
                for j, b in enumerate(chains)
                if i < j
            ]
        summaries = [c["summary"] for c in candidates]
        result.metrics = {
            "tokens": self.tokens,
            "samples": [
                {"ranking_score": s["ranking_score"], "ptm": s["ptm"], "has_clash": bool(s["has_clash"])}
                for s in summaries
            ],
            "chains_ptm": {self.job_chain(n): v for n, v in zip(chains, best["chain_ptm"])},
        }
        return result

    def write(self, candidate: dict[str, Any], rank: int, counts: list[int]) -> None:
        """Writes one candidate as an mmCIF file and as arrays: pLDDT per token from 0 to 100, PAE in Å of shape
        (tokens, tokens). rank 0 is the best."""
        atoms = [candidate["x_predicted"][None], candidate["plddt"][None]]
        (coordinates, confidence), _ = aggregate_fn_advanced(atoms, candidate["dense"])
        plddt = confidence[0, candidate["center"]]  # of each token's central atom, as in the package
        pae = candidate["pae"][: self.tokens, : self.tokens]
        if not all(torch.isfinite(x).all() for x in (coordinates, plddt, pae)):
            raise Failure("output_invalid", "the model gave coordinates or confidences that are not numbers")
        path = self.job.path(f"intellifold/model-{rank}.cif")
        write_cif(self.structure, self.record, coordinates.numpy(), self.columns(plddt, counts)[None], path)
        self.job.file("structure", path, rank=rank)
        self.job.array("plddt", plddt * 100, rank=rank)
        self.job.array("pae", pae, rank=rank)

    def counts(self) -> list[int]:
        """The number of tokens of each residue of the structure file."""
        return [
            1 if r["is_standard"] else int(r["atom_num"])
            for c in self.structure.chains
            for r in self.structure.residues[c["res_idx"] : c["res_idx"] + c["res_num"]]
        ]

    def columns(self, plddt: torch.Tensor, counts: list[int]) -> torch.Tensor:
        """Confidence as the package's writer reads it: one value per residue of a polymer, one per atom of a ligand.
        Values by token would be shifted after a modified residue."""
        nonpolymer = const.chain_type_ids["NONPOLYMER"]
        ligands = {
            i
            for c in self.structure.chains
            if c["mol_type"] == nonpolymer
            for i in range(c["res_idx"], c["res_idx"] + c["res_num"])
        }
        out, start = [], 0
        for i, n in enumerate(counts):
            part, start = plddt[start : start + n], start + n
            out.append(part if i in ligands else part.mean()[None])
        return torch.cat(out)


if __name__ == "__main__":
    foldrun.serve(IntelliFold2())
