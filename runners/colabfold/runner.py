"""The runner of AlphaFold 2 by ColabFold. It calls the package's own functions and keeps the parameters and compiled
networks.

`monomer` folds one chain with the five models that give position errors (ptm); `multimer` folds several with the five
models of AlphaFold-Multimer 3. Alignments and templates come from the service: the package's own searches and its
relaxation are not used. Models 1 and 2 of `monomer` and all of `multimer` read templates.
"""

import copy
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import document
import foldrun
from foldrun import Failure, Job, unsupported, weights
from foldrun.document import aligned_rows

MOST_TEMPLATES = 4  # of a chain; more are not asked for
# A single chain is padded to a multiple of this, so that chains of similar length share a compiled network.
STEP = 32
PER_RESIDUE = ("atom_positions", "aatype", "atom_mask", "residue_index", "chain_index", "b_factors")
INFINITY = float("inf")
READ_TEMPLATES = ("model_1", "model_2")  # of monomer
BLOCKS = "alphafold/alphafold_iteration/evoformer/{}/pair_transition/transition1"


@dataclass
class Kind:
    """A model of the package."""

    type: str  # the package's name for it
    file: str  # of the parameters of model {}
    rows: int  # of an alignment in the main stack
    extra: int  # of an alignment in the extra stack


KINDS = {
    "monomer": Kind("alphafold2_ptm", "params_model_{}_ptm.npz", 512, 5120),
    "multimer": Kind("alphafold2_multimer_v3", "params_model_{}_multimer_v3.npz", 508, 2048),
}


