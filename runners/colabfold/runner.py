"""The runner of AlphaFold 2 by ColabFold: the package's own functions, with the parameters and all that is compiled kept.

`monomer` is a chain alone, by the five models with errors of position (ptm); `multimer` is several, by the five of
AlphaFold-Multimer 3. Alignments come from the service: the package's own search, templates and relaxation are not used.
"""

import copy
import os
import tarfile
import time
from dataclasses import dataclass, replace
from importlib.metadata import version

import document
import foldrun
from document import Refused
from foldrun import Failure
from foldrun.alignment import Broken, rows

# A folder of random weights has this file, so that no result of it passes for a prediction.
RANDOM = "RANDOM_WEIGHTS"
# Residues by which a chain alone is filled up, so that chains of almost one length share what is compiled.
STEP = 32
BLOCKS = "alphafold/alphafold_iteration/evoformer/{}/pair_transition/transition1"


@dataclass
class Kind:
    """What the package calls a model, where its parameters are, and how many rows of an alignment it looks at: closely, and in
    passing."""

    type: str
    file: str
    archive: str
    rows: int
    extra: int


KINDS = {
    "monomer": Kind("alphafold2_ptm", "params_model_{}_ptm.npz", "alphafold_params_2021-07-14.tar", 512, 5120),
    "multimer": Kind("alphafold2_multimer_v3", "params_model_{}_multimer_v3.npz", "alphafold_params_colab_2022-12-06.tar", 508, 2048),
}


