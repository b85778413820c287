"""The runner of ProteinMPNN and LigandMPNN: other amino acids for a given backbone, by the networks of rc-foundry."""

import json
import math
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import backbone
import foldrun
import network
from backbone import LETTERS, Chain
from foldrun import Failure, Job, Watch, invalid, pytorch, unsupported, weights
from foldrun.serve import OUT_OF_MEMORY, classify

TEMPERATURE = 0.1  # the package's own
BACKBONE_NOTE = "The structures have the given backbone; side chains of residues that changed are not built."


class ProteinMPNN(foldrun.Runner):
    """One of the networks."""

    engine = "proteinmpnn"
    kinds = ("design",)

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.net: torch.nn.Module = torch.nn.Identity()
        self.model = ""
        self.random = False
        self.watch = Watch()

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        pytorch.prepare(request.threads)
        self.device, self.model = torch.device(request.device), request.model
        file = network.FILES[request.model]
        folder = weights.require(request.model, request.weights_dir, [file])
        self.random = weights.are_random(folder)
        digest = foldrun.Digest([folder / file])
        try:
            self.net = network.load(request.model, folder, self.device)
        except Exception as e:
            raise Failure(
                "weights_missing", f"{file} is no checkpoint of {request.model} ({type(e).__name__})", detail=str(e)
            ) from e
        self.watch = pytorch.watch(self.device)
        self.watch.attach(self.net)  # a batch of a long chain takes minutes: its layers look at a cancel too
        return foldrun.Ready(
            engine_version=version("rc-foundry"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            mem=pytorch.device_memory(self.device),
            detail={"torch": torch.__version__, "random_weights": self.random},
        )

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job):
            try:
                return Run(self, job).run()
            except Failure:
                raise
            except Exception as e:
                if classify(e) == "oom":
                    raise Failure("oom", OUT_OF_MEMORY, detail=str(e)) from e
                raise


@dataclass
class Row:
    """A design, and what the result says of it."""

    drawn: network.Drawn
    number: int  # in the order of drawing
    recovery: float | None
    rank: int = 0


