"""The project in which a client creates and lists, given by id or name."""

from __future__ import annotations

import os
import uuid
from typing import Any

from ._flow import Flow, Policy, page
from ._wire import decode, present
from .models import ProjectRole


class Projects:
    """Finds the ids of projects. Names are looked up once."""

    def __init__(self, policy: Policy, default: str | None) -> None:
        self._policy = policy
        self._default = default
        self._ids: dict[str, str] = {}

    @classmethod
    def of(cls, policy: Policy, given: str | None) -> Projects:
        """With the project of a client: the one that is given, or that of PLEAT_PROJECT."""
        return cls(policy, given or os.environ.get("PLEAT_PROJECT") or None)

    def list(self) -> Flow[tuple[ProjectRole, ...]]:
        """The projects in which the key's user has a role."""
        rows, _ = yield from page(self._policy, "/v1/projects")
        return tuple(decode(ProjectRole, r, f"data[{i}]") for i, r in enumerate(rows))

    def id(self, given: str | None) -> Flow[str | None]:
        """The id of the project that a call names, or else of the client's; None: neither names one."""
        name = given or self._default
        if name is None or name in self._ids:
            return name and self._ids[name]
        try:
            found = str(uuid.UUID(name))
        except ValueError:
            found = yield from self._named(name)
        self._ids[name] = found
        return found

    def _named(self, name: str) -> Flow[str]:
        known = yield from self.list()
        ids = [p.project_id for p in known if p.name == name]
        if len(ids) == 1:
            return ids[0]
        if ids:
            raise ValueError(
                f"project is {name!r}; {len(ids)} of yours have that name, so give its id: {', '.join(ids)}"
            )
        raise ValueError(f"project is {name!r}; yours are {', '.join(repr(p.name) for p in known)}")

    def add(self, body: dict[str, Any], given: str | None) -> Flow[dict[str, Any]]:
        """The body of a call that creates something, in its project."""
        return body | present(projectId=(yield from self.id(given)))
