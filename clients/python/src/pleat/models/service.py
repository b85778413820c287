"""The models that the service has, and the use of its quotas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ParamSpec:
    """A parameter that a model takes."""

    name: str
    type: str
    default: Any
    min: float | None
    max: float | None
    values: tuple[str, ...]
    doc: str


@dataclass(frozen=True, kw_only=True)
class Citation:
    key: str
    bibtex: str


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model that runs at the service."""

    name: str
    kind: str
    title: str
    engine: str
    version: str
    weight_set: str
    method: str
    licence: str
    weight_use: str
    device: str
    entities: tuple[str, ...]
    features: tuple[str, ...]
    params: tuple[ParamSpec, ...]
    min_tokens: int
    max_tokens: int
    limits: tuple[str, ...]
    workers: int
    confidence: str
    notice: str
    paused: bool
    paused_reason: str | None
    citations: tuple[Citation, ...]


@dataclass(frozen=True, kw_only=True)
class Quota:
    limit: int
    used: int
    remaining: int
    reset_at: datetime


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The resources that runs have spent. Seconds of GPUs or cores are None where they are known of no attempt."""

    attempts: int
    seconds: float
    gpu_seconds: float | None
    cpu_seconds: float | None
    unknown_gpu_seconds: float
    unknown_cpu_seconds: float
    runs: int
    tokens: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class SpentRow(Spent):
    """One sum of what runs have spent. A field by which the sums are not split is None."""

    day: str | None
    project_id: str | None
    project_name: str | None
    user_id: str | None
    user_name: str | None
    model: str | None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The use of today's quotas, of jobs, workflows, and rows of batches, and what one's runs have spent."""

    limit: int
    used: int
    remaining: int
    reset_at: datetime
    workflows: Quota
    batch_rows: Quota
    first_day: str
    last_day: str
    total: Spent
    spent: tuple[SpentRow, ...]


@dataclass(frozen=True, kw_only=True)
class FieldError:
    field: str
    message: str
