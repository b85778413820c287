"""The content of a job: chains, ligands, constraints, templates and components.

Residues count from 1. The service checks everything and says what is wrong where; this module only gives it its form on
the wire. A test holds that form against `/openapi.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ._wire import present

_BYTES = (bytes, bytearray, memoryview)  # as a file has a sequence


@dataclass(frozen=True)
class Modification:
    """A modified residue, by its code in the Chemical Component Dictionary or of a component of the job."""

    residue: int
    ccd: str

    def to_wire(self) -> dict[str, Any]:
        return {"res_idx": self.residue, "ccd": self.ccd}


@dataclass(frozen=True)
class LibraryRef:
    """A file of the library. Without `file`, the item's only file of the right kind."""

    item: str
    file: str | None = None

    def to_wire(self) -> dict[str, Any]:
        return present(libraryItemId=self.item, fileName=self.file)


@dataclass(frozen=True)
class _Polymer:
    sequence: str
    chain: str | None = None
    label: str | None = None
    copies: int | None = None
    cyclic: bool | None = None
    modifications: Sequence[Modification] = ()

    def __post_init__(self) -> None:
        if isinstance(self.sequence, _BYTES):  # pyright: ignore[reportUnnecessaryIsInstance] # as a file has it
            object.__setattr__(self, "sequence", bytes(self.sequence).decode())

    def _polymer(self) -> dict[str, Any]:
        return present(
            sequence=self.sequence,
            chain_id=self.chain,
            label=self.label,
            count=self.copies,
            cyclic=self.cyclic,
            modifications=[m.to_wire() for m in self.modifications],
        )


@dataclass(frozen=True)
class Protein(_Polymer):
    """A protein chain. `msa` is an alignment of one's own in the library."""

    msa: LibraryRef | None = None

    def to_wire(self) -> dict[str, Any]:
        return {"proteinChain": {**self._polymer(), **_msa(self.msa)}}


@dataclass(frozen=True)
class RNA(_Polymer):
    msa: LibraryRef | None = None

    def to_wire(self) -> dict[str, Any]:
        return {"rnaSequence": {**self._polymer(), **_msa(self.msa)}}


@dataclass(frozen=True)
class DNA(_Polymer):
    def to_wire(self) -> dict[str, Any]:
        return {"dnaSequence": self._polymer()}


def _msa(ref: LibraryRef | None) -> dict[str, Any]:
    return {} if ref is None else {"msa": ref.to_wire()}


@dataclass(frozen=True, kw_only=True)
class Ligand:
    """A ligand: exactly one of a SMILES string and a code of the Chemical Component Dictionary (CCD)."""

    smiles: str | None = None
    ccd: str | None = None
    chain: str | None = None
    label: str | None = None
    copies: int | None = None
    affinity: bool = False
    """Whether its affinity is to be predicted, by models that do."""

    def __post_init__(self) -> None:
        if (self.smiles is None) == (self.ccd is None):
            raise ValueError("a Ligand has either smiles or ccd")

    def to_wire(self) -> dict[str, Any]:
        return {
            "ligandSequence": present(
                sequence=self.smiles if self.ccd is None else self.ccd,
                is_ccd=None if self.ccd is None else True,
                chain_id=self.chain,
                label=self.label,
                count=self.copies,
                property_type="affinity" if self.affinity else None,
            )
        }


Molecule = Protein | RNA | DNA | Ligand


@dataclass(frozen=True)
class Residue:
    """A residue of a chain, or an atom of it where `atom` is given."""

    chain: str
    number: int
    atom: str | None = None

    def to_wire(self) -> dict[str, Any]:
        return present(chain_id=self.chain, res_idx=self.number, atom_name=self.atom)


@dataclass(frozen=True)
class Pocket:
    """A chain that shall bind at residues of others."""

    binder: str
    contacts: Sequence[Residue]

    def to_wire(self) -> dict[str, Any]:
        return {"binder": {"chain_id": self.binder}, "contacts": [c.to_wire() for c in self.contacts]}


@dataclass(frozen=True)
class Bond:
    """A covalent bond of two atoms."""

    a: Residue
    b: Residue

    def to_wire(self) -> dict[str, Any]:
        return {"atom1": self.a.to_wire(), "atom2": self.b.to_wire()}


@dataclass(frozen=True)
class Contact:
    """Two residues that shall be within `distance` Å of each other."""

    a: Residue
    b: Residue
    distance: float | None = None

    def to_wire(self) -> dict[str, Any]:
        return present(
            chainA=self.a.chain,
            res_idxA=self.a.number,
            chainB=self.b.chain,
            res_idxB=self.b.number,
            distance=self.distance,
        )


@dataclass(frozen=True, kw_only=True)
class Template:
    """A structure that the model gets as an example of a chain: exactly one of `library_item`, `job` and `pdb`.

    With `force`, the chain is held within `max_distance` Å of it, by models that can.
    """

    library_item: str | None = None
    job: str | None = None
    pdb: str | None = None
    file: str | None = None
    template_chain: str | None = None
    chain: str | None = None
    force: bool | None = None
    max_distance: float | None = None

    def to_wire(self) -> dict[str, Any]:
        return present(
            libraryItemId=self.library_item,
            jobId=self.job,
            pdbId=self.pdb,
            fileName=self.file,
            templateChain=self.template_chain,
            chain=self.chain,
            force=self.force,
            maxDistance=self.max_distance,
        )


