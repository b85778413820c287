"""The library: files that a user keeps at the service."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import errors, files
from ._flow import Call, Flow, Policy, get, pages, send, send_json
from ._project import Projects
from ._wire import decode, present
from .models import CreatedItem, LibraryItem, LibraryRow, UploadedFiles

if TYPE_CHECKING:
    from ._drive import AsyncDriver, Driver

PathLike = str | os.PathLike[str]


class LibraryFlows:
    """The operations of the library, as flows."""

    def __init__(self, policy: Policy, projects: Projects) -> None:
        self._policy = policy
        self._projects = projects

    def _list(self, project: str | None) -> Flow[list[LibraryRow]]:
        query = {"limit": 200, "projectId": (yield from self._projects.id(project))}
        return [decode(LibraryRow, r) for r in (yield from pages(self._policy, "/v1/library", query))]

    def _get(self, id: str) -> Flow[LibraryItem]:
        return decode(LibraryItem, (yield from send_json(self._policy, get(_path(id)))))

    def _upload(
        self, paths: Sequence[PathLike], name: str | None, folder: str | None, project: str | None
    ) -> Flow[UploadedFiles]:
        if not paths:
            raise ValueError("paths is empty; it must name at least one file")
        contents = tuple((Path(p).name, Path(p).read_bytes()) for p in paths)
        first = contents[0][0]
        body = present(name=name or first, type="file", fileType=Path(first).suffix.removeprefix("."), parent_id=folder)
        id = yield from self._create(body, project)
        try:
            upload = Call("POST", f"{_path(id)}/upload-files", files=contents)
            return decode(UploadedFiles, (yield from send_json(self._policy, upload)))
        except errors.APIError:
            yield from self._delete(id)  # an item without its files is of no use
            raise

    def _create_folder(self, name: str, folder: str | None, project: str | None) -> Flow[str]:
        body = present(name=name, type="folder", parent_id=folder)
        return (yield from self._create(body, project))

    def _create(self, body: dict[str, Any], project: str | None) -> Flow[str]:
        body = yield from self._projects.add(body, project)
        created = yield from send_json(self._policy, Call("POST", "/v1/library/create", json=body))
        return decode(CreatedItem, created).id

    def _download(self, id: str, file: str, folder: PathLike) -> Flow[Path]:
        link = yield from send_json(self._policy, get(f"/v1/library/file/{quote(id, safe='')}/{quote(file, safe='')}"))
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        return (yield from files.save(self._policy, files.Source(file, link=str(link)), into))

    def _delete(self, id: str) -> Flow[None]:
        yield from send(self._policy, Call("DELETE", _path(id)))


def _path(id: str) -> str:
    return f"/v1/library/{quote(id, safe='')}"


class Library(LibraryFlows):
    """The library of a project."""

    def __init__(self, driver: Driver, policy: Policy, projects: Projects) -> None:
        super().__init__(policy, projects)
        self._run = driver.run

    def list(self, *, project: str | None = None) -> list[LibraryRow]:
        """All items at the top."""
        return self._run(self._list(project))

    def get(self, id: str) -> LibraryItem:
        """An item with its files and children."""
        return self._run(self._get(id))

    def upload(
        self, *paths: PathLike, name: str | None = None, folder: str | None = None, project: str | None = None
    ) -> UploadedFiles:
        """Makes an item of one or several files."""
        return self._run(self._upload(paths, name, folder, project))

    def create_folder(self, name: str, *, folder: str | None = None, project: str | None = None) -> str:
        """Makes a folder and answers its id."""
        return self._run(self._create_folder(name, folder, project))

    def download(self, id: str, file: str, folder: PathLike) -> Path:
        """Writes a file of an item into a folder of this machine."""
        return self._run(self._download(id, file, folder))

    def delete(self, id: str) -> None:
        """Deletes an item with its files and everything below it."""
        self._run(self._delete(id))


class AsyncLibrary(LibraryFlows):
    """The library of a project, whose methods are awaited."""

    def __init__(self, driver: AsyncDriver, policy: Policy, projects: Projects) -> None:
        super().__init__(policy, projects)
        self._run = driver.run

    async def list(self, *, project: str | None = None) -> list[LibraryRow]:
        """All items at the top."""
        return await self._run(self._list(project))

    async def get(self, id: str) -> LibraryItem:
        """An item with its files and children."""
        return await self._run(self._get(id))

    async def upload(
        self, *paths: PathLike, name: str | None = None, folder: str | None = None, project: str | None = None
    ) -> UploadedFiles:
        """Makes an item of one or several files."""
        return await self._run(self._upload(paths, name, folder, project))

    async def create_folder(self, name: str, *, folder: str | None = None, project: str | None = None) -> str:
        """Makes a folder and answers its id."""
        return await self._run(self._create_folder(name, folder, project))

    async def download(self, id: str, file: str, folder: PathLike) -> Path:
        """Writes a file of an item into a folder of this machine."""
        return await self._run(self._download(id, file, folder))

    async def delete(self, id: str) -> None:
        """Deletes an item with its files and everything below it."""
        await self._run(self._delete(id))
