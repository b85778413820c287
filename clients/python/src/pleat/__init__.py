"""Client of Pleat, a self-hosted service that predicts protein structures.

    from pleat import Pleat

    job = Pleat().fold("DAYAQWLKDGGPSSGRPPPS", name="Trp-cage").wait()
    print(job.scores.mean_plddt)
    job.save("trp-cage")

docs/python.md of Pleat is the guide.
"""

from . import errors, webhooks
from ._flow import Policy
from ._version import VERSION as __version__
from .batch import AsyncBatch, Batch, Entry, Ligands, Matrix, Seeds, Variants
from .client import AsyncPleat, Pleat
from .design import AsyncDesign, Design
from .errors import PleatError
from .events import Progress
from .inputs import (
    DNA,
    RNA,
    Bond,
    Component,
    Constraints,
    Contact,
    LibraryRef,
    Ligand,
    Modification,
    Params,
    Pocket,
    Protein,
    Residue,
    Template,
)
from .job import AsyncJob, Job
from .models import Scores
from .structure import Structure
from .workflow import (
    AsyncQuestion,
    AsyncSimulation,
    AsyncWorkflow,
    Question,
    Simulation,
    Workflow,
)

__all__ = [
    "DNA",
    "RNA",
    "AsyncBatch",
    "AsyncDesign",
    "AsyncJob",
    "AsyncPleat",
    "AsyncQuestion",
    "AsyncSimulation",
    "AsyncWorkflow",
    "Batch",
    "Bond",
    "Component",
    "Constraints",
    "Contact",
    "Design",
    "Entry",
    "Job",
    "LibraryRef",
    "Ligand",
    "Ligands",
    "Matrix",
    "Modification",
    "Params",
    "Pleat",
    "PleatError",
    "Pocket",
    "Policy",
    "Progress",
    "Protein",
    "Question",
    "Residue",
    "Scores",
    "Seeds",
    "Simulation",
    "Structure",
    "Template",
    "Variants",
    "Workflow",
    "__version__",
    "errors",
    "webhooks",
]
