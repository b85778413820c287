"""Jobs, their runs, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .people import Creator
from .service import FieldError


@dataclass(frozen=True, kw_only=True)
class CreatedJob:
    job_id: str
    job_run_id: str
    job_name: str
    job_status: str
    sequences_ids: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Affinity:
    """How strongly a ligand is predicted to bind: log10 of the IC50 in µM, and the probability that it binds."""

    affinity_value: float
    affinity_probability: float


@dataclass(frozen=True, kw_only=True)
class PairScore:
    """The scores of two chains."""

    chain_a: str
    chain_b: str
    iptm: float | None
    ipsae: float | None
    pdockq2: float | None
    lis: float | None


@dataclass(frozen=True, kw_only=True)
class TemplateScore:
    """How near a chain is to a template: residues aligned, and RMSD in Å."""

    template: int
    chain: str
    residues: int
    rmsd: float | None


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of one structure. pLDDT is 0 to 100, pTM and ipTM are 0 to 1, PAE is in Å.

    `predicted_rmsd` is what some models give in place of pLDDT: the mean over the residues, in Å, lower being better.

    `confidence` says in the engine's words what its confidence is.
    """

    chains: tuple[str, ...]
    mean_plddt: float | None
    predicted_rmsd: float | None
    ptm: float | None
    iptm: float | None
    max_pae: float | None
    affinity: Affinity | None
    pairs: tuple[PairScore, ...]
    templates: tuple[TemplateScore, ...] | None
    confidence: str
    sequence_id: str | None


@dataclass(frozen=True, kw_only=True)
class Failure:
    kind: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """One execution of a job."""

    id: str
    number: int
    status: str
    msa_status: str
    model_name: str
    weight_set: str
    method: str
    engine: str
    seed: str
    mean_plddt: float | None
    predicted_rmsd: float | None
    ptm: float | None
    iptm: float | None
    cached: bool
    failure: Failure | None
    notes: tuple[str, ...]
    timings: dict[str, float]
    execution_seconds: float
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    stage: str
    done: int
    total: int
    queue_position: int | None


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Why a run waits."""

    reason: str
    since: datetime
    worker_class: str | None
    expected_start: datetime | None


@dataclass(frozen=True, kw_only=True)
class JobDetail:
    id: str
    job_run_id: str
    status: str
    name: str
    date: datetime
    updated_at: datetime
    expires_at: datetime | None
    is_complex: bool
    is_public: bool
    is_owner: bool
    project_id: str | None
    created_by: Creator | None
    chat_id: str | None
    library_item_id: str | None


@dataclass(frozen=True, kw_only=True)
class ViewSequence:
    """One molecule of a job, with its chains."""

    id: str
    type: str
    name: str | None
    sequence: str
    chains: tuple[str, ...]
    copies: int
    item: Any


@dataclass(frozen=True, kw_only=True)
class LinkedItem:
    """A workflow or a delivery of a job."""

    id: str
    type: str
    name: str
    status: str
    design_id: str | None


@dataclass(frozen=True, kw_only=True)
class JobView:
    """Everything about a job."""

    job: JobDetail
    run: Run
    runs: tuple[Run, ...]
    progress: RunProgress
    waiting: Waiting | None
    sequences: tuple[ViewSequence, ...]
    params: dict[str, Any]
    constraints: Any
    predictions: tuple[Scores, ...]
    workflows: tuple[LinkedItem, ...]
    deliveries: tuple[LinkedItem, ...]


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A job in a list."""

    id: str
    project_id: str | None
    created_by: Creator | None
    job_run_id: str
    name: str
    status: str
    model_name: str
    mean_plddt: float | None
    predicted_rmsd: float | None
    stage: str
    done: int
    total: int
    error: str | None
    is_public: bool
    date: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A file of a run. `url` needs no key; of a private job it works for a day at most."""

    name: str
    kind: str
    url: str = field(repr=False)
    content_type: str
    bytes: int
    sha256: str
    sequence_id: str | None


@dataclass(frozen=True, kw_only=True)
class ResultJob:
    id: str
    status: str
    name: str
    date: datetime
    updated_at: datetime
    is_complex: bool
    is_public: bool
    job_run_id: str


@dataclass(frozen=True, kw_only=True)
class ResultParameters:
    items: int
    created_at: datetime
    model_name: str
    weight_set: str
    method: str
    relax_prediction: bool


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One structure in the results, with the links to its files."""

    prediction_status: str
    job_run_status: str
    msa_status: str
    has_prediction: bool
    error: str | None
    mean_plddt: float | None
    predicted_rmsd: float | None
    ptm: float | None
    iptm: float | None
    max_pae: float | None
    affinity: Affinity | None
    templates: tuple[TemplateScore, ...] | None
    execution_minutes: float
    seed: str
    cif_url: str | None = field(repr=False)
    pdb_url: str | None = field(repr=False)
    pae_plot_url: str | None = field(repr=False)
    plddt_plot_url: str | None = field(repr=False)
    predicted_rmsd_plot_url: str | None = field(repr=False)
    msa_coverage_plot_url: str | None = field(repr=False)
    metrics_json_url: str | None = field(repr=False)
    config_json_url: str | None = field(repr=False)
    citations_bibtex_url: str | None = field(repr=False)
    plots_url: str | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ResultSequence:
    id: str
    job_run_id: str
    name: str | None
    sequence: str
    type: str
    created_at: datetime
    updated_at: datetime
    prediction: Prediction | None


@dataclass(frozen=True, kw_only=True)
class Results:
    """The answer of `GET /v1/jobs/{id}/results`."""

    job: ResultJob
    job_run_id: str
    parameters: ResultParameters
    constraints: Any
    sequences_ids: tuple[str, ...]
    sequences: tuple[ResultSequence, ...]
    prediction: Prediction
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True, kw_only=True)
class Position:
    chain: str
    residue_number: int
    name: str


@dataclass(frozen=True, kw_only=True)
class ResidueContact:
    """Two residues of different chains that touch; distance and errors in Å."""

    a: Position
    b: Position
    distance: float
    pae_ab: float | None
    pae_ba: float | None


@dataclass(frozen=True, kw_only=True)
class Contacts:
    job_id: str
    job_run_id: str
    file: str
    data: tuple[ResidueContact, ...]
    total: int
    truncated: bool
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class ValidatedItem:
    type: str
    chains: tuple[str, ...]
    residues: int
    tokens: int


@dataclass(frozen=True, kw_only=True)
class CachedRun:
    job_id: str
    job_run_id: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Validation:
    """A job before it is created: its faults, size, and expected cost."""

    valid: bool
    errors: tuple[FieldError, ...]
    model_name: str
    params: dict[str, Any]
    chains: tuple[ValidatedItem, ...]
    is_complex: bool
    tokens: int
    max_tokens: int
    expected_memory_bytes: int
    expected_seconds: float
    quota_remaining: int
    confidence: str
    notice: str
    paused: bool
    paused_reason: str | None
    cached: CachedRun | None
    notes: tuple[str, ...] = ()
