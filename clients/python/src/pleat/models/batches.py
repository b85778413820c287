"""Batches and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .people import Creator
from .service import FieldError


@dataclass(frozen=True, kw_only=True)
class CreatedBatch:
    batch_id: str
    rows: int
    jobs: int
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RetriedBatch:
    batch_id: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class BatchInfo:
    """A batch, with its rows by state in `counts`."""

    batch_id: str
    name: str
    kind: str
    model_name: str
    status: str
    rows: int
    jobs: int
    counts: dict[str, int]
    is_public: bool
    is_owner: bool
    project_id: str | None
    created_by: Creator | None
    source_batch_id: str | None
    created_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class BatchValidation:
    valid: bool
    errors: tuple[FieldError, ...]
    notes: tuple[str, ...]
    model_name: str
    rows: int
    jobs: int
    tokens: int
    largest_tokens: int
    alignments: int
    alignments_at_hand: int
    expected_seconds: float
    quota_remaining: int


@dataclass(frozen=True, kw_only=True)
class ScoreColumn:
    """A score of a batch's table. `higher_is_better` says which direction is better."""

    name: str
    unit: str
    higher_is_better: bool


@dataclass(frozen=True, kw_only=True)
class BatchRow:
    """A row of a batch, without its scores, which the table has."""

    row: int
    custom_id: str
    job_id: str | None
    name: str
    status: str
    error: str | None


@dataclass(frozen=True, kw_only=True)
class BatchPage:
    """A page of a batch's table. The rows are as they came, since they have the scores of the columns, too."""

    columns: tuple[ScoreColumn, ...]
    data: Any
    next_cursor: str | None