class ColabFold(foldrun.Runner):
    """AlphaFold 2 for monomers and multimers, by ColabFold. Compiled models are kept by the sizes of their input."""

    engine = "colabfold"

    def __init__(self) -> None:
        self.name = ""  # monomer or multimer
        self.kind = KINDS["monomer"]
        self.random = False
        self.models: list[Any] = []
        self.networks: dict[tuple[bool, int, int, bool], Any] = {}  # by several, depth, extra, templates
        self.compiled: set[tuple[Any, ...]] = set()  # sizes that jobs have had
        self.compile: dict[str, Any] = {}
        self.job: Job | None = None
        self.done = self.total = 0  # passes through the network
        # Modules of the package, which load imports.
        self.batch: Any = None
        self.model: Any = None
        self.protein: Any = None
        self.letters: Any = None

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        self.name, self.kind = request.model, KINDS[request.model]
        self.networks, self.compiled, self.models = {}, set(), []
        files = find_weights(request.weights_dir, self.name, self.kind)
        folder = files[0].parent.parent
        self.random = weights.are_random(folder)
        digest = foldrun.Digest(files)
        cpu = request.device == "cpu"
        os.environ["JAX_PLATFORMS"] = "cpu" if cpu else "cuda"  # before anything imports jax
        import jax

        try:
            device = jax.devices()[0]
        except RuntimeError as e:
            raise Failure(
                "load_failed", "jax finds no NVIDIA GPU here, or its CUDA libraries are not installed", detail=str(e)
            ) from None
        from alphafold.common import protein, residue_constants
        from alphafold.model import model
        from colabfold.alphafold import models

        from colabfold import batch

        self.batch, self.model, self.protein, self.letters = batch, model, protein, residue_constants.restypes
        # The package's own options, except half precision, which a CPU only emulates.
        self.compile = models._compile_jit_kwargs("tuned")
        self.models = models.load_models_and_params(
            num_models=5,
            use_templates=True,  # else the first two models of monomer come without their modules for them
            model_type=self.kind.type,
            data_dir=folder,
            rank_by="plddt",
            use_bfloat16=not cpu,
        )
        return foldrun.Ready(
            engine_version=version("colabfold"),
            weights_sha256=digest.hex(),
            device="cpu" if cpu else device.device_kind,
            mem=memory(device),
            detail={
                "jax": jax.__version__,
                "alphafold": version("alphafold-colabfold"),
                "random_weights": self.random,
            },
        )

    def predict(self, job: Job) -> foldrun.Result:
        self.job = job
        try:
            return Prediction(self, job).run()
        finally:
            self.job = None

    def network(self, several: bool, depth: int, extra: int, templates: bool) -> Any:
        """The network for so many rows of an alignment; the numbers are compiled into it. several: more than one
        chain; templates: of monomer, the one that reads them."""
        key = (several, depth, extra, templates)
        if key in self.networks:
            return self.networks[key]
        _, first, params = self.models[0 if templates else 2]
        config = copy.deepcopy(first.config)
        trunk = config.model.embeddings_and_evoformer
        # As many blocks as the parameters have: in tests fewer than the released ones.
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

    def parameters(self, model: int, templates: bool) -> Any:
        """The parameters of a model, counted from 0. Without templates, those of monomer that read templates lack what
        the others lack, so that all five share the compiled network."""
        params = self.models[model][2]
        return params if templates else {k: params[k] for k in self.models[2][2]}

    def followed(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        """The function that runs the network, with a report of progress and a check for a cancel before each pass."""

        def run(*args: Any) -> Any:
            if self.job is not None:
                self.job.progress("trunk", min(self.done, self.total), self.total)
            self.done += 1
            return apply(*args)

        return run


@dataclass
class Candidate:
    """One structure of a job."""

    scores: dict[str, float]
    tag: str  # the package's name for it
    path: Path
    plddt: Any
    pae: Any
    pae_max: float


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: ColabFold, job: Job) -> None:
        self.runner, self.job, self.kind = runner, job, runner.kind
        self.began = time.monotonic()
        self.job.progress("prepare")
        self.entities = self.read()
        self.sequence = "".join(e.sequence * len(e.chains) for e in self.entities)
        self.several = sum(len(e.chains) for e in self.entities) > 1
        if self.several and runner.name == "monomer":
            raise unsupported("the model monomer folds one protein chain at a time")
        self.candidates: list[Candidate] = []
        # Set by features and fold.
        self.input: Any = None
        self.net: Any = None
        self.templated: Any = None  # the network of the models of monomer that read the job's templates
        self.rows = 0  # of the alignment
        self.width = self.depth = 0  # to which residues and rows are padded
        self.passes = 0

    def run(self) -> foldrun.Result:
        """Runs the steps of the job and returns its result."""
        self.features()
        prepared = time.monotonic()
        self.fold()
        folded = time.monotonic()
        self.job.progress("write")
        result = self.result()
        result.timings = {
            "prepare": prepared - self.began,
            "trunk": folded - prepared,
            "write": time.monotonic() - folded,
        }
        return result

    def read(self) -> list[document.Entity]:
        """The job's chains with their alignments."""
        entities = document.group(self.job.input["sequences"])
        for e in entities:
            e.unpaired, e.paired = aligned_rows(self.job, e.first) or ([], [])
        return entities

    def features(self) -> None:
        """Makes the model's input with the package's reader, and chooses the network for its size."""
        kind = self.kind
        alone = not any(e.unpaired or e.paired for e in self.entities)
        given = self.templates()
        read = self.inputs(alone, given)
        most = 1 if alone else kind.rows
        self.input, _ = self.runner.batch.generate_input_feature(*read, self.several, kind.type, max_seq=most)
        mask = self.input.get("msa_mask")
        self.rows = len(self.input["msa"]) if mask is None else int((mask.max(-1) == 1).sum())
        if alone:
            self.rows = 1
        separate = bool(given) and self.runner.name == "monomer"
        depth = document.bucket(min(self.rows, kind.rows), kind.rows)
        extra = document.bucket(max(self.rows - kind.rows, 1), kind.extra)
        if separate:  # each template takes the place of a row
            depth = min(depth + MOST_TEMPLATES, kind.rows)
            self.templated = self.runner.network(self.several, depth, extra, True)
        self.net = self.runner.network(self.several, depth, extra, False)
        self.width = len(self.sequence)
        if self.runner.name == "monomer":
            self.width = -(-self.width // STEP) * STEP
        else:
            self.depth = document.bucket(len(self.input["msa"]), 1 << 20)
        size = (self.several, depth, extra, self.width, self.depth, len(given) > 0)
        if size not in self.runner.compiled:
            self.job.log("the network is compiled for this size first; later jobs of a similar size start immediately")
            self.runner.compiled.add(size)

    def inputs(self, alone: bool, given: list[dict[str, Any] | None]) -> tuple[list[str], list[int], Any, Any, Any]:
        """The parts of the job that the package reads: sequences, numbers of copies, unpaired and paired rows, and
        templates. alone: the job has no alignments; given: the templates of each chain, empty: it has none."""
        path = self.job.path("colabfold/job.a3m")
        path.write_text(document.a3m(self.entities))
        queries = [e.sequence for e in self.entities]
        unpaired, paired, sequences, counts, templates = self.runner.batch.unserialize_msa([path.read_text()], queries)
        if alone:  # as the package does without a search
            paired = None
        if sequences != queries:
            raise Failure("internal", "ColabFold reads other sequences than were written")
        if given:  # copies of a sequence may have different ones
            if paired:  # of copies of a single sequence the package gives several, and reads the first
                paired = paired[: len(self.entities)]
            unpaired, paired = (rows and self.of_copies(rows) for rows in (unpaired, paired))
            sequences, counts = self.of_copies(sequences), [1] * len(given)
            templates = [t or mock for t, mock in zip(given, self.of_copies(templates), strict=True)]
        return sequences, counts, unpaired, paired, templates

    def templates(self) -> list[dict[str, Any] | None]:
        """The template features of each chain, None for one without; empty: the job has no templates."""
        files: dict[str, list[Path]] = {}
        for t in self.job.templates():
            files.setdefault(t.chain, []).append(t.path)
        if not files:
            return []
        import template  # which imports the package

        return [
            template.features(files[c], len(e.sequence)) if c in files else None
            for e in self.entities
            for c in e.chains
        ]

    def of_copies(self, values: list[Any]) -> list[Any]:
        """A value of each entity as one of each chain."""
        return [v for v, e in zip(values, self.entities, strict=True) for _ in e.chains]

    def fold(self) -> None:
        """Runs every model of the ensemble for every seed. The package ranks the structures and writes them."""
        job, net, runner = self.job, self.net, self.runner
        recycles = job.integer("recyclingSteps", net.config.model.num_recycle)
        models, seeds = job.integer("numTrunkSamples", 5), job.integer("numModelSeeds", 1)
        for n in [net] + [self.templated] * (self.templated is not None):
            n.config.model.num_recycle = recycles
            if "data" in n.config:
                n.config.data.common.num_recycle = recycles
        self.passes = recycles + 1
        runner.done, runner.total = 0, models * seeds * self.passes
        runner.batch.predict_structure(
            "job",
            job.path("colabfold/job.a3m").parent,
            self.input,
            self.several,
            self.templated is not None,
            [len(e.sequence) for e in self.entities for _ in e.chains],
            self.width,
            self.kind.type,
            [self.network_of(i) for i in range(models)],
            msa_pad_depth=self.depth,
            rank_by=net.config.model.rank_by,
            random_seed=job.seed,
            num_seeds=seeds,
            prediction_callback=self.receive,
        )
        if len(self.candidates) != models * seeds:
            raise Failure(
                "output_invalid", f"ColabFold gave {len(self.candidates)} structures; {models * seeds} were asked for"
            )

    def network_of(self, model: int) -> tuple[str, Any, Any]:
        """The name, the network and the parameters of a model, counted from 0."""
        name = self.runner.models[model][0]
        reads = self.templated is not None and name in READ_TEMPLATES
        return name, self.templated if reads else self.net, self.runner.parameters(model, reads)

    def receive(self, protein: Any, _lengths: Any, result: Any, _features: Any, tag: Any) -> None:
        """Checks and writes one structure, which the package passes here. Residues after the job's are padding."""
        n = len(self.sequence)
        cut = {name: getattr(protein, name)[:n] for name in PER_RESIDUE}
        protein = replace(protein, **cut)
        plddt, pae = result["plddt"][:n], result["predicted_aligned_error"][:n, :n]
        names = ["mean_plddt", "ptm", "ranking_confidence"] + (["iptm"] if self.several else [])
        scores = {name: float(result[name]) for name in names}
        arrays = [protein.atom_positions[protein.atom_mask > 0.5], plddt, pae]
        if not (all((abs(x) < INFINITY).all() for x in arrays) and all(abs(x) < INFINITY for x in scores.values())):
            raise Failure("output_invalid", "the model gave values that are not numbers")
        if "".join(self.runner.letters[a] for a in protein.aatype) != self.sequence:
            raise Failure("output_invalid", "the structure that ColabFold gave has other residues than the job")
        path = self.job.path(f"colabfold/{tag[0]}.cif")
        path.write_text(self.runner.protein.to_mmcif(protein, "job", self.runner.name.capitalize()))
        pae_max = float(result["max_predicted_aligned_error"])
        self.candidates.append(Candidate(scores, tag[0], path, plddt, pae, pae_max))
        self.runner.done = len(self.candidates) * self.passes  # a model may have stopped recycling early

    def result(self) -> foldrun.Result:
        """The structures in the package's ranking, the best first."""
        ranked = sorted(self.candidates, key=lambda c: -c.scores["ranking_confidence"])
        for rank, c in enumerate(ranked):
            self.job.file("structure", c.path, rank=rank)
            self.job.array("plddt", c.plddt, rank=rank)
            self.job.array("pae", c.pae, rank=rank)
        best = ranked[0]
        scores = {"ptm": best.scores["ptm"], "pae_max": best.pae_max}
        if self.several:
            scores["iptm"] = best.scores["iptm"]
        samples = [{"model": c.tag.removeprefix(self.kind.type + "_"), **c.scores} for c in ranked]
        result = foldrun.Result(
            scores,
            document.chain_map(self.entities),
            metrics={"alignment_rows": self.rows, "samples": samples},
            notes=document.notes(self.entities),
        )
        if self.runner.random:
            result.notes.insert(0, weights.RANDOM_NOTE)
        return result


def find_weights(folder: Path | None, name: str, kind: Kind) -> list[Path]:
    """The five parameter files, which the service has unpacked from their archive. The package would download them."""
    wanted = [f"params/{kind.file.format(i)}" for i in range(1, 6)]
    folder = weights.require(name, folder, wanted)
    return [folder / f for f in wanted]


def memory(device: Any) -> dict[str, int]:
    """The device's memory in bytes as foldrun.Ready.mem has it, where jax tells it."""
    stats = device.memory_stats() or {}
    names = (("device_used", "bytes_in_use"), ("device_total", "bytes_limit"))
    return {ours: stats[theirs] for ours, theirs in names if theirs in stats}


if __name__ == "__main__":
    foldrun.serve(ColabFold())
