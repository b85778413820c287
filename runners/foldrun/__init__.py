"""foldrun: what a model's runner needs to work for Pleat.

A runner is a process that the service starts, one per engine and device. It loads a model once and predicts many times. The
protocol is in docs/runner-protocol.md; this package speaks it, so that a runner is a class with two methods:

    import foldrun

    class Mine(foldrun.Runner):
        engine = "mine"

        def load(self, request):
            self.model = ...                       # from request.weights_dir, onto request.device
            return foldrun.Ready(engine_version="1.0")

        def predict(self, job):
            job.progress("trunk", 0, 1)            # says how far it is; raises Cancelled when the job was cancelled
            ...
            job.file("structure", path)            # an mmCIF file in job.workdir
            return foldrun.Result(scores={"ptm": 0.8})

    foldrun.serve(Mine())

Standard library only, Python 3.10 or newer. It must not import a model's packages: each runner has an environment of its own.
"""

from .digest import Digest
from .job import Cancelled, Failure, Job, Load, Ready, Result
from .serve import Runner, serve
from .watch import Watch
from .wire import CODES, PROTOCOL, WireError

__all__ = ["CODES", "PROTOCOL", "Cancelled", "Digest", "Failure", "Job", "Load", "Ready", "Result", "Runner", "Watch", "WireError", "serve"]
