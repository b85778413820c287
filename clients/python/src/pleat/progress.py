"""A bar of what a run is doing, by tqdm, in a terminal and in a notebook."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Generator
from typing import Any

from ._packages import need
from .events import OnProgress, Progress
from .models import ENDED


@contextlib.contextmanager
def reporter(name: str, progress: bool | OnProgress | None) -> Generator[OnProgress]:
    """How progress is reported: a function, a bar, nothing, or (None) a bar where someone can see it."""
    if callable(progress):
        yield progress
        return
    if not (_seen() if progress is None else progress):
        yield lambda _: None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets, tqdm draws with letters and says so
        bar = need("tqdm.auto", "progress").tqdm(total=0, desc=name, leave=True, bar_format=FORMAT)
    try:
        yield _Bar(bar, name).show
    finally:
        bar.close()


FORMAT = "{desc}{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}]"


def _seen() -> bool:
    if not _in_notebook() and not sys.stderr.isatty():
        return False
    try:
        need("tqdm.auto", "progress")
    except ImportError:
        return False
    return True


def _in_notebook() -> bool:
    """Whether this is the process of a notebook's kernel, whose shell has a kernel."""
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Bar:
    def __init__(self, bar: Any, name: str) -> None:
        self._bar = bar
        self._name = name

    def show(self, p: Progress) -> None:
        done, total, what = p.done, p.total, p.stage
        if p.counts:
            total = sum(p.counts.values())
            done = sum(n for state, n in p.counts.items() if state in ENDED)
        if p.status is not None:
            what = what or p.status.lower()
        if p.queue_position:
            what = f"{p.queue_position} before it in the queue"
        if what:
            self._bar.set_description(f"{self._name}: {what}", refresh=False)
        if total:
            self._bar.total, self._bar.n = total, done
        self._bar.refresh()
