"""A notebook with a real kernel shows the bar and the structure."""

import os
import sys
from pathlib import Path

import pytest

from conftest import Server

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")


# The packages of Jupyter warn about each other.
@pytest.mark.filterwarnings("default")
def test_a_notebook(server: Server, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLEAT_URL", server.url)
    monkeypatch.setenv("PLEAT_KEY", key)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    cells = [
        "from pleat import Pleat, AsyncPleat\njob = Pleat().fold('GGG', name='nb', cache=False)\njob.wait()",
        "async with AsyncPleat() as client:\n    print((await (await client.job(job.id)).scores).chains)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    bars = [o for o in outputs if "application/vnd.jupyter.widget-view+json" in o.get("data", {})]
    assert len(bars) == 1
    shown = [o["data"]["text/html"] for o in outputs if o["output_type"] == "execute_result"]
    assert len(shown) == 1
    assert "3Dmol" in shown[0]
    assert "mean pLDDT" in shown[0]
    assert "('A',)" in notebook.cells[1].outputs[0]["text"]
