"""Builds the documentation site: python build.py --root REPOSITORY --out FOLDER."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import yaml

from finish import finish
from stage import Stage

HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the repository")
    parser.add_argument(
        "--out", type=Path, required=True, help="the folder that gets the site; it must be empty or absent"
    )
    parser.add_argument("--navigation", type=Path, default=HERE / "navigation.yml")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(arguments.root.resolve(), arguments.out.resolve(), arguments.navigation, Path(folder))


def build(root: Path, out: Path, navigation: Path, work: Path) -> None:
    stage = Stage(root, work / "pages")
    entries = stage.navigation(yaml.safe_load(navigation.read_text()))
    stage.write()
    for asset in (HERE / "site.css", HERE.parent / "web" / "src" / "icon.svg"):
        shutil.copyfile(asset, stage.out / asset.name)
    (stage.out / "licences.txt").write_text(licences())
    settings = (HERE / "mkdocs.yml").read_text()
    settings += yaml.safe_dump({"nav": entries, "docs_dir": str(stage.out), "site_dir": str(work / "built")})
    (work / "mkdocs.yml").write_text(settings)
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "--quiet",
        "build",
        "--strict",
        "--config-file",
        str(work / "mkdocs.yml"),
    ]
    # The theme prints an advertisement without the first, and writes the time of the build without the second.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "0"}
    if subprocess.run(command, env=environment).returncode:
        raise SystemExit("the generator refused a page")
    finish(work / "built", work / "sources", out)


def licences() -> str:
    """Returns the licence of the theme, whose scripts and styles are on the site; those have the notices of others."""
    files = metadata.files("mkdocs-material") or []
    return next(f for f in files if f.name == "LICENSE" and "dist-info" in str(f)).read_text()


if __name__ == "__main__":
    main()
