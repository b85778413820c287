"""Hooks inside a model."""

import tempfile
import unittest

from foldrun import Cancelled, Watch
from foldrun.job import Job


class Module:
    """The part of a module of PyTorch that Watch needs: hooks that a call runs first, and names."""

    def __init__(self, **parts):
        self.hooks, self.parts = [], parts

    def register_forward_pre_hook(self, hook):
        self.hooks.append(hook)

    def named_modules(self):
        yield "", self
        yield from self.parts.items()

    def __call__(self):
        for hook in self.hooks:
            hook(self, ())


class Following(unittest.TestCase):
    def setUp(self):
        self.trunk, self.block, self.other = Module(), Module(), Module()
        self.watch, self.said = Watch(), []
        self.watch.attach(
            Module(**{"trunk": self.trunk, "trunk.blocks.0": self.block, "other": self.other}), trunk=self.trunk
        )
        self.job = Job(
            {"id": "j", "attempt": 1, "workdir": tempfile.gettempdir(), "kind": "fold", "input": {}}, self.said.append
        )

    def test_units_of_a_stage(self):
        with self.watch.follow(self.job):
            self.watch.totals = {"trunk": 2}
            for part in (self.trunk, self.block, self.other, self.trunk):
                part()
            self.watch.say("write", 1, 1)
        self.assertEqual(
            [(m["stage"], m["done"], m["total"]) for m in self.said if m["done"] == 0 or m["stage"] == "write"],
            [("trunk", 0, 2), ("write", 1, 1)],
        )
        self.assertEqual(self.watch.counts, {"trunk": 2})
        self.assertEqual(set(self.watch.seconds), {"trunk", "write"})

    def test_one_stage_of_everything(self):
        with self.watch.follow(self.job):
            self.watch.all_is = "affinity"
            self.trunk()
        self.assertEqual(self.watch.counts, {"affinity": 1})

    def test_a_block_hears_a_cancel(self):
        with self.assertRaises(Cancelled), self.watch.follow(self.job):
            self.other()
            self.job.cancel()
            self.other()
            self.block()
        self.block()  # no job, no cancel
        self.assertEqual(self.said, [])


if __name__ == "__main__":
    unittest.main()
