"""The common part of runners of PyTorch models: how they set it up, what they say of their device, and their seeds."""

import random

import numpy as np
import torch

from .watch import Watch


def prepare(threads: int) -> None:
    """Turns gradients off, and sets the number of CPU threads where it is not 0."""
    torch.set_grad_enabled(False)
    if threads:
        torch.set_num_threads(threads)


def device_name(device: torch.device) -> str:
    """The name of a GPU as its driver reports it, or cpu."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def device_memory(device: torch.device) -> dict[str, int]:
    """The device's memory in bytes as foldrun.Ready.mem has it; empty for the CPU."""
    if device.type != "cuda":
        return {}
    unused, total = torch.cuda.mem_get_info(device)
    return {"device_used": total - unused, "device_total": total}


def watch(device: torch.device) -> Watch:
    """A Watch that waits for the device, so that each stage's time is its own."""
    return Watch(torch.cuda.synchronize if device.type == "cuda" else lambda: None)


def seed(value: int) -> None:
    """Seeds the generators of Python, NumPy and PyTorch."""
    random.seed(value)
    np.random.seed(value)
    torch.manual_seed(value)
