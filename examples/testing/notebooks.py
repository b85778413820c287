"""Executes the notebooks of examples/, and checks what is stored in them.

python notebooks.py check NOTEBOOK...     the stored notebooks are complete, small and have nothing private
python notebooks.py execute NOTEBOOK...   they run, all at the same time, and end in a figure
python notebooks.py store NOTEBOOK...     as execute, and keeps what came out
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

LARGEST = 300_000  # bytes of a stored notebook
SMALLEST_FIGURE = 20_000  # bytes of a PNG; axes without data are smaller
LONGEST_CELL = 600 if os.environ.get("EXAMPLES_FAST") == "1" else 7200  # seconds

PRIVATE = {
    "an absolute path": re.compile(r"(?<![\w.:/<])/(?:home|root|tmp|Users|work|var|mnt|opt|private)/[\w.-]"),
    "a path of Windows": re.compile(r"\b[A-Z]:\\\\?Users"),
    "a signing secret": re.compile(r"whsec_[A-Za-z0-9+/]{8}"),
    "an API key": re.compile(r"pleat_[A-Za-z0-9_-]{16}|Bearer [A-Za-z0-9]"),
    "a signed link": re.compile(r"[?&](?:s|sig|signature|token|X-Amz-Signature)=[\w-]{8}"),
}


def read(path: Path) -> NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def code_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [c for c in notebook.cells if c.cell_type == "code"]


def figures(cell: NotebookNode) -> list[bytes]:
    datas = [o.get("data", {}) for o in cell.outputs]
    return [base64.b64decode(d["image/png"]) for d in datas if "image/png" in d]


def faults(notebook: NotebookNode) -> list[str]:
    """The faults of a notebook that was executed."""
    out: list[str] = []
    cells = code_of(notebook)
    if [c.execution_count for c in cells] != list(range(1, len(cells) + 1)):
        out.append("its cells were not all executed in order; store it again")
    for c in cells:
        for o in c.outputs:
            if o.output_type == "error" or o.get("name") == "stderr":
                said = str(o.get("text") or o.get("evalue"))[:200]
                out.append(f"cell {c.execution_count} has an error or a warning: {said}")
    if not cells or not any(len(f) >= SMALLEST_FIGURE for f in figures(cells[-1])):
        out.append("its last code cell has no figure as PNG")
    return out


def private(text: str, secrets: list[str]) -> list[str]:
    """The parts of a stored notebook that belong to one machine or one person."""
    out = [f"it has {what}: {m.group()!r}" for what, pattern in PRIVATE.items() if (m := pattern.search(text))]
    return out + ["it has the API key" for s in secrets if s and s in text]


def check(path: Path) -> list[str]:
    text = path.read_text()
    out = faults(read(path)) + private(without_images(text), [os.environ.get("PLEAT_KEY", "")])
    if len(text.encode()) > LARGEST:
        out.append(f"it has {len(text.encode())} bytes; at most {LARGEST} are stored")
    return out


def without_images(text: str) -> str:
    """The text without its PNGs, whose letters are of no meaning."""
    return re.sub(r'("image/png": )"[^"]*"', r'\1""', text)


def tidy(notebook: NotebookNode) -> None:
    """Removes what is of this execution alone: times, the state of widgets, bars of progress."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    for c in code_of(notebook):
        c.metadata.pop("execution", None)
        c.outputs = [o for o in c.outputs if "application/vnd.jupyter.widget-view+json" not in o.get("data", {})]


async def execute(path: Path, store: bool) -> list[str]:
    notebook = read(path)
    for c in code_of(notebook):
        c.outputs, c.execution_count = [], None
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=LONGEST_CELL,
            kernel_name="python3",
            store_widget_state=False,
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # it warns that it listens on loopback
            resources={"metadata": {"path": folder}},
        )
        try:
            await client.async_execute()
        except CellExecutionError as e:
            return [re.sub(r"\x1b\[[\d;]*m", "", str(e))]
    print(f"{path.name}: {time.monotonic() - began:.0f} s", flush=True)
    tidy(notebook)
    out = faults(notebook)
    if store and not out:
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text)
        out = check(path)
    return out


async def main(action: str, paths: list[Path]) -> int:
    if action == "check":
        found = [check(p) for p in paths]
    elif action in ("execute", "store"):
        found = await asyncio.gather(*(execute(p, action == "store") for p in paths))
    else:
        raise SystemExit(__doc__)
    for path, each in zip(paths, found, strict=True):
        for fault in each:
            print(f"{path}: {fault}", file=sys.stderr)
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], [Path(p) for p in sys.argv[2:]])))
