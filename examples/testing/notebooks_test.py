"""The faults that notebooks.py must find in a stored notebook."""

import base64
import copy
import unittest

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebooks import SMALLEST_FIGURE, faults, private, tidy, without_images

FIGURE = base64.b64encode(bytes(SMALLEST_FIGURE)).decode()


def notebook():
    text = new_code_cell("1", execution_count=1, outputs=[new_output("stream", text="1\n")])
    figure = new_code_cell(
        "plt.show()", execution_count=2, outputs=[new_output("display_data", {"image/png": FIGURE}, metadata={})]
    )
    return new_notebook(cells=[text, figure])


class Stored(unittest.TestCase):
    def test_a_whole_notebook(self):
        self.assertEqual(faults(notebook()), [])

    def test_faults(self):
        for change, said in (
            (lambda n: n.cells[0].update(execution_count=3), "in order"),
            (lambda n: n.cells[1].update(outputs=[]), "no figure"),
            (lambda n: n.cells[1].outputs[0].data.update({"image/png": FIGURE[:400]}), "no figure"),
            (lambda n: n.cells[0].outputs[0].update(name="stderr"), "a warning"),
        ):
            changed = copy.deepcopy(notebook())
            change(changed)
            self.assertIn(said, " ".join(faults(changed)))

    def test_private(self):
        for text, said in (
            ('File "/home/alice/pleat/x.py"', "an absolute path"),
            ("saved in /tmp/pleat-x1", "an absolute path"),
            (r"C:\\Users\\alice", "a path of Windows"),
            ("whsec_" + "a1B2" * 8, "a signing secret"),
            ("pleat_" + "a1B2" * 8, "an API key"),
            ("http://127.0.0.1:8080/v1/artifacts/1/model.cif?e=1790000000&s=" + "a1B2" * 8, "a signed link"),
            ("my own key", "the API key"),
        ):
            self.assertIn(said, " ".join(private(text, ["my own key"])), text)
        for text in ("/v1/jobs, ../docs/mini.md, https://example.org/home/x", "whsec_…", "pleat_client, pleat-client"):
            self.assertEqual(private(text, [""]), [])

    def test_letters_of_figures_do_not_count(self):
        text = nbformat.writes(notebook()).replace(FIGURE, "/tmp/abc")
        self.assertEqual(private(without_images(text), []), [])

    def test_bars_are_not_kept(self):
        bar = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "0%|"}
        changed = notebook()
        changed.cells[0].outputs.append(new_output("display_data", bar))
        tidy(changed)
        self.assertEqual(len(changed.cells[0].outputs), 1)


if __name__ == "__main__":
    unittest.main()
