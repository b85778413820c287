"""The runner of IgFold: variable domains of antibodies, one alone or a heavy and a light one.

It does what the package's function fold does without its refinement: AntiBERTy embeds the chains, each network predicts
the backbone and its error, and the network with the lowest error is the result. The networks stay loaded.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from antiberty import AntiBERTyRunner
from igfold.model.interface import IgFoldInput
from igfold.utils.checkpoint import load_model
from torch.optim.optimizer import register_optimizer_step_post_hook

import foldrun
from document import chains
from foldrun import Failure, Job, Watch, cif, pytorch, weights

NETWORKS = [f"igfold_{n}.safetensors" for n in (1, 2, 3, 5)]  # the four that are released
LANGUAGE = "antiberty"  # a folder
LANGUAGE_FILES = [f"{LANGUAGE}/config.json", f"{LANGUAGE}/pytorch_model.bin"]
ATOMS = ("N", "CA", "C", "CB", "O")  # the package's order
NAMES = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split(),
    )
)
# A second thread saves a third of the time on idle cores and costs several times as much on busy ones; one thread gives
# the same bytes on every machine.
THREADS = 1


class IgFold(foldrun.Runner):
    """The four networks of IgFold, and AntiBERTy."""

    engine = "igfold"

    def __init__(self) -> None:
        self.networks: list[Any] = []
        self.language: Any = None
        self.device = torch.device("cpu")
        self.random = False
        self.watch = Watch()
        # The steps that mend the geometry take seconds and call no module.
        register_optimizer_step_post_hook(lambda *_: self.watch.check())

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        pytorch.prepare(THREADS)
        folder = weights.require(request.model, request.weights_dir, [*NETWORKS, *LANGUAGE_FILES])
        digest = foldrun.Digest([folder / f for f in [*NETWORKS, LANGUAGE_FILES[1]]])
        self.device = torch.device(request.device)
        self.random = weights.are_random(folder)
        self.watch = pytorch.watch(self.device)
        self.networks = [self.network(folder / name) for name in NETWORKS]
        self.language = AntiBERTyRunner(device=self.device, checkpoint_path=str(folder / LANGUAGE))
        return foldrun.Ready(
            engine_version=f"igfold {version('igfold')}",
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            mem=pytorch.device_memory(self.device),
            detail={
                "torch": torch.__version__,
                "antiberty": version("antiberty"),
                "transformers": version("transformers"),
                "random_weights": self.random,
            },
        )

    def network(self, path: Path) -> Any:
        """A network of the package. Its numbered blocks look for a cancel."""
        network = load_model(str(path), device=self.device)
        self.watch.attach(network)
        return network

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job) as watch:
            return self.fold(job, watch)

    def fold(self, job: Job, watch: Watch) -> foldrun.Result:
        """Folds by every network, ranks the results, and writes them all."""
        given = chains(job.input["sequences"])
        watch.say("prepare")
        embeddings, attentions = self.language.embed(list(given.values()), return_attention=True)
        samples = []
        for i, network in enumerate(self.networks):
            watch.say("trunk", i, len(self.networks))
            # The network changes its input, so that each gets one of its own.
            features = IgFoldInput(
                embeddings=[e[1:-1].unsqueeze(0) for e in embeddings],
                attentions=[a[:, :, 1:-1, 1:-1].unsqueeze(0) for a in attentions],
                return_embeddings=True,
            )
            with torch.no_grad():
                samples.append((i, network.gradient_refine(features, network(features))))
        samples.sort(key=lambda s: s[1].prmsd.quantile(0.9).item())  # the package's rule
        watch.say("write")
        for rank, (_, out) in enumerate(samples):
            write(job, given, out, rank)
        result = foldrun.Result(timings=watch.timings())
        result.metrics = {"networks": [NETWORKS[i].removesuffix(".safetensors") for i, _ in samples]}
        if self.random:
            result.notes.append(weights.RANDOM_NOTE)
        return result


def write(job: Job, given: dict[str, str], out: Any, rank: int) -> None:
    """Writes the backbone and the CB of each residue, with its predicted RMSD: the root mean square, over N, CA, C and
    CB, of the distance in Å from the truth after each chain is fitted on itself. rank 0 is the best."""
    coordinates = out.coords[0].float().cpu()
    errors = out.prmsd[0].float().cpu().view(-1, 4).square().mean(1).sqrt()
    if not torch.isfinite(coordinates).all() or not torch.isfinite(errors).all():
        raise Failure("output_invalid", "the model gave coordinates or errors that are not numbers")
    written, first = [], 0
    for chain, sequence in given.items():
        names = [NAMES[c] for c in sequence]
        atoms = [
            cif.Atom(i, atom, coordinates[first + i, k].tolist(), errors[first + i].item())
            for i, name in enumerate(names)
            for k, atom in enumerate(ATOMS)
            if (name, atom) != ("GLY", "CB")
        ]
        written.append(cif.Chain(chain, names, atoms))
        first += len(sequence)
    path = job.path(f"igfold/model-{rank}.cif")
    path.write_text(cif.write(written, errors.tolist()))
    job.file("structure", path, rank=rank)
    job.array("predicted_rmsd", errors, rank=rank)


if __name__ == "__main__":
    foldrun.serve(IgFold())