class ColabFold(foldrun.Runner):
    engine = "colabfold"

    def __init__(self):
        self.job, self.networks, self.seen = None, {}, set()
        self.done = self.total = 0

    def load(self, request):
        self.name, self.kind = request.model, KINDS[request.model]
        self.networks, self.seen, self.models = {}, set(), []
        files = find_weights(request.weights_dir, self.name, self.kind)
        self.random = (request.weights_dir / RANDOM).exists()
        digest = foldrun.Digest(files)
        cpu = request.device == "cpu"
        os.environ["JAX_PLATFORMS"] = "cpu" if cpu else "cuda"  # before anything imports jax
        import jax

        try:
            device = jax.devices()[0]
        except RuntimeError as e:
            raise Failure("load_failed", "jax finds no NVIDIA GPU here, or its CUDA libraries are not installed", detail=str(e)) from None
        from alphafold.common import protein, residue_constants
        from alphafold.model import model
        from colabfold import batch
        from colabfold.alphafold import models

        self.batch, self.model, self.protein, self.letters = batch, model, protein, residue_constants.restypes
        # What the package itself would compile with, but for half precision, which a processor only emulates.
        self.compile = models._compile_jit_kwargs("tuned")
        self.models = models.load_models_and_params(
            num_models=5, use_templates=False, model_type=self.kind.type, data_dir=request.weights_dir, rank_by="plddt", use_bfloat16=not cpu,
        )
        detail = {"jax": jax.__version__, "alphafold": version("alphafold-colabfold"), "random_weights": self.random}
        return foldrun.Ready(version("colabfold"), digest.hex(), "cpu" if cpu else device.device_kind, memory(device), detail)

    def predict(self, job):
        if job.kind != "fold":
            raise Failure("unsupported", f"{self.name} folds; it does no {job.kind}")
        self.job = job
        try:
            return Prediction(self, job).run()
        except Refused as e:
            raise Failure(e.code, e.message) from None
        finally:
            self.job = None

    def network(self, several: bool, depth: int, extra: int):
        """The network that looks at so many rows, which is part of what is compiled."""
        key = (several, depth, extra)
        if key in self.networks:
            return self.networks[key]
        _, first, params = self.models[0]
        config = copy.deepcopy(first.config)
        trunk = config.model.embeddings_and_evoformer
        # As many blocks as the parameters are for: fewer than the released ones have, in tests.
        trunk.evoformer_num_block = params[BLOCKS.format("evoformer_iteration")]["weights"].shape[0]
        trunk.extra_msa_stack_num_block = params[BLOCKS.format("extra_msa_stack")]["weights"].shape[0]
        config.model.rank_by = "multimer" if several else "plddt"
        if self.name == "multimer":
            trunk.num_msa, trunk.num_extra_msa = depth, extra
        else:
            config.data.eval.max_msa_clusters, config.data.common.max_extra_msa = depth, extra
        net = self.networks[key] = self.model.RunModel(config, params, jit_kwargs=self.compile)
        net.apply = self.followed(net.apply)
        return net

    def followed(self, apply):
        """One pass through the network, said to the service, with a look at the cancel before it."""

        def run(*args):
            self.job.progress("trunk", min(self.done, self.total), self.total)
            self.done += 1
            return apply(*args)

        return run


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: ColabFold, job):
        self.runner, self.job, self.kind = runner, job, runner.kind
        self.candidates = []

    def run(self) -> foldrun.Result:
        began = time.monotonic()
        self.job.progress("prepare")
        self.entities = self.read()
        self.features()
        prepared = time.monotonic()
        self.fold()
        folded = time.monotonic()
        self.job.progress("write")
        result = self.hand_in()
        result.timings = {"prepare": prepared - began, "trunk": folded - prepared, "write": time.monotonic() - folded}
        return result

    def read(self) -> list:
        """The job's chains with their alignments."""
        entities = document.group(self.job.input["sequences"])
        for e in entities:
            unpaired, paired = self.job.input_file("msa", e.first), self.job.input_file("msa_paired", e.first)
            try:
                e.unpaired = rows(unpaired.read_text("utf-8", "replace"), e.sequence) if unpaired else []
                e.paired = rows(paired.read_text("utf-8", "replace"), e.sequence) if paired else []
            except Broken as x:
                raise Refused("invalid_input", f"the alignment of sequences[{e.first}] cannot be used: {x}") from None
        self.sequence = "".join(e.sequence * len(e.chains) for e in entities)
        self.several = sum(len(e.chains) for e in entities) > 1
        if self.several and self.runner.name == "monomer":
            raise Refused("unsupported", "the model monomer folds one protein chain at a time")
        return entities

    def features(self):
        """The model's input, by the package from its own kind of file, and the network for so many rows."""
        package, kind = self.runner.batch, self.kind
        path = self.job.path("colabfold/job.a3m")
        path.write_text(document.a3m(self.entities))
        queries = [e.sequence for e in self.entities]
        unpaired, paired, *layout = package.unserialize_msa([path.read_text()], queries)
        alone = not any(e.unpaired or e.paired for e in self.entities)
        if alone:  # as the package does it where it is told to search for nothing
            paired = None
        sequences, counts, templates = layout
        if sequences != queries:
            raise Failure("internal", "ColabFold reads other sequences than were written")
        most = 1 if alone else kind.rows
        self.input, _ = package.generate_input_feature(sequences, counts, unpaired, paired, templates, self.several, kind.type, max_seq=most)
        mask = self.input.get("msa_mask")
        found = 1 if alone else int((mask.max(-1) == 1).sum()) if mask is not None else len(self.input["msa"])
        depth = document.bucket(min(found, kind.rows), kind.rows)
        extra = document.bucket(max(found - kind.rows, 1), kind.extra)
        self.net = self.runner.network(self.several, depth, extra)
        self.width = -(-len(self.sequence) // STEP) * STEP if self.runner.name == "monomer" else len(self.sequence)
        self.deep = document.bucket(len(self.input["msa"]), 1 << 20) if self.runner.name == "multimer" else 0
        size = (self.several, depth, extra, self.width, self.deep)
        self.rows = found
        if size not in self.runner.seen:
            self.job.log("the network is compiled for this size first; later jobs of about the same size begin at once")
            self.runner.seen.add(size)

    def fold(self):
        p, net = self.job.params, self.net
        recycles = int(p.get("recyclingSteps") or net.config.model.num_recycle)
        models, seeds = int(p.get("numTrunkSamples") or 5), int(p.get("numModelSeeds") or 1)
        net.config.model.num_recycle = recycles
        if "data" in net.config:
            net.config.data.common.num_recycle = recycles
        self.passes = recycles + 1
        self.runner.done, self.runner.total = 0, models * seeds * self.passes
        lengths = [len(e.sequence) for e in self.entities for _ in e.chains]
        try:
            self.runner.batch.predict_structure(
                "job", self.job.path("colabfold/job.a3m").parent, self.input, self.several, False, lengths, self.width, self.kind.type,
                [(name, net, params) for name, _, params in self.runner.models[:models]], msa_pad_depth=self.deep,
                rank_by=net.config.model.rank_by, random_seed=self.job.seed, num_seeds=seeds, prediction_callback=self.take,
            )
        except RuntimeError as e:
            if "RESOURCE_EXHAUSTED" not in str(e):
                raise
            raise Failure("oom", "the device has not enough memory for this job", detail=str(e)) from None
        if len(self.candidates) != models * seeds:
            raise Failure("output_invalid", f"ColabFold gave {len(self.candidates)} structures; {models * seeds} were asked for")

    def take(self, protein, _lengths, result, _features, tag):
        """One structure, as the package hands it over. Beyond the job's residues is what it was filled up with."""
        n = len(self.sequence)
        cut = {k: getattr(protein, k)[:n] for k in ("atom_positions", "aatype", "atom_mask", "residue_index", "chain_index", "b_factors")}
        protein, plddt, pae = replace(protein, **cut), result["plddt"][:n], result["predicted_aligned_error"][:n, :n]
        scores = {"mean_plddt": result["mean_plddt"], "ptm": result["ptm"], "ranking_confidence": result["ranking_confidence"]}
        if self.several:
            scores["iptm"] = result["iptm"]
        scores = {k: float(v) for k, v in scores.items()}
        numbers = [protein.atom_positions[protein.atom_mask > 0.5], plddt, pae, *scores.values()]
        if not all((abs(x) < float("inf")).all() if hasattr(x, "shape") else abs(x) < float("inf") for x in numbers):
            raise Failure("output_invalid", "the model gave values that are not numbers")
        if "".join(self.runner.letters[a] for a in protein.aatype) != self.sequence:
            raise Failure("output_invalid", "the structure that ColabFold gave has other residues than the job")
        path = self.job.path(f"colabfold/{tag[0]}.cif")
        path.write_text(self.runner.protein.to_mmcif(protein, "job", self.runner.name.capitalize()))
        self.candidates.append((scores, tag[0], path, plddt, pae, float(result["max_predicted_aligned_error"])))
        self.runner.done = len(self.candidates) * self.passes  # a model may have stopped recycling early

    def hand_in(self) -> foldrun.Result:
        """The structures as the package ranks them, the best first."""
        ranked = sorted(self.candidates, key=lambda c: -c[0]["ranking_confidence"])
        for rank, (_, _, path, plddt, pae, _) in enumerate(ranked):
            self.job.file("structure", path, rank=rank)
            self.job.array("plddt", plddt, rank=rank)
            self.job.array("pae", pae, rank=rank)
        best, most = ranked[0][0], ranked[0][-1]
        scores = {"ptm": best["ptm"], "pae_max": most} | ({"iptm": best["iptm"]} if self.several else {})
        metrics = {"alignment_rows": self.rows, "samples": [{"model": tag.removeprefix(self.kind.type + "_"), **s} for s, tag, *_ in ranked]}
        result = foldrun.Result(scores, document.names(self.entities), metrics=metrics, notes=document.notes(self.entities))
        if self.runner.random:
            result.notes.insert(0, "The weights of this model are random: the structure and every score are meaningless, and show only that the service works.")
        return result


def find_weights(folder, name: str, kind: Kind) -> list:
    """The five files of parameters, out of their archive where that is what there is. The package itself would fetch them."""
    if folder is None or not folder.is_dir():
        raise Failure("weights_missing", f"the model {name} has no folder of weights")
    files = [folder / "params" / kind.file.format(i) for i in range(1, 6)]
    missing = [f for f in files if not f.is_file()]
    if missing and (folder / kind.archive).is_file():
        unpack(folder / kind.archive, missing)
        missing = [f for f in files if not f.is_file()]
    if missing:
        raise Failure("weights_missing", f"the weights of {name} are not complete: {', '.join('params/' + f.name for f in missing)} is missing")
    return files


def unpack(archive, files: list):
    """Takes files out of an archive, each under its name once it is whole."""
    wanted = {f.name: f for f in files}
    files[0].parent.mkdir(exist_ok=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            target = wanted.get(member.name.rpartition("/")[2])
            if target is None or not member.isfile():
                continue
            part = target.with_suffix(".part")
            with tar.extractfile(member) as source, open(part, "wb") as out:
                while block := source.read(1 << 20):
                    out.write(block)
            os.replace(part, target)


def memory(device) -> dict:
    stats = device.memory_stats() or {}
    return {ours: stats[theirs] for ours, theirs in (("device_used", "bytes_in_use"), ("device_total", "bytes_limit")) if theirs in stats}


if __name__ == "__main__":
    foldrun.serve(ColabFold())
