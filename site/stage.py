"""Copies the pages that navigation.yml names into one folder, with links between them as the generator wants them.

A page keeps its place below docs/; README.md of a folder is the index of that folder. A link to a page leads to it, a link to
any other file of the repository to a copy of that file as text. What a link names must exist.
"""

import fnmatch
import os
import posixpath
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import notebook
import yaml

FENCE = re.compile(r"(```.*?^ *```|`[^`\n]*`)", re.S | re.M)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.S)
STATES = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```\n", re.S | re.M)
TRANSITION = re.compile(r"^\s*(\S+) --> ([^\s:]+)(?:: (.*))?$", re.M)
IMAGES = {".png", ".svg", ".jpg"}


def site_path(path: str) -> str:
    """Returns where a page of the repository is on the site."""
    path = path.removeprefix("docs/").removeprefix("site/")
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0].lower()
    if stem in ("readme", "skill"):
        # The folder of a skill is its name.
        return posixpath.join(folder, "index.md") if stem == "readme" else "skill.md"
    return posixpath.join(folder, stem + ".md")


@dataclass
class Stage:
    """One copy of the pages of root in the folder out."""

    root: Path
    out: Path
    pages: dict[str, str] = field(default_factory=dict)  # by path in the repository: path on the site
    missing: list[str] = field(default_factory=list)

    def navigation(self, entries: list) -> list:
        """Returns the entries for the generator, and remembers their pages."""
        result = []
        for entry in entries:
            title, value = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
            if isinstance(value, list):
                inner = self.navigation(value)
                if title == "Decisions" and inner:
                    self.pages["docs/decisions"] = "decisions/index.md"
                    inner.insert(0, "decisions/index.md")
                if inner:
                    result.append({title: inner})
                continue
            for path in self.matching(value):
                self.pages[path] = site_path(path)
                result.append({title: self.pages[path]} if title else self.pages[path])
        return result

    def matching(self, pattern: str) -> list[str]:
        folder, name = posixpath.split(pattern)
        present = os.listdir(self.root / folder) if (self.root / folder).is_dir() else []
        return [posixpath.join(folder, n) for n in sorted(present) if fnmatch.fnmatchcase(n, name)]

    def write(self) -> None:
        """Writes every page, and the files that they link to."""
        for path, place in self.pages.items():
            target = self.out / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if path == "docs/decisions":
                text = self.decisions()
            elif path.endswith(".ipynb"):
                text = self.with_links(path, notebook.markdown(self.root / path, target.parent))
                shutil.copyfile(self.root / path, target.with_suffix(".ipynb"))
            else:
                text = self.with_links(path, (self.root / path).read_text())
            source = self.out.parent / "sources" / place
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            target.write_text(STATES.sub(transitions, FRONT_MATTER.sub(front, text)))
        if self.missing:
            raise SystemExit("\n".join(self.missing))

    def decisions(self) -> str:
        lines = ["# Decisions", "", "Why Pleat is built this way.", ""]
        for path in sorted(p for p in self.pages if p.startswith("docs/decisions/")):
            title = (self.root / path).read_text().split("\n", 1)[0].lstrip("# ")
            lines.append(f"- [{title}]({posixpath.basename(path)})")
        return "\n".join(lines) + "\n"

    def with_links(self, path: str, text: str) -> str:
        """Returns text, which stands at path, with its links as they are on the site; code stays as it is."""
        parts = FENCE.split(text)
        for i in range(0, len(parts), 2):
            parts[i] = LINK.sub(lambda m: m[1] + self.link(path, m[2]) + m[3], parts[i])
        return "".join(parts)

    def link(self, path: str, target: str) -> str:
        if re.match(r"[a-z]+:|#|/", target):
            return target
        file, hash_, heading = target.partition("#")
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        place = self.place(wanted)
        if place is None:
            self.missing.append(f"{path} links to {target}, which does not exist")
            return target
        here = posixpath.dirname(self.pages[path])
        return posixpath.relpath(place, here or ".") + hash_ + heading

    def place(self, wanted: str) -> str | None:
        """Returns where a link to a path of the repository leads on the site; a file without a page is copied there."""
        for candidate in (wanted, wanted + "/README.md"):
            if candidate in self.pages:
                return self.pages[candidate]
        source = self.root / wanted
        if source.is_dir():  # without a page: the nearest folder above that has one
            return self.place(posixpath.dirname(wanted)) if wanted else None
        if not source.is_file():
            return None
        if source.suffix in IMAGES:
            copy = wanted.removeprefix("docs/")
        else:
            copy = f"files/{wanted}" if source.suffix == ".txt" else f"files/{wanted}.txt"
        (self.out / copy).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, self.out / copy)
        return copy


def front(match: re.Match) -> str:
    """Returns the front matter of a skill as text that a reader sees."""
    fields = yaml.safe_load(match[1])
    if "description" not in fields:
        return match[0]
    return f"> {fields['description']}\n\n" if match.end() else ""


def transitions(match: re.Match) -> str:
    """Returns a diagram of states as a table: the site has no script that draws diagrams."""
    rows = ["| From | To | When |", "|---|---|---|"]
    for source, to, when in TRANSITION.findall(match[1]):
        if to != "[*]":
            start = "*start*" if source == "[*]" else f"`{source}`"
            rows.append(f"| {start} | `{to}` | {when} |")
    return "\n".join(rows) + "\n"