class Run:
    """One job, from the request to its files."""

    def __init__(self, runner: ProteinMPNN, job: Job) -> None:
        self.runner, self.job, self.watch = runner, job, runner.watch
        params = job.params
        if params.get("protocolName") != "sequence_only":
            raise unsupported(f"protocolName is {params.get('protocolName')!r}; this model has sequence_only alone")
        self.designs = whole(params, "numDesigns", 10_000)
        self.budget = whole(params, "budget", min(self.designs, 500))
        self.temperature = number(params, "temperature")
        self.avoid = params.get("inverseFoldAvoid") or ""
        if set(self.avoid) - set(LETTERS) or set(LETTERS) <= set(self.avoid):
            raise invalid("inverseFoldAvoid must be letters of the 20 amino acids, and leave one")
        self.stem = job.input["stem"]
        if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", self.stem):
            raise invalid(f"the stem {self.stem!r} must be 1 to 64 letters, digits and hyphens")
        self.places: list[tuple[str, int]] = []  # of the designed residues, by chain and position
        self.notes: list[str] = [weights.RANDOM_NOTE] if runner.random else []

    def run(self) -> foldrun.Result:
        """Draws the sequences, ranks them and writes the best."""
        self.watch.say("prepare")
        chains = self.chains()
        seen = network.tokens(chains)
        self.check(chains, seen)
        drawn = self.draw(chains, seen)
        self.watch.say("write")
        self.places = [(t.chain.name, t.position) for t in seen if t.designed]
        rows = self.ranked(drawn, [t.chain.letter(t.residue) for t in seen if t.designed])
        returned = rows[: self.budget]
        self.write(rows, returned, chains)
        return foldrun.Result(
            metrics={
                "requested": self.designs,
                "generated": len(drawn),
                "considered": len(rows),
                "duplicates": len(drawn) - len(rows),
                "returned": len(returned),
            },
            params={"temperature": self.temperature},
            notes=self.all_notes(len(drawn) - len(rows)),
            timings=self.watch.timings(),
        )

    def chains(self) -> list[Chain]:
        """The chains of the structure that the spec names."""
        path = self.job.workdir / self.job.input["spec"]
        try:
            spec = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            raise invalid("the spec cannot be read as JSON") from None
        given = backbone.file_of(spec)
        file = (path.parent / given["path"]).resolve()
        if not file.is_relative_to(self.job.workdir.resolve()) or not file.is_file():
            raise invalid(f"the spec names the file {Path(given['path']).name}, which the job does not have")
        return backbone.read(file, given)

    def check(self, chains: list[Chain], seen: list[network.Token]) -> None:
        """Says what cannot be designed, and refuses a job of nothing else."""
        asked = sum(len(c.designed) for c in chains)
        can = sum(t.designed for t in seen)
        if asked == 0:
            raise invalid("design in the spec names no residue to redesign")
        if can == 0:
            raise invalid("none of the residues to redesign has the atoms N, CA, C and O")
        if can < asked:
            self.notes.append(
                f"{asked - can} of {asked} residues to redesign lack an atom of N, CA, C and O, and stay as they are."
            )
        context = len(network.context(chains))
        if context and self.runner.model != "ligandmpnn":
            self.notes.append(
                "This model does not see the ligands, nucleic acids and ions of the structure; LigandMPNN does."
            )
        self.job.log(f"{len(seen)} residues, {can} of them designed; {context} atoms are no protein's")

    def draw(self, chains: list[Chain], seen: list[network.Token]) -> list[network.Drawn]:
        """Draws all sequences, some at once."""
        made = network.features(chains, seen, self.temperature, self.avoid)
        pytorch.seed(self.job.seed)
        at_once = network.batch(len(seen), self.job.parallel)
        out: list[network.Drawn] = []
        while len(out) < self.designs:
            self.watch.say("design", len(out), self.designs)
            out += network.draw(self.runner.net, made, seen, min(at_once, self.designs - len(out)))
        self.watch.say("design", self.designs, self.designs)
        return out

    def ranked(self, drawn: list[network.Drawn], given: list[str]) -> list[Row]:
        """The rows, the best first; given has the letters that the designed residues had. Equal sequences count once,
        equal scores share a rank."""
        rows: dict[str, Row] = {}
        for n, one in enumerate(drawn, 1):
            known = [(new, old) for new, old in zip(one.letters, given) if old in LETTERS]
            recovery = sum(new == old for new, old in known) / len(known) if known else None
            rows.setdefault(one.letters, Row(one, n, recovery))
        out = sorted(rows.values(), key=lambda r: (round(r.drawn.score, 6), r.number))
        for i, row in enumerate(out):
            same = i > 0 and round(out[i - 1].drawn.score, 6) == round(row.drawn.score, 6)
            row.rank = out[i - 1].rank if same else i + 1
        return out

    def write(self, rows: list[Row], returned: list[Row], chains: list[Chain]) -> None:
        """Writes the table, the structures and the sequences of the final set."""
        path = self.job.path("designs.jsonl")
        with path.open("w") as f:
            for row in rows:
                f.write(json.dumps(self.fields(row, chains, len(rows)), allow_nan=False) + "\n")
        self.job.file("designs", path)
        fasta = []
        for row in returned:
            self.job.check()
            path = self.job.path(f"{self.id(row)}.cif")
            backbone.write(chains, dict(zip(self.places, row.drawn.letters)), path)
            self.job.file("design", path, rank=row.rank, id=self.id(row))
            fasta += [f">{self.id(row)} chain {c.name}\n{self.sequence(c, row)}\n" for c in chains if c.designed]
        path = self.job.path("sequences.fasta")
        path.write_text("".join(fasta))
        self.job.file("fasta", path)

    def id(self, row: Row) -> str:
        """The name of a design."""
        return f"{self.stem}_{row.number}"

    def sequence(self, chain: Chain, row: Row) -> str:
        """The whole sequence of a chain, with the designed residues."""
        letters = list(chain.letters)
        for (name, position), code in zip(self.places, row.drawn.letters):
            if name == chain.name:
                letters[position - 1] = code
        return "".join(letters)

    def fields(self, row: Row, chains: list[Chain], of: int) -> dict[str, Any]:
        """The columns of a row that this protocol has a value for."""
        first = next(c for c in chains if c.designed)
        return {
            "id": self.id(row),
            "final_rank": row.rank,
            "quality_score": 1 - (row.rank - 1) / (of - 1) if of > 1 else None,
            "designed_sequence": row.drawn.letters,
            "num_design": len(row.drawn.letters),
            "designed_chain_sequence": self.sequence(first, row),
            "sequence_score": round(row.drawn.score, 6),
            "sequence_recovery": None if row.recovery is None else round(row.recovery, 6),
        }

    def all_notes(self, duplicates: int) -> list[str]:
        """The sentences for the owner."""
        notes = [*self.notes, BACKBONE_NOTE]
        if duplicates:
            notes.append(f"{duplicates} sequences were drawn before, and count once.")
        return notes


def whole(params: dict[str, Any], name: str, most: int) -> int:
    """An integer parameter from 1 to most."""
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise invalid(f"{name} is {value}; it must be a whole number from 1 to {most}")
    return value


def number(params: dict[str, Any], name: str) -> float:
    """The temperature of sampling."""
    value = params.get(name, TEMPERATURE)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 2 or not math.isfinite(value):
        raise invalid(f"{name} is {value}; it must be above 0 and up to 2")
    return float(value)


if __name__ == "__main__":
    foldrun.serve(ProteinMPNN())
