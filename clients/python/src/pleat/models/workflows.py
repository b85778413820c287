"""Questions, simulations and designs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .jobs import Waiting
from .people import Creator


@dataclass(frozen=True, kw_only=True)
class OutputItem:
    """A file that a workflow has put into the library."""

    library_item_id: str
    file_name: str


@dataclass(frozen=True, kw_only=True)
class WorkflowFile:
    """A file in the result of a workflow. `url` needs no key; of a private workflow it works for a day at most."""

    path: str
    url: str = field(repr=False)
    size_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class WorkflowTask:
    task_id: str
    task_type: str
    status: str
    error: str | None
    raw_result: Any
    parsed_results: tuple[Any, ...]
    output_library_items: tuple[OutputItem, ...]


@dataclass(frozen=True, kw_only=True)
class DesignFold:
    """A design that was folded with another model."""

    design_id: str
    job_id: str
    job_run_id: str
    model_name: str
    status: str
    mean_plddt: float | None
    predicted_rmsd: float | None
    ptm: float | None
    iptm: float | None
    binder_rmsd: float | None


@dataclass(frozen=True, kw_only=True)
class WorkflowView:
    """A question, simulation, design or comparison."""

    workflow_id: str
    workflow_type: str
    name: str
    status: str
    stage: str
    done: int
    total: int
    is_public: bool
    is_owner: bool
    project_id: str | None
    created_by: Creator | None
    input_payload: Any
    tasks: tuple[WorkflowTask, ...]
    notes: tuple[str, ...] | None
    folds: tuple[DesignFold, ...] | None
    waiting: Waiting | None
    library_item_workspace_id: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class FoldedDesign:
    design_id: str
    final_rank: int
    job_id: str
    job_run_id: str
    job_name: str


@dataclass(frozen=True, kw_only=True)
class FoldedDesigns:
    data: tuple[FoldedDesign, ...]
    notes: tuple[str, ...]
