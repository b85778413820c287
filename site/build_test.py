"""Builds a site of a small repository and reads what comes out. make test-site runs it."""

import gzip
import shutil
import tempfile
import unittest
from pathlib import Path

import build
from stage import generator_text, site_path

HERE = Path(__file__).resolve().parent

NAVIGATION = """
- Start:
    - README.md
- Use it:
    - docs/guide.md
    - docs/absent.md
    - Notebooks:
        - examples/*.ipynb
- API reference:
    - site/api.md
"""

GUIDE = """# Guide

See [interface](../LICENSE), [the folder](../deploy) and `[code](nowhere.md)`.

## Fold

1. First:

   ```sh
   pleat fold
   ```

2. Second
   - nested
"""


class Build(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.root = self.folder / "repository"
        for path, text in {
            "README.md": "# Small\n\n[docs/guide.md](docs/guide.md): how.\n",
            "docs/guide.md": GUIDE,
            "site/api.md": (HERE / "api.md").read_text(),
            "deploy/README.md": "# Deploy\n",
            "LICENSE": "Apache\n",
        }.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        (self.root / "examples").mkdir()
        shutil.copyfile(HERE / "testdata" / "tiny.ipynb", self.root / "examples" / "tiny.ipynb")
        (self.folder / "navigation.yml").write_text(NAVIGATION)

    def build(self, name: str) -> Path:
        work, out = self.folder / f"{name}-work", self.folder / name
        work.mkdir()
        build.build(self.root, out, self.folder / "navigation.yml", work)
        return out

    def test_the_same_twice(self):
        one, two = self.build("one"), self.build("two")
        files = sorted(p.relative_to(one) for p in one.rglob("*") if p.is_file())
        self.assertEqual(files, sorted(p.relative_to(two) for p in two.rglob("*") if p.is_file()))
        for name in files:
            self.assertEqual((one / name).read_bytes(), (two / name).read_bytes(), name)

    def test_pages(self):
        out = self.build("site")
        home, guide = page(out, "index.html"), page(out, "guide/index.html")
        self.assertIn('<a href="guide/">Guide</a>: how.', home)
        self.assertIn('href="../files/LICENSE.txt"', guide)
        self.assertIn("[code](nowhere.md)", guide)
        self.assertEqual(guide.count("<ol>"), 1)  # the block of code does not end the list
        self.assertIn("<p>Second</p>\n<ul>\n<li>nested</li>", guide)
        self.assertIn("<!-- api reference -->", page(out, "api/index.html"))
        self.assertEqual(
            page(out, "guide.md"), GUIDE.replace("../LICENSE", "files/LICENSE.txt").replace("../deploy", "index.md")
        )
        for name in out.rglob("index.html.gz"):
            self.assertNotIn("<script>", gzip.decompress(name.read_bytes()).decode(), name)

    def test_a_notebook(self):
        out = self.build("site")
        text = page(out, "examples/tiny/index.html")
        self.assertIn('<a href="../../guide/#fold">the guide</a>', text)
        self.assertIn("a **line**", text)
        self.assertIn(
            '<table><tr><th>name</th></tr><tr><td colspan="2">a &lt; b</td></tr></table>', text.replace("\n", "")
        )
        self.assertIn("ZeroDivisionError: division by zero", text)
        self.assertIn('<img alt="Figure 1" src="../tiny-1.png"', text)
        self.assertEqual((out / "examples/tiny-1.png").read_bytes()[:4], b"\x89PNG")
        for word in ("alert", "3dmol.org", "color: red", "\x1b"):
            self.assertNotIn(word, text)
        self.assertIn('"nbformat": 4', page(out, "examples/tiny.ipynb"))

    def test_a_link_to_nothing_is_refused(self):
        (self.root / "docs/guide.md").write_text("# Guide\n\n[gone](gone.md)\n")
        with self.assertRaisesRegex(SystemExit, "docs/guide.md links to gone.md, which does not exist"):
            self.build("site")

    def test_a_link_out_of_the_repository_is_refused(self):
        (self.folder / "outside.txt").write_text("outside\n")
        (self.root / "docs/guide.md").write_text("# Guide\n\n[outside](../../outside.txt)\n")
        with self.assertRaisesRegex(SystemExit, "docs/guide.md links to ../../outside.txt, which does not exist"):
            self.build("site")


class Text(unittest.TestCase):
    def test_paths(self):
        for path, want in {
            "README.md": "index.md",
            "docs/guide.md": "guide.md",
            "deploy/slurm/README.md": "deploy/slurm.md",
            "CHANGELOG.md": "changelog.md",
            "skills/pleat/SKILL.md": "skill.md",
            "examples/first-fold.ipynb": "examples/first-fold.md",
        }.items():
            self.assertEqual(site_path(path), want)

    def test_states_become_a_table(self):
        text = generator_text(
            "# S\n\n```mermaid\nstateDiagram-v2\n    [*] --> A\n    A --> B: it ends\n    B --> [*]\n```\n"
        )
        self.assertIn("*start*", text)
        self.assertRegex(text, r"\| `A` +\| `B` +\| it ends +\|")
        self.assertNotIn("mermaid", text)

    def test_the_description_of_a_skill_is_visible(self):
        text = generator_text("---\nname: s\ndescription: What it does.\n---\n\n# S\n\nText.\n")
        self.assertEqual(text, "# S\n\n> What it does.\n\nText.\n")


def page(out: Path, name: str) -> str:
    return gzip.decompress((out / f"{name}.gz").read_bytes()).decode()


if __name__ == "__main__":
    unittest.main()
