"""The runner of ESMFold and ESMFold2 as implemented in the transformers package."""

from typing import TYPE_CHECKING

import foldrun

if TYPE_CHECKING:
    from esmfold import ESMFold
    from esmfold2 import ESMFold2


class ESM(foldrun.Runner):
    """The models of the package transformers that fold proteins. One of them is loaded."""

    engine = "esm"

    def __init__(self) -> None:
        self.loaded: ESMFold | ESMFold2 | None = None

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        self.loaded = None  # the memory of another model
        if request.model == "esmfold2":
            from esmfold2 import ESMFold2

            self.loaded = ESMFold2(request)
        else:
            from esmfold import ESMFold

            self.loaded = ESMFold(request)
        return self.loaded.ready

    def predict(self, job: foldrun.Job) -> foldrun.Result:
        if self.loaded is None:  # the service loads before it predicts
            job.fail("internal", "no model is loaded")
        return self.loaded.predict(job)


if __name__ == "__main__":
    foldrun.serve(ESM())
