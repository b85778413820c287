"""foldrun: what a model's runner needs to work for Pleat.

A runner is a process that the service starts, one per engine and device. It loads a model once and predicts many times.
The protocol is in docs/runner-protocol.md. This package implements it, so that a runner is a class with two methods:

    import foldrun

    class Mine(foldrun.Runner):
        engine = "mine"

        def load(self, request):
            self.model = ...                       # from request.weights_dir, onto request.device
            return foldrun.Ready(engine_version="1.0")

        def predict(self, job):
            job.progress("trunk", 0, 1)            # reports progress; raises Cancelled after a cancel
            ...
            job.file("structure", path)            # an mmCIF file in job.workdir
            return foldrun.Result(scores={"ptm": 0.8})

    foldrun.serve(Mine())

It needs the standard library only, and Python 3.10 or newer. Two modules are not imported here because they need a
package of the runner's environment: foldrun.pytorch (torch) and foldrun.chemistry (RDKit). foldrun.document,
foldrun.alignment and foldrun.weights hold what runners share when they read a job and find their weights.
"""

from .digest import Digest
from .job import (
    Cancelled,
    Component,
    Failure,
    Job,
    Load,
    Ready,
    Result,
    Template,
    invalid,
    too_large,
    unsupported,
    without_folders,
)
from .serve import Runner, serve
from .watch import Watch
from .wire import CODES, PROTOCOL, WireError

__all__ = [
    "CODES",
    "PROTOCOL",
    "Cancelled",
    "Component",
    "Digest",
    "Failure",
    "Job",
    "Load",
    "Ready",
    "Result",
    "Runner",
    "Template",
    "Watch",
    "WireError",
    "invalid",
    "serve",
    "too_large",
    "unsupported",
    "without_folders",
]
