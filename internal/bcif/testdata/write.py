"""Writes the files of this folder from small.cif, by writers that the service does not have. It needs biotite and a
checkout of Mol* (npm install molstar).

    python write.py node_modules/molstar/lib/commonjs/cli/cif2bcif/index.js
"""

import subprocess
import sys
from pathlib import Path

import biotite.structure.io.pdbx as pdbx

# Mol*: the encodings of the archives of the Protein Data Bank.
subprocess.run(["node", sys.argv[1], "small.cif", "molstar.bcif"], check=True)

# biotite, without compression and with the smallest encodings that it finds. It writes categories as they are typed.
text = pdbx.CIFFile.read("small.cif")
block = pdbx.BinaryCIFBlock()
for name, category in text.block.items():
    columns = {}
    for key, column in category.items():
        array = column.as_array()
        for kind in (int, float):
            try:
                if column.mask is None:
                    array = column.as_array(kind)
                    break
            except ValueError:
                pass
        mask = None if column.mask is None else column.mask.array
        columns[key] = pdbx.BinaryCIFColumn(pdbx.BinaryCIFData(array), None if mask is None else pdbx.BinaryCIFData(mask))
    block[name] = pdbx.BinaryCIFCategory(columns)
plain = pdbx.BinaryCIFFile({"1L2Y": block})
plain.write("biotite-plain.bcif")
pdbx.compress(plain).write("biotite.bcif")
for name in Path().glob("*.bcif"):
    print(name, name.stat().st_size)
