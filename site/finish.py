"""Makes what the generator wrote fit to be embedded: no code inside pages, no unused files, compressed."""

import gzip
import hashlib
import os
import re
import shutil
from pathlib import Path

INLINE = re.compile(r"<script>(.*?)</script>", re.S)
SEARCH = '<div class="md-search" data-md-component="search" role="dialog">'
UNUSED = ("404.html", "sitemap.xml", "sitemap.xml.gz", "assets/javascripts/lunr", "assets/images/favicon.png")
PACKED = {".html", ".js", ".css", ".svg", ".json", ".txt", ".md", ".ipynb"}


def finish(built: Path, sources: Path, out: Path) -> None:
    """Moves the built pages to out, with the sources of the pages beside them."""
    for name in UNUSED:
        unused = built / name
        shutil.rmtree(unused) if unused.is_dir() else unused.unlink(missing_ok=True)
    for path in sorted(built.rglob("*")):
        if path.suffix == ".map":
            path.unlink()
        elif path.suffix == ".html":
            path.write_text(named(without_inline(path.read_text(), path, built), path))
        elif path.suffix in (".js", ".css"):
            path.write_text(re.sub(r"\n?(?://|/\*)# sourceMappingURL=\S+(?: \*/)?", "", path.read_text()))
    shutil.copytree(sources, built, dirs_exist_ok=True)
    for path in sorted(p for p in built.rglob("*") if p.is_file()):
        pack(path, out / path.relative_to(built))


def without_inline(html: str, page: Path, built: Path) -> str:
    """Returns a page with the code of its scripts in files, whose names hold the hash of the code."""

    def file(match: re.Match) -> str:
        code = match[1].strip()
        name = f"inline.{hashlib.sha256(code.encode()).hexdigest()[:8]}.js"
        target = built / "assets" / "javascripts" / name
        target.write_text(code + "\n")
        return f'<script src="{os.path.relpath(target, page.parent)}"></script>'

    return INLINE.sub(file, html)


def named(html: str, page: Path) -> str:
    """Returns a page whose search has a name for screen readers, and where a heading of a column is not empty."""
    if SEARCH not in html:
        raise SystemExit(f"{page.name} has no search as the theme had it; fix finish.py")
    return html.replace(SEARCH, SEARCH[:-1] + ' aria-label="Search">').replace("<th></th>", "<td></td>")


def pack(source: Path, target: Path) -> None:
    """Writes a file, or what gzip makes of it if it holds text."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix not in PACKED:
        shutil.copyfile(source, target)
        return
    data = source.read_bytes()
    Path(f"{target}.gz").write_bytes(gzip.compress(data, 9, mtime=0))
