"""Turns a notebook that was executed into Markdown, with its figures as files.

If an output has several forms, the figure is taken before the table, and both before text. Scripts and styles of an
output are left out: a page of the site has none of its own.
"""

import base64
import json
import re
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from pathlib import Path

FIGURES = {"image/png": ".png", "image/svg+xml": ".svg", "image/jpeg": ".jpg"}
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def markdown(path: Path, folder: Path, with_links: Callable[[str], str]) -> str:
    """Returns the notebook at path as Markdown, and writes its figures into folder. with_links changes the links."""
    document = json.loads(path.read_text())
    if document.get("nbformat") != 4:
        raise SystemExit(f"{path}: its nbformat is {document.get('nbformat')}; 4 is needed")
    language = document.get("metadata", {}).get("language_info", {}).get("name", "python")
    writer = _Writer(path.stem, folder, language)
    for cell in document["cells"]:
        if cell["cell_type"] == "markdown":
            writer.parts.append(with_links(_text(cell["source"])) + "\n")
        elif cell["cell_type"] == "code":
            writer.code(cell)
    writer.parts.insert(1, f"[The notebook itself]({path.name}){{ download }}\n")
    return "\n".join(writer.parts)


class _Writer:
    def __init__(self, stem: str, folder: Path, language: str) -> None:
        self.stem, self.folder, self.language = stem, folder, language
        self.parts: list[str] = []
        self.figures = 0

    def code(self, cell: dict) -> None:
        source = _text(cell["source"])
        if source.strip():
            self.parts.append(_fenced(source, self.language))
        for output in cell.get("outputs", []):
            self.output(output)

    def output(self, output: dict) -> None:
        kind = output["output_type"]
        if kind == "stream":
            self.parts.append(_fenced(_text(output["text"]), "text"))
        elif kind == "error":
            self.parts.append(_fenced("\n".join(output["traceback"]), "text"))
        else:
            self.data(output.get("data", {}))

    def data(self, data: dict) -> None:
        for media, suffix in FIGURES.items():
            if media in data:
                self.figures += 1
                name = f"{self.stem}-{self.figures}{suffix}"
                body = _text(data[media])
                (self.folder / name).write_bytes(body.encode() if media == "image/svg+xml" else base64.b64decode(body))
                self.parts.append(f"![Figure {self.figures}]({name})\n")
                return
        table = _Table.of(_text(data.get("text/html", "")))
        if table:
            self.parts.append(table + "\n")
        elif "text/markdown" in data:
            # HTML in it stays text: the page runs no script of an output.
            self.parts.append(_text(data["text/markdown"]).replace("<", "&lt;") + "\n")
        elif "text/plain" in data:
            self.parts.append(_fenced(_text(data["text/plain"]), "text"))


class _Table(HTMLParser):
    """Keeps the tables of a piece of HTML, without attributes but for spans."""

    KEPT = frozenset({"table", "caption", "thead", "tbody", "tr", "th", "td"})

    def __init__(self) -> None:
        super().__init__()
        self.out: list[str] = []
        self.depth = 0

    @classmethod
    def of(cls, html: str) -> str:
        parser = cls()
        parser.feed(html)
        return "".join(parser.out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.depth += 1
        if self.depth and tag in self.KEPT:
            spans = "".join(f' {k}="{escape(v or "")}"' for k, v in attrs if k in ("rowspan", "colspan"))
            self.out.append(f"<{tag}{spans}>")

    def handle_endtag(self, tag: str) -> None:
        if self.depth and tag in self.KEPT:
            self.out.append(f"</{tag}>")
        if tag == "table":
            self.depth -= 1

    def handle_data(self, data: str) -> None:
        if self.depth and data.strip():
            self.out.append(escape(data.strip()))


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def _fenced(text: str, language: str) -> str:
    text = ANSI.sub("", text).rstrip("\n")
    marks = "`" * max(3, 1 + max((len(m) for m in re.findall(r"`{3,}", text)), default=0))
    return f"{marks}{language}\n{text}\n{marks}\n"
