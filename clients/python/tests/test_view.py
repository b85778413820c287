"""The display in notebooks and terminals."""

import io
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

from pleat import Job, Progress, errors
from pleat._packages import need
from pleat.models import Scores
from pleat.progress import reporter
from pleat.structure import structure_of
from pleat.view import BANDS, RMSD_BANDS, Coloured, colour, html_of, view_of


def test_the_bands_are_those_of_the_alphafold_database() -> None:
    assert [colour(v) for v in (95, 90, 80, 70, 60, 50, 10, 0)] == [
        BANDS[0][1],
        BANDS[1][1],
        BANDS[1][1],
        BANDS[2][1],
        BANDS[2][1],
        BANDS[3][1],
        BANDS[3][1],
        BANDS[3][1],
    ]


def test_a_notebook_shows_the_structure_in_its_colours(folded: Job, tmp_path: Path) -> None:
    page = folded._repr_html_()
    assert "<caption>six</caption>" in page
    assert f"<td>{folded.scores.mean_plddt}</td>" in page
    assert "_atom_site" in page
    for i, value in enumerate(folded.plddt, 1):
        assert f'"{i}": "{colour(value)}"' in page
    assert "300px" in folded.view(width=300, height=200)._make_html()
    saved = folded.save_html(tmp_path / "six.html").read_text()
    assert "<title>six</title>" in saved
    assert page.split("</table>")[0] in saved


SCORES = Scores(
    chains=("A",),
    mean_plddt=None,
    predicted_rmsd=None,
    ptm=0.5,
    iptm=None,
    max_pae=None,
    affinity=None,
    pairs=(),
    templates=None,
    confidence="",
    sequence_id=None,
)


def test_a_predicted_rmsd_is_shown_as_what_it_is() -> None:
    metrics = b'{"predictions": [{"chains": ["A"], "plddt": {}, "predicted_rmsd": {"A": [0.5, 0.75, 3]}}]}'
    structure = structure_of("x", replace(SCORES, predicted_rmsd=1.42), b"data_x\n", metrics)
    assert structure.predicted_rmsd.tolist() == [0.5, 0.75, 3.0]
    with pytest.raises(errors.NoResult, match="gives no pLDDT"):
        _ = structure.plddt
    assert list(structure.residues_to_pandas().columns) == ["chain", "residue", "predicted_rmsd", "secondary_structure"]
    page = structure.to_html()
    assert "<th style='text-align:left'>mean predicted RMSD (Å)</th><td>1.42</td>" in page
    for i, (_, c, _) in enumerate((RMSD_BANDS[4], RMSD_BANDS[3], RMSD_BANDS[0]), 1):
        assert f'"{i}": "{c}"' in page
    assert "<p>Predicted RMSD: " in page
    assert "pLDDT" not in page


def test_a_name_is_no_markup() -> None:
    page = html_of("<script>alert(1)</script>", SCORES, "data_x\n", Coloured({}))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_structure_is_no_markup() -> None:
    page = html_of("x", SCORES, "data_x\n# </script><script>alert(1)</script>\n", Coloured({"A": ["#ffdb13"]}))
    assert "</script><script>alert(1)" not in page


def test_without_py3dmol_there_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3Dmol", None)
    page = html_of("x", SCORES, "data_x\n", Coloured({}))
    assert "<td>0.5</td>" in page
    assert "the extra [notebook]" in page
    with pytest.raises(errors.MissingPackage, match=r"needs the package py3Dmol, which the extra \[notebook\]"):
        view_of("data_x\n", Coloured({}))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(monkeypatch: pytest.MonkeyPatch, out: io.StringIO, progress: bool | None) -> str:
    monkeypatch.setattr(sys, "stderr", out)
    with reporter("six", progress) as report:
        report(Progress(status="INITIALIZED", queue_position=3))
        report(Progress(stage="sample", done=40, total=100))
        report(Progress(counts={"COMPLETED": 3, "FAILED": 1, "RUNNING": 4}))
    return out.getvalue()


def test_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    text = show(monkeypatch, Terminal(), None)
    assert "six: 3 before it in the queue" in text
    assert "six: sample:  40%" in text
    assert "40/100" in text
    assert "4/8" in text


def test_a_file_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(monkeypatch, io.StringIO(), None) == ""
    assert show(monkeypatch, Terminal(), False) == ""
    assert "40/100" in show(monkeypatch, io.StringIO(), True)


def test_a_notebook_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert "40/100" in show(monkeypatch, io.StringIO(), None)


def test_without_tqdm_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert show(monkeypatch, Terminal(), None) == ""
    with pytest.raises(errors.MissingPackage, match=r"the extra \[progress\]"):
        show(monkeypatch, Terminal(), True)


def test_a_package_that_is_there() -> None:
    assert need("json", "x").dumps([]) == "[]"
