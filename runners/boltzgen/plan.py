"""The arguments of the package: the checked parameters of a job as arguments of its command line."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldrun import Failure, Job, invalid, unsupported

PROTOCOLS = (
    "protein-anything",
    "peptide-anything",
    "protein-small_molecule",
    "nanobody-anything",
    "antibody-anything",
    "protein-redesign",
)
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
# From this many designs on the package draws in batches, of one length each.
BATCHED, BATCH = 100, 10
OUT = "boltzgen"  # folder of the package's output, relative so that its report prints no path of the host

DESIGN = ("boltzgen1_diverse.ckpt", "boltzgen1_adherence.ckpt")
INVERSE_FOLDING, FOLDING, AFFINITY = "boltzgen1_ifold.ckpt", "boltz2_conf_final.ckpt", "boltz2_aff.ckpt"
MOLECULES = "mols.zip"

FEW = 20  # steps of diffusion
# The steps of the package that run a network.
PREDICTIONS = ("design", "inverse_folding", "folding", "design_folding", "affinity")


@dataclass
class Plan:
    """The parameters of a job."""

    protocol: str
    designs: int
    budget: int
    spec: str  # path of the main spec
    stem: str  # with which the ids of the designs begin
    batch: int  # designs drawn at once
    alpha: float | None = None
    threshold: float | None = None  # Å
    biased: bool | None = None
    avoid: str | None = None

    def arguments(self, weights: Path, device: str, kernels: bool, processes: int, few: bool = False) -> list[str]:
        """The arguments of `boltzgen configure`. few takes few steps of diffusion: no more are worth it with random
        weights."""
        out = ["configure", self.spec, "--output", OUT, "--protocol", self.protocol]
        out += ["--num_designs", str(self.designs), "--budget", str(self.budget)]
        out += ["--diffusion_batch_size", str(self.batch), "--devices", "1", "--num_workers", "0"]
        out += ["--use_kernels", "auto" if kernels else "false", "--moldir", str(weights / MOLECULES)]
        out += ["--design_checkpoints", *(str(weights / name) for name in DESIGN)]
        out += ["--inverse_fold_checkpoint", str(weights / INVERSE_FOLDING)]
        out += ["--folding_checkpoint", str(weights / FOLDING), "--affinity_checkpoint", str(weights / AFFINITY)]
        if self.biased is not None:
            out += ["--filter_biased", "true" if self.biased else "false"]
        if self.avoid is not None:
            out.append(f"--inverse_fold_avoid={self.avoid}")
        trainer = ["trainer.logger=false", "trainer.enable_progress_bar=false"]
        if device == "cpu":
            # The package computes in mixed precision, but for parts that it takes out by the name of the GPU alone.
            trainer += ["trainer.accelerator=cpu", "trainer.precision=32"]
        for step in PREDICTIONS:
            # Pinned memory is for GPUs alone. The two kinds of data have the option in different places.
            pin = "data.pin_memory" if step == "design" else "data.cfg.pin_memory"
            out += ["--config", step, *trainer, f"{pin}={str(device != 'cpu').lower()}"]
            if few:
                out.append(f"sampling_steps={FEW}")
        out += ["--config", "analysis", f"num_processes={processes}", "data.cfg.num_workers=0"]
        # The package puts a protocol's own values after those of its options --alpha and --refolding_rmsd_threshold,
        # so that they win; after these overrides they do not.
        filtering = []
        if self.alpha is not None:
            filtering.append(f"alpha={self.alpha!r}")
        if self.threshold is not None:
            filtering.append(f"refolding_rmsd_threshold={self.threshold!r}")
        if filtering:
            out += ["--config", "filtering", *filtering]
        return out


def read(job: Job) -> Plan:
    """The plan of a job. Raises Failure where the package cannot do what it asks."""
    params, given = job.params, job.input
    protocol = params.get("protocolName") or PROTOCOLS[0]
    if protocol not in PROTOCOLS:
        raise unsupported(f"protocolName is {protocol!r}; BoltzGen has {', '.join(PROTOCOLS)}")
    designs = whole(params, "numDesigns", 1, 10_000)
    budget = whole(params, "budget", 1, min(designs, 500))
    avoid = params.get("inverseFoldAvoid")
    if avoid is not None and set(avoid) - set(LETTERS):
        raise invalid(f"inverseFoldAvoid is {avoid!r}; it must be letters of the 20 amino acids")
    if avoid is not None and set(LETTERS) <= set(avoid):
        raise invalid("inverseFoldAvoid has all 20 amino acids; it must leave one")
    return Plan(
        protocol=protocol,
        designs=designs,
        budget=budget,
        spec=given["spec"],
        stem=stem(given["stem"]),
        batch=batch(designs, job.parallel),
        alpha=number(params, "alpha", 0, 1),
        threshold=number(params, "refoldingRmsdThreshold", 0, math.inf),
        biased=params.get("filterBiased"),
        avoid=avoid,
    )


def whole(params: dict[str, Any], name: str, least: int, most: int) -> int:
    """An integer parameter within its bounds."""
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise invalid(f"{name} is {value}; it must be a whole number from {least} to {most}")
    return value


def number(params: dict[str, Any], name: str, least: float, most: float) -> float | None:
    """A number parameter within its bounds; None where it is absent."""
    value = params.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        bound = f"from {least} to {most}" if most < math.inf else f"of at least {least}"
        raise invalid(f"{name} is {value}; it must be a number {bound}")
    return float(value)


def batch(designs: int, parallel: int) -> int:
    """How many designs are drawn at once. It divides their number: the package rounds that up to whole batches."""
    most = BATCH if designs >= BATCHED else 1
    if parallel:
        most = min(most, parallel)
    return next(n for n in range(most, 0, -1) if designs % n == 0)


def stem(text: str) -> str:
    """The name of the spec for the package. Text that it would take for its own numbering is refused. pandas reads the
    name back from a table, and makes a number, a truth value or nothing of some."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", text):
        raise invalid(f"the stem {text!r} of the spec must be 1 to 64 letters, digits and hyphens")
    try:
        float(text)
        read_back = False
    except ValueError:
        read_back = text.lower() not in ("na", "n-a", "null", "none", "true", "false", "-nan")
    return text if read_back else f"design-{text}"


