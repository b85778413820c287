"""The answers of the service, as frozen dataclasses.

The names are those of Python, such as `mean_plddt`; `_wire.WIRE` has those of the interface where they differ by more
than camelCase. None is what the service gives as null: a score that an engine does not give is None and never 0.
A test holds every field against `/openapi.json` of a server. Times are in UTC.
Links are not part of the text of an object, since whoever has one can read the file.
"""

from .batches import BatchInfo, BatchPage, BatchRow, BatchValidation, CreatedBatch, RetriedBatch, ScoreColumn
from .jobs import (
    Affinity,
    Artifact,
    CachedRun,
    Contacts,
    CreatedJob,
    Failure,
    JobDetail,
    JobRow,
    JobView,
    LinkedItem,
    PairScore,
    Position,
    Prediction,
    ResidueContact,
    ResultJob,
    ResultParameters,
    Results,
    ResultSequence,
    Run,
    RunProgress,
    Scores,
    TemplateScore,
    ValidatedItem,
    Validation,
    ViewSequence,
    Waiting,
)
from .library import CreatedItem, LibraryFile, LibraryItem, LibraryRow, UploadedFiles
from .people import Budget, Creator, Me, NewLink, ProjectRole
from .service import Citation, FieldError, Model, ParamSpec, Quota, Spent, SpentRow, Usage
from .workflows import DesignFold, FoldedDesign, FoldedDesigns, OutputItem, WorkflowFile, WorkflowTask, WorkflowView

ENDED = frozenset({"COMPLETED", "FAILED", "STOPPED"})
"""The states that a job, a batch or a workflow does not leave by itself."""

__all__ = [
    "Affinity",
    "Artifact",
    "BatchInfo",
    "BatchPage",
    "BatchRow",
    "BatchValidation",
    "Budget",
    "CachedRun",
    "Citation",
    "Contacts",
    "CreatedBatch",
    "CreatedItem",
    "CreatedJob",
    "Creator",
    "DesignFold",
    "ENDED",
    "Failure",
    "FieldError",
    "FoldedDesign",
    "FoldedDesigns",
    "JobDetail",
    "JobRow",
    "JobView",
    "LibraryFile",
    "LibraryItem",
    "LibraryRow",
    "LinkedItem",
    "Me",
    "Model",
    "NewLink",
    "OutputItem",
    "PairScore",
    "ParamSpec",
    "Position",
    "Prediction",
    "ProjectRole",
    "Quota",
    "ResidueContact",
    "ResultJob",
    "ResultParameters",
    "ResultSequence",
    "Results",
    "RetriedBatch",
    "Run",
    "RunProgress",
    "ScoreColumn",
    "Scores",
    "Spent",
    "SpentRow",
    "TemplateScore",
    "UploadedFiles",
    "Usage",
    "ValidatedItem",
    "Validation",
    "ViewSequence",
    "Waiting",
    "WorkflowFile",
    "WorkflowTask",
    "WorkflowView",
]
