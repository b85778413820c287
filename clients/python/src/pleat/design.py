"""Designs of binders, and folding them with another model."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ._flow import Call, Flow, send_json
from ._packages import need
from ._run import Later
from ._wire import decode, present
from .inputs import Params
from .job import AsyncJob, Job
from .models import FoldedDesign, FoldedDesigns
from .workflow import AsyncWorkflow, Workflow, WorkflowFlows

if TYPE_CHECKING:
    import pandas as pd


class DesignFlows(WorkflowFlows):
    """The operations of a design, as flows."""

    def _designs(self) -> Flow[list[dict[str, Any]]]:
        return [dict(d) for d in (yield from self._result()).get("designs") or ()]

    def _designs_to_pandas(self) -> Flow[pd.DataFrame]:
        rows = yield from self._designs()
        frame = need("pandas", "pandas").DataFrame(rows)
        return frame.set_index("id") if "id" in frame else frame

    def _fold(
        self, model: str, top: int | None, designs: Sequence[str], params: Params | None, name: str | None, key: str
    ) -> Flow[tuple[FoldedDesign, ...]]:
        body = present(top=top, designs=list(designs), name=name, params=(params or Params()).to_wire(model))
        path = f"/v1/workflows/design/{quote(self.id, safe='')}/fold"
        call = Call("POST", path, json=body, headers={"Idempotency-Key": key}, repeatable=True)
        return decode(FoldedDesigns, (yield from send_json(self._policy, call))).data


class Design(DesignFlows, Workflow):
    """A design. Its rows are ranked; read `pass_filters` of each: those that fail are returned, too."""

    @property
    def designs(self) -> list[dict[str, Any]]:
        """The designs of the final set, the best first. A value that the engine does not give is None."""
        return self._run(self._designs())

    def to_pandas(self) -> pd.DataFrame:
        """The designs as a table, by their ids."""
        return self._run(self._designs_to_pandas())

    def fold(
        self,
        *,
        model: str,
        top: int | None = None,
        designs: Sequence[str] = (),
        params: Params | None = None,
        name: str | None = None,
    ) -> list[Job]:
        """Folds the best designs, or those named, with another model."""
        folded = self._run(self._fold(model, top, designs, params, name, str(uuid.uuid4())))
        return [Job(self._driver, self._policy, f.job_id, f.job_name) for f in folded]


class AsyncDesign(DesignFlows, AsyncWorkflow):
    """A design, whose methods and properties are awaited."""

    @property
    def designs(self) -> Later[list[dict[str, Any]]]:
        """The designs of the final set, the best first. A value that the engine does not give is None."""
        return Later(lambda: self._run(self._designs()))

    async def to_pandas(self) -> pd.DataFrame:
        """The designs as a table, by their ids."""
        return await self._run(self._designs_to_pandas())

    async def fold(
        self,
        *,
        model: str,
        top: int | None = None,
        designs: Sequence[str] = (),
        params: Params | None = None,
        name: str | None = None,
    ) -> list[AsyncJob]:
        """Folds the best designs, or those named, with another model."""
        folded = await self._run(self._fold(model, top, designs, params, name, str(uuid.uuid4())))
        return [AsyncJob(self._driver, self._policy, f.job_id, f.job_name) for f in folded]
