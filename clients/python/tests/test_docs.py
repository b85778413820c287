"""The examples of docs/python.md run, in order, against a real server."""

import re
from pathlib import Path

import pytest

from conftest import REPOSITORY, Server
from pleat import errors

GUIDE = (REPOSITORY / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, re.S | re.M)


def test_the_guide_can_be_followed(
    server: Server, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLEAT_URL", server.url)
    monkeypatch.setenv("PLEAT_KEY", key)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    refused = 0
    for block in BLOCKS:
        short = re.sub(r'(?<!status=)"([A-Z]{4})[A-Z]+"', r'"\1"', block)  # folds of few residues are soon done
        code = compile(short, "docs/python.md", "exec")
        if re.search(r"boltz-2|boltzgen", block):
            with pytest.raises(errors.InvalidRequest, match="boltz"):
                exec(code, names)
            refused += 1
        else:
            exec(code, names)
    assert refused == 2
    out = capsys.readouterr().out
    assert "COMPLETED" in out
    assert "(4, 4)" in out
    assert "sequences[0].proteinChain.sequence" in out
    assert (tmp_path / "trp-cage" / "model.cif").is_file()
    assert "3Dmol" in (tmp_path / "trp-cage.html").read_text()
    names["pleat"].close()  # type: ignore[attr-defined]


def test_the_extras_are_those_of_the_package() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    section = project.split("[project.optional-dependencies]")[1].split("[tool")[0]
    extras = re.findall(r"^(\w+) = \[", section, re.M)
    assert re.findall(r"^\| `(\w+)` \|", GUIDE, re.M) == extras


def test_the_version_is_that_of_the_package() -> None:
    from pleat._version import DISTRIBUTION, VERSION

    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'name = "{DISTRIBUTION}"' in project
    assert f'version = "{VERSION}"' in project
