"""Hooks inside a model of PyTorch: how far it is, how long each stage took, and whether its job was cancelled."""

import time
from contextlib import contextmanager


class Watch:
    """Follows one job at a time through a model's modules. Without a job the hooks do nothing."""

    def __init__(self, settle=lambda: None):
        self.settle = settle  # waits for the device, so that a stage's time is its own
        self.job = None
        self.all_is = ""  # a stage that every module counts for, while it is set
        self.counts, self.totals, self.seconds = {}, {}, {}
        self.stage, self.since = "", 0.0

    @contextmanager
    def follow(self, job):
        self.job, self.all_is = job, ""
        self.counts, self.totals, self.seconds = {}, {}, {}
        self.stage, self.since = "", time.monotonic()
        try:
            yield self
        finally:
            self.enter("")
            self.job = None

    def enter(self, stage: str):
        """From now on time counts for this stage."""
        if stage == self.stage:
            return
        if self.stage:
            self.settle()
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + time.monotonic() - self.since
        self.stage, self.since = stage, time.monotonic()

    def say(self, stage: str, done: int = 0, total: int = 0):
        self.enter(stage)
        self.job.progress(stage, done, total)

    def step(self, stage: str):
        """One more unit of a stage begins."""
        if self.job is None:
            return
        stage = self.all_is or stage
        done = self.counts.get(stage, 0)
        self.counts[stage] = done + 1
        total = self.totals.get(stage, 0)
        self.say(stage, min(done, total), total)

    def check(self):
        if self.job is not None:
            self.job.check()

    def attach(self, model, **stages):
        """Hooks a model. stages: name of a stage → the module whose every pass is a unit of it. Every block looks at the cancel too,
        since one pass of a trunk may take minutes."""
        for stage, module in stages.items():
            module.register_forward_pre_hook(lambda *_, stage=stage: self.step(stage))
        for name, module in model.named_modules():
            if name.rpartition(".")[2].isdigit():
                module.register_forward_pre_hook(lambda *_: self.check())
