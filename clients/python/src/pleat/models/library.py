"""Items of the library and their files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class CreatedItem:
    id: str


@dataclass(frozen=True, kw_only=True)
class LibraryFile:
    file_name: str
    content_type: str
    size_bytes: int
    sha256: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class LibraryRow:
    id: str
    project_id: str
    name: str
    type: str
    file_type: str
    origin: str
    parent_id: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class LibraryItem:
    """An item of the library. `metadata["files"]` describes its files."""

    id: str
    project_id: str
    name: str
    type: str
    file_type: str
    origin: str
    parent_id: str | None
    metadata: Any
    children: tuple[LibraryRow, ...]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class UploadedFiles:
    id: str
    files: tuple[LibraryFile, ...]