def check_spec(folder: Path, spec: str) -> None:
    """Refuses a spec, or one nested in it, that is not JSON, or that names a file outside of the job's folder or one
    that is missing: the package opens whatever a spec says."""
    seen: set[Path] = set()
    waiting = [folder / spec]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            raise invalid(f"the spec {path.name} cannot be read as JSON") from None
        for name in paths(content):
            found = (path.parent / name).resolve()
            if not found.is_relative_to(folder.resolve()) or not found.is_file():
                raise invalid(f"the spec {path.name} names the file {Path(name).name}, which the job does not have")
            if found.suffix == ".yaml":
                waiting.append(found)


def smiles(folder: Path, spec: str) -> Iterable[tuple[str, str]]:
    """The chains and SMILES of the spec's ligands; specs nested in it have none."""
    for entity in json.loads((folder / spec).read_bytes()).get("entities", []):
        ligand = entity.get("ligand")
        if ligand and "smiles" in ligand:
            yield str(ligand["id"]), ligand["smiles"]


# The exceptions of the package for a component that its dictionary lacks.
MISSING = re.compile(r"There is no item named '([^']+)\.pkl' in the archive")


def missing_component(e: BaseException | None) -> Failure | None:
    """The failure that an exception means if it, or one that it came from, is about a component that the package does
    not know; else None."""
    while e is not None:
        found = MISSING.search(str(e)) if isinstance(e, KeyError) else None
        if found:
            return invalid(
                f"BoltzGen does not know the component {found[1]} of the Chemical Component Dictionary, which the spec "
                "or one of its files names; give a code that its dictionary has, or the ligand as SMILES"
            )
        e = e.__cause__ or e.__context__
    return None


def paths(content: Any) -> Iterable[str]:
    """The files that a spec names."""
    entities = [content] if isinstance(content, dict) else []
    if entities and isinstance(content.get("entities"), list):
        entities += [e["file"] for e in content["entities"] if isinstance(e, dict) and isinstance(e.get("file"), dict)]
    for entity in entities:
        path = entity.get("path")
        for one in path if isinstance(path, list) else [path]:
            if one is not None and not isinstance(one, str):
                raise invalid("a path in the spec is not text")
            if one is not None:
                yield one


def place_spec(job: Job, plan: Plan) -> None:
    """Checks the spec and puts it beside itself under the name from which the package makes ids."""
    check_spec(job.workdir, plan.spec)
    path = Path(plan.spec)
    named = path.with_name(f"{plan.stem}.yaml")
    if named == path:
        return
    if (job.workdir / named).exists():
        raise Failure("internal", f"the job has a file named as its spec would be, {named.name}")
    (job.workdir / named).write_bytes((job.workdir / path).read_bytes())
    plan.spec = str(named)
