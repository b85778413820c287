"""The runner of Protenix v1 and v2. It calls the package's own functions and keeps the model and the dictionary loaded.

It does what `protenix pred` does, step by step, without the command, which downloads missing files, writes its failures
to files and exits with 0.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from biotite.structure import get_residue_starts
from protenix.data.core import ccd
from protenix.data.inference import infer_dataloader, json_parser
from protenix.data.utils import save_structure_cif
from protenix.model.protenix import Protenix
from protenix.utils.torch_utils import to_device

import foldrun
import template
from document import NAME, Document, a3m, build
from foldrun import Failure, Job, Watch, invalid, pytorch, weights
from foldrun.chemistry import molecule
from foldrun.document import aligned_rows, check_dictionary, modifications
from settings import MODELS, for_tokens, settings

DICTIONARY, CONFORMERS = "common/components.cif", "common/components.cif.rdkit_mol.pkl"
# Next to weights of another size than the released: the differences of the package's settings, by dotted name.
SIZES = "sizes.json"
# Samples at once where the service sets no limit: the package's default.
PARALLEL = 5
# The model gives the mean of 64 bins up to 32 Å; the middle of the last bin is the highest value.
PAE_MAX = 31.75
# The exceptions of the package for a job that it cannot run. Any other exception is a fault of the installation.
REFUSALS = (ValueError, KeyError, AssertionError, TimeoutError)
# Atoms that a modified residue needs: the package would leave one without them unbound in the chain.
BACKBONE = {"protein": {"N", "CA", "C"}, "rna": {"P", "C1'", "O3'"}, "dna": {"P", "C1'", "O3'"}}
NO_ATOM = re.compile(r"No atom found for (.+) in entity (\d+) at position (\d+)")
SHORT_NOTE = "Protenix gives chains of up to four residues no template."
MANY_NOTE = f"Protenix reads the first {template.MAX} templates of a chain."


class ProtenixRunner(foldrun.Runner):
    """Protenix of its package."""

    engine = "protenix"

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.random = False
        self.configs: Any = None
        self.model: Any = None
        self.watch = Watch()

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        pytorch.prepare(request.threads)
        name = MODELS[request.model]
        checkpoint = f"checkpoint/{name}.pt"
        folder = weights.require(request.model, request.weights_dir, [checkpoint, DICTIONARY, CONFORMERS])
        self.device = torch.device(request.device)
        self.random = weights.are_random(folder)
        digest = foldrun.Digest([folder / checkpoint])
        # The package reads both once for the process, from the folder in PROTENIX_ROOT_DIR.
        ccd.biotite_load_ccd_cif()
        ccd.get_component_rdkit_mol("ALA")
        sizes = json.loads((folder / SIZES).read_text()) if (folder / SIZES).is_file() else {}
        self.configs = settings(name, sizes)
        self.model = None  # the memory of another model
        model = Protenix(self.configs)
        # As in the package: a checkpoint may hold more than tensors.
        state = torch.load(folder / checkpoint, map_location="cpu", weights_only=False)["model"]
        model.load_state_dict({k.removeprefix("module."): v for k, v in state.items()})
        self.model = model.eval().to(self.device)
        self.watch = pytorch.watch(self.device)
        self.watch.attach(
            model,
            trunk=model.pairformer_stack,
            diffusion=model.diffusion_module,
            confidence=model.confidence_head,
        )
        return foldrun.Ready(
            engine_version=version("protenix"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            detail={"torch": torch.__version__, "weights": name, "random_weights": self.random},
        )

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job) as watch:
            return Prediction(self, job, watch).run()


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: ProtenixRunner, job: Job, watch: Watch) -> None:
        self.runner, self.job, self.watch = runner, job, watch
        self.recycles = job.integer("recyclingSteps", 9)
        self.steps = job.integer("samplingSteps", 200)
        self.samples = job.integer("diffusionSample", 5)
        self.watch.say("prepare")
        self.doc = self.document()
        # Set by featurize.
        self.data: dict[str, Any] = {}
        self.atoms: Any = None
        self.token_of: np.ndarray = np.zeros(0, int)  # by atom

    def run(self) -> foldrun.Result:
        """Runs the steps of the job and returns its result."""
        pytorch.seed(self.job.seed)
        self.featurize()
        prediction = self.fold()
        self.watch.say("write", 0, self.samples)
        result = self.result(prediction)
        result.timings = self.watch.timings()
        if self.runner.random:
            result.notes.insert(0, weights.RANDOM_NOTE)
        return result

    def document(self) -> Document:
        """The input document of the job. Its alignments are written, and its components and ligands are checked."""
        sequences = self.job.input["sequences"]
        for i, s in enumerate(sequences):
            if s["kind"] == "ligand" and not s.get("is_ccd"):
                molecule(s["sequence"], f"sequences[{i}]")
        alignments = {i: found for i, s in enumerate(sequences) if (found := self.alignments(i, s))}
        templates: dict[str, list[str]] = {}
        for t in self.job.templates():
            templates.setdefault(t.chain, []).append(str(t.path))
        # The package reads a list of hits from this file; it is empty, as the hits are the job's own.
        placeholder = self.job.path("protenix/none.hhr")
        placeholder.write_text("")
        doc = build(self.job.input, alignments, templates, str(placeholder))
        check_dictionary(sequences, lambda code: component(code) is not None)
        for i, s in enumerate(sequences):
            for position, code in modifications(s):
                if not BACKBONE[s["kind"]] <= set(component(code).atom_name.tolist()):
                    raise invalid(
                        f"sequences[{i}] has the modification {code} at residue {position}, which has no backbone"
                    )
        lengths = {c: len(s["sequence"]) for s in sequences for c in s["chains"]}
        doc.notes += [SHORT_NOTE] if any(lengths[c] <= template.TOO_SHORT for c in templates) else []
        doc.notes += [MANY_NOTE] if any(len(paths) > template.MAX for paths in templates.values()) else []
        return doc

    def alignments(self, i: int, s: dict[str, Any]) -> dict[str, str]:
        """Writes the alignments of sequences[i] and returns their paths by the package's names of them."""
        rows = aligned_rows(self.job, i) if s["kind"] in ("protein", "rna") else None
        out = {}
        for name, part in zip(("unpairedMsaPath", "pairedMsaPath"), rows or ([], [])):
            if part:
                path = self.job.path(f"protenix/{name}-{i}.a3m")
                path.write_text(a3m(part, name == "pairedMsaPath"))
                out[name] = str(path)
        return out

    def featurize(self) -> None:
        """Lets the package read the document and make the model's input."""
        path = self.job.path(f"protenix/{NAME}.json")
        path.write_text(json.dumps([self.doc.content]))
        configs = self.runner.configs
        configs.input_json_path = str(path)
        try:
            dataset = infer_dataloader.InferenceDataset(configs)
            dataset.use_template = bool(self.doc.templates)
            dataset.use_rna_msa = True  # those of the job; by default the package does not read them
            dataset.online_template_featurizer = template.Given(self.doc.templates)
            with self.conformers():
                self.data, self.atoms, _ = dataset.process_one(dataset.inputs[0])
        except REFUSALS as e:
            raise self.refusal(e) from e
        self.token_of = self.data["input_feature_dict"]["atom_to_token_idx"].numpy()
        self.check()
        chains = len(self.doc.names)
        self.job.log(f"{int(self.data['N_token'])} tokens, {len(self.atoms)} atoms in {chains} chains")

    @contextmanager
    def conformers(self) -> Iterator[None]:
        """Makes the package generate the conformers of SMILES from the job's seed."""
        chemistry = json_parser.AllChem
        original = chemistry.EmbedMolecule

        def embed(mol: Any, **options: Any) -> int:
            return original(mol, randomSeed=self.job.seed & 0x7FFFFFFF, **options)

        chemistry.EmbedMolecule = embed
        try:
            yield
        finally:
            chemistry.EmbedMolecule = original

    def refusal(self, e: Exception) -> Failure:
        """The failure that an exception of the package means."""
        text = str(e)
        missing = NO_ATOM.match(text)
        if missing:
            atom, number, position = missing.groups()
            entry = next(iter(self.doc.content["sequences"][int(number) - 1].values()))
            chain = self.doc.chain_map().get(entry["id"][0], entry["id"][0])
            return invalid(
                f"constraints.bond names the atom {atom!r} of residue {position} of chain {chain}, which is not there"
            )
        if text.startswith("Conformer generation"):  # failed, or took longer than the package's 90 seconds
            return invalid("a SMILES of the job has no three-dimensional form that RDKit finds")
        reason = foldrun.without_folders(f"{type(e).__name__}: {text}", self.job.workdir)
        return invalid(f"Protenix cannot read this job: {reason}")

    def check(self) -> None:
        """Checks that the package has built every chain and residue of the job, with its modifications."""
        found: dict[str, list[str]] = {}
        for start in get_residue_starts(self.atoms):
            found.setdefault(str(self.atoms.chain_id[start]), []).append(str(self.atoms.res_name[start]))
        for s in self.job.input["sequences"]:
            expected = residues(s)
            for chain in s["chains"]:
                have = found.get(self.doc.names[chain], [])
                if have != expected and (expected is not None or len(have) != 1):
                    raise Failure("output_invalid", f"Protenix made other residues of chain {chain} than the job has")

    def fold(self) -> dict[str, Any]:
        """The package's prediction of all samples."""
        model, configs, device = self.runner.model, self.runner.configs, self.runner.device
        most = max(1, self.job.parallel or PARALLEL)
        configs.sample_diffusion.N_step, configs.sample_diffusion.N_sample = self.steps, self.samples
        configs.infer_setting.sample_diffusion_chunk_size = most
        for_tokens(configs, int(self.data["N_token"]))
        model.N_cycle = self.recycles + 1
        self.watch.totals = {
            "trunk": self.recycles + 1,
            "diffusion": self.steps * -(-self.samples // most),
            "confidence": 1,
        }
        features = to_device(self.data["input_feature_dict"], device)
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            prediction, _, _ = model(
                input_feature_dict=features,
                label_full_dict=None,
                label_dict=None,
                mode="inference",
                mc_dropout_apply_rate=configs.mc_dropout_apply_rate,
            )
        return prediction

    def result(self, prediction: dict[str, Any]) -> foldrun.Result:
        """Checks and writes the samples, the best first, and builds the result."""
        counts = self.counts()
        self.job.tokens(counts)
        summaries = [numbers(s) for s in prediction["summary_confidence"]]
        ranked = sorted(range(len(summaries)), key=lambda k: -summaries[k]["ranking_score"])
        for rank, k in enumerate(ranked):
            self.write(prediction["coordinate"][k], prediction["full_data"][k], rank)
            self.watch.say("write", rank + 1, self.samples)
        best = summaries[ranked[0]]
        chains = list(dict.fromkeys(str(c) for c in self.atoms.chain_id))
        several = len(chains) > 1
        result = foldrun.Result(chain_map=self.doc.chain_map(), notes=list(self.doc.notes))
        result.scores = {"ptm": best["ptm"], "pae_max": PAE_MAX}
        if several:
            result.scores["iptm"] = best["iptm"]
            result.scores["pairs"] = [
                {"chain_a": a, "chain_b": b, "iptm": best["chain_pair_iptm"][i][j]}
                for i, a in enumerate(chains)
                for j, b in enumerate(chains)
                if i < j
            ]
        kept = ("ranking_score", "ptm", "gpde") + (("iptm", "has_clash") if several else ())
        result.metrics = {
            "tokens": sum(counts),
            "samples": [{name: summaries[k][name] for name in kept} for k in ranked],
            "chains_ptm": {self.doc.chain_map().get(c, c): v for c, v in zip(chains, best["chain_ptm"])},
        }
        return result

    def write(self, coordinates: Any, full: dict[str, Any], rank: int) -> None:
        """Writes one sample as an mmCIF file, which has the pLDDT of every atom, and as arrays: PAE in Å, and pLDDT$
        from 0 to 100, the mean over the atoms of a token."""
        positions, pae = coordinates.float().cpu(), full["token_pair_pae"].float().cpu()
        plddt = full["atom_plddt"].float().cpu().numpy() * 100
        if not (torch.isfinite(positions).all() and torch.isfinite(pae).all() and np.isfinite(plddt).all()):
            raise Failure("output_invalid", "the model gave coordinates or confidences that are not numbers")
        self.atoms.set_annotation("b_factor", np.round(plddt, 2))
        path = self.job.path(f"protenix/model-{rank}.cif")
        types = {k: v for k, v in self.data["entity_poly_type"].items() if v != "non-polymer"}
        save_structure_cif(self.atoms, positions, str(path), types, NAME)
        self.job.file("structure", path, rank=rank)
        sums = np.bincount(self.token_of, weights=plddt)
        self.job.array("plddt", sums / np.bincount(self.token_of), rank=rank)
        self.job.array("pae", pae, rank=rank)

    def counts(self) -> list[int]:
        """The number of tokens of each residue of the structure file."""
        starts = get_residue_starts(self.atoms, add_exclusive_stop=True)
        return [len(set(self.token_of[a:b].tolist())) for a, b in zip(starts, starts[1:])]


def component(code: str) -> Any:
    """The atoms of an entry of the dictionary; None where it has none that the package can read."""
    return ccd.get_component_atom_array(code, keep_leaving_atoms=True, keep_hydrogens=False)


def residues(s: dict[str, Any]) -> list[str] | None:
    """The names of a sequence's residues with its modifications; None for a SMILES, which the package names."""
    if s["kind"] == "ligand":
        return [s["sequence"]] if s.get("is_ccd") else None
    table = {"protein": json_parser.PROTEIN_1to3, "rna": json_parser.RNA_1to3, "dna": json_parser.DNA_1to3}[s["kind"]]
    names = [table[c] for c in s["sequence"]]
    for position, code in modifications(s):
        names[position - 1] = "MET" if code == "MSE" else code
    return names


def numbers(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary of the package without tensors."""
    return {k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in summary.items()}


if __name__ == "__main__":
    foldrun.serve(ProtenixRunner())
