"""Users, projects and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The most that a project may spend in a month; None: without a limit."""

    gpu_seconds: float | None
    cpu_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Creator:
    """The user who created something. `name` is None once the user was deleted."""

    id: str
    name: str | None


@dataclass(frozen=True, kw_only=True)
class ProjectRole:
    """A project with the role of the key's user: viewer, member or manager; None: none, which only operators see."""

    project_id: str
    name: str
    is_own: bool
    quota: int | None
    keep_results_days: int | None
    budget: Budget
    commercial: bool
    created_at: datetime
    role: str | None


@dataclass(frozen=True, kw_only=True)
class Me:
    """The user of a key. `project_id` is the project of a call that names none."""

    user_id: str
    name: str
    is_service: bool
    is_operator: bool
    scopes: tuple[str, ...]
    project_id: str
    projects: tuple[ProjectRole, ...]


@dataclass(frozen=True, kw_only=True)
class NewLink:
    """A link that was just made. `url` opens the page; a program sends `token` as the header X-Share-Token."""

    link_id: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    token: str = field(repr=False)
    url: str = field(repr=False)
