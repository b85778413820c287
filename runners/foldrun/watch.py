"""Hooks inside a PyTorch model: its progress, the time of each stage, and whether its job was cancelled."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .job import Job


class Watch:
    """Follows one job at a time through a model's modules. Without a job the hooks do nothing."""

    def __init__(self, settle: Callable[[], object] = lambda: None) -> None:
        self.settle = settle  # waits for the device, so that a stage's time is its own
        self.job: Job | None = None
        self.all_is = ""  # while set, every module counts for this stage
        self.counts: dict[str, int] = {}  # stage → units begun
        self.totals: dict[str, int] = {}  # stage → all its units
        self.seconds: dict[str, float] = {}  # stage → time so far
        self.stage, self.since = "", 0.0

    @contextmanager
    def follow(self, job: Job) -> Iterator["Watch"]:
        """Follows a job until the end of the block. The counts and times of an earlier job are dropped."""
        self.job, self.all_is = job, ""
        self.counts, self.totals, self.seconds = {}, {}, {}
        self.stage, self.since = "", time.monotonic()
        try:
            yield self
        finally:
            self.enter("")
            self.job = None

    def enter(self, stage: str) -> None:
        """Counts the time from now on for this stage."""
        if stage == self.stage:
            return
        if self.stage:
            self.settle()
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + time.monotonic() - self.since
        self.stage, self.since = stage, time.monotonic()

    def timings(self) -> dict[str, float]:
        """Ends the last stage and returns the seconds of each."""
        self.enter("")
        return {stage: round(seconds, 4) for stage, seconds in self.seconds.items()}

    def say(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Enters the stage and reports its progress. Raises Cancelled after a cancel."""
        self.enter(stage)
        if self.job is not None:
            self.job.progress(stage, done, total)

    def step(self, stage: str) -> None:
        """Counts one more unit of a stage, which begins now."""
        if self.job is None:
            return
        stage = self.all_is or stage
        done = self.counts.get(stage, 0)
        self.counts[stage] = done + 1
        total = self.totals.get(stage, 0)
        self.say(stage, min(done, total), total)

    def check(self) -> None:
        """Raises Cancelled after a cancel."""
        if self.job is not None:
            self.job.check()

    def attach(self, model: Any, **stages: Any) -> None:
        """Hooks a model. stages maps a stage to the module whose every pass is one unit of it. Every numbered block
        also checks for a cancel, since one pass of a trunk may take minutes."""
        for stage, module in stages.items():
            module.register_forward_pre_hook(lambda *_, stage=stage: self.step(stage))
        for name, module in model.named_modules():
            if name.rpartition(".")[2].isdigit():
                module.register_forward_pre_hook(lambda *_: self.check())
