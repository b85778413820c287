"""Copies the pages that navigation.yml names into one folder, with links between them as the generator wants them.

A page keeps its place below docs/. A link to a page leads to it, a link to any other file of the repository to a copy
of that file as text. The target of a link must exist. Where the text of a link is the name of the file, it becomes the
title of the page.
"""

import fnmatch
import functools
import os
import posixpath
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import mdformat
import yaml

import notebook

FENCE = re.compile(r"(```.*?^ *```|`[^`\n]*`)", re.S | re.M)
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^# (.*)$", re.M)
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.S)
STATES = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```\n", re.S | re.M)
TRANSITION = re.compile(r"^\s*(\S+) --> ([^\s:]+)(?:: (.*))?$", re.M)
IMAGES = {".png", ".svg", ".jpg"}


def site_path(path: str) -> str:
    """Returns where a page is on the site. README.md is named like its folder, a skill is skill.md."""
    path = path.removeprefix("docs/").removeprefix("site/")
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0].lower()
    if stem == "readme":
        return f"{folder or 'index'}.md"
    return "skill.md" if stem == "skill" else posixpath.join(folder, stem + ".md")


@dataclass
class Stage:
    """One copy of the pages of root in the folder out."""

    root: Path
    out: Path
    pages: dict[str, str] = field(default_factory=dict)  # by path in the repository: path on the site
    titles: dict[str, str] = field(default_factory=dict)  # by path on the site
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
                    inner.insert(0, {"All decisions": "decisions/index.md"})
                if inner:
                    result.append({title: inner})
                continue
            if value.startswith("/"):
                result.append({title: value})
                continue
            for path in self.matching(value):
                self.pages[path] = site_path(path)
                self.titles[self.pages[path]] = title or self.heading(path)
                result.append({title: self.pages[path]} if title else self.pages[path])
        return result

    def heading(self, path: str) -> str:
        found = None if path.endswith(".ipynb") else HEADING.search((self.root / path).read_text())
        return found[1] if found else posixpath.basename(path)

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
                text = notebook.markdown(self.root / path, target.parent, functools.partial(self.with_links, path))
                shutil.copyfile(self.root / path, target.with_suffix(".ipynb"))
            else:
                text = self.with_links(path, (self.root / path).read_text())
            source = self.out.parent / "sources" / place
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            target.write_text(generator_text(text))
        if self.missing:
            raise SystemExit("\n".join(self.missing))

    def decisions(self) -> str:
        lines = ["# Decisions", "", "Why Pleat is built this way.", ""]
        for path in sorted(p for p in self.pages if p.startswith("docs/decisions/")):
            lines.append(f"- [{self.titles[self.pages[path]]}]({posixpath.basename(path)})")
        return "\n".join(lines) + "\n"

    def with_links(self, path: str, text: str) -> str:
        """Returns text, which stands at path, with its links as they are on the site; code stays as it is."""
        parts = FENCE.split(text)
        for i in range(0, len(parts), 2):
            parts[i] = LINK.sub(lambda m: self.link(path, m[1], m[2]), parts[i])
        return "".join(parts)

    def link(self, path: str, text: str, target: str) -> str:
        if re.match(r"[a-z]+:|#|/", target):
            return f"[{text}]({target})"
        file, hash_, heading = target.partition("#")
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        place = self.place(wanted)
        if place is None:
            self.missing.append(f"{path} links to {target}, which does not exist")
            return text
        if text in (file, wanted, posixpath.basename(wanted)):
            text = self.titles.get(place, text)
        here = posixpath.dirname(self.pages[path])
        return f"[{text}]({posixpath.relpath(place, here or '.')}{hash_}{heading})"

    def place(self, wanted: str) -> str | None:
        """Returns where a link to a path of the repository leads on the site; a file without a page is copied there."""
        for candidate in (wanted, posixpath.join(wanted, "README.md")):
            if candidate in self.pages:
                return self.pages[candidate]
        if wanted.split("/")[0] == "..":
            return None  # outside the repository
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


def generator_text(text: str) -> str:
    """Returns a page as the generator reads it.

    Forges read CommonMark, where what belongs to an item of a list is indented by 2 or 3; the generator needs 4. The
    description of a skill stands below its heading, where a reader sees it.
    """
    match = FRONT_MATTER.match(text)
    fields = yaml.safe_load(match[1]) if match else {}
    body = text[match.end() :] if match else text
    if "description" in fields:
        body = HEADING.sub(lambda m: f"{m[0]}\n\n> {fields['description']}", body, count=1)
    body = mdformat.text(STATES.sub(transitions, body), extensions={"gfm", "tables", "mkdocs"})
    return f"---\n{match[1]}\n---\n\n{body}" if match and "description" not in fields else body


def transitions(match: re.Match) -> str:
    """Returns a diagram of states as a table: the site has no script that draws diagrams."""
    rows = ["| From | To | When |", "|---|---|---|"]
    for source, to, when in TRANSITION.findall(match[1]):
        if to != "[*]":
            start = "*start*" if source == "[*]" else f"`{source}`"
            rows.append(f"| {start} | `{to}` | {when} |")
    return "\n".join(rows) + "\n"