@dataclass(frozen=True, kw_only=True)
class Component:
    """A molecule of one's own, used by its code: as SMILES, or as a file of the library."""

    code: str
    smiles: str | None = None
    library_item: str | None = None
    file: str | None = None

    def to_wire(self) -> dict[str, Any]:
        return present(code=self.code, smiles=self.smiles, libraryItemId=self.library_item, fileName=self.file)


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Conditions on the structure, for models that honour them. `webhooks` is as in docs/webhooks.md."""

    pockets: Sequence[Pocket] = ()
    bonds: Sequence[Bond] = ()
    contacts: Sequence[Contact] = ()
    components: Sequence[Component] = ()
    webhooks: Mapping[str, Any] | None = None

    def to_wire(self) -> dict[str, Any]:
        return present(
            pocket=[p.to_wire() for p in self.pockets],
            bond=[b.to_wire() for b in self.bonds],
            contact=[c.to_wire() for c in self.contacts],
            components=[c.to_wire() for c in self.components],
            webhooks=None if self.webhooks is None else dict(self.webhooks),
        )


@dataclass(frozen=True, kw_only=True)
class Params:
    """Parameters of a model; None: the model's own. `GET /v1/models` says which ones a model takes."""

    seed: int | str | None = None
    msa_algorithm: str | None = None
    alignment: str | None = None
    relax: bool | None = None
    recycling_steps: int | None = None
    sampling_steps: int | None = None
    samples: int | None = None
    step_scale: float | None = None
    affinity_mw_correction: bool | None = None
    affinity_sampling_steps: int | None = None
    affinity_samples: int | None = None
    model_seeds: int | None = None
    diffusion_samples: int | None = None
    diffusion_timesteps: int | None = None
    trunk_samples: int | None = None
    trunk_recycles: int | None = None

    def to_wire(self, model: str | None) -> dict[str, Any]:
        return present(
            modelName=model,
            seed=None if self.seed is None else str(self.seed),
            msaAlgorithm=self.msa_algorithm,
            alignmentId=self.alignment,
            relaxPrediction=self.relax,
            recyclingSteps=self.recycling_steps,
            samplingSteps=self.sampling_steps,
            diffusionSample=self.samples,
            stepScale=self.step_scale,
            affinityMwCorrection=self.affinity_mw_correction,
            samplingStepsAffinity=self.affinity_sampling_steps,
            diffusionSamplesAffinity=self.affinity_samples,
            numModelSeeds=self.model_seeds,
            numDiffnSamples=self.diffusion_samples,
            numDiffnTimesteps=self.diffusion_timesteps,
            numTrunkSamples=self.trunk_samples,
            numTrunkRecycles=self.trunk_recycles,
        )


def molecules(given: str | Molecule | Sequence[str | Molecule]) -> list[dict[str, Any]]:
    """Molecules in their form on the wire; a text is the sequence of a protein."""
    if isinstance(given, (str, *_BYTES, Molecule)):
        return [_molecule(given)]
    if isinstance(given, Mapping) or hasattr(given, "read") or not isinstance(given, Iterable):  # pyright: ignore
        raise _no_molecule(given)
    return [_molecule(m) for m in given]


def _molecule(given: Any) -> dict[str, Any]:
    if isinstance(given, (str, *_BYTES)):
        return Protein(given).to_wire()  # pyright: ignore[reportArgumentType] # which decodes it
    if not isinstance(given, Molecule):
        raise _no_molecule(given)
    return given.to_wire()


def _no_molecule(given: Any) -> TypeError:
    # Iteration over a dictionary gives its keys, and over a file its lines: neither is what was meant.
    how = "; read the file first" if hasattr(given, "read") or hasattr(given, "__fspath__") else ""
    return TypeError(f"a molecule is {given!r}; it must be a text, Protein, RNA, DNA or Ligand{how}")


def seeded(params: Params | None, seed: int | None) -> Params | None:
    """The parameters with a seed that is given apart from them."""
    if seed is None:
        return params
    if params is not None and params.seed is not None:
        raise ValueError("seed is given twice, and by params; leave out one of them")
    return replace(params or Params(), seed=seed)


def constraints(given: Constraints | None, templates: Sequence[Template] = ()) -> dict[str, Any] | None:
    """Constraints and templates in their form on the wire; None: there are none."""
    out = {} if given is None else given.to_wire()
    if templates:
        out["templates"] = [t.to_wire() for t in templates]
    return out or None


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """The body of a new job."""

    name: str
    model: str
    molecules: Sequence[Mapping[str, Any]]
    params: Params | None = None
    constraints: Mapping[str, Any] | None = None
    public: bool = False

    def to_wire(self) -> dict[str, Any]:
        if not isinstance(self.name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"name is {self.name!r}; it must be a text")
        if not isinstance(self.params, Params | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"params is {self.params!r}; it must be Params, such as Params(seed=1)")
        return present(
            name=self.name,
            isPublic=True if self.public else None,
            sequences=[dict(m) for m in self.molecules],
            params=(self.params or Params()).to_wire(self.model),
            constraints=None if self.constraints is None else dict(self.constraints),
        )
