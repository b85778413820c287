"""Checks mmCIF files against the dictionaries of PDBx/mmCIF and ModelCIF with gemmi, python-ihm and python-modelcif."""

import gzip
import io
import sys
from pathlib import Path

import ihm.dictionary
import modelcif.qa_metric
import modelcif.reader
from gemmi import cif
from modelcif.descriptor import IsomericSMILES

dictionaries, folder = Path(sys.argv[1]), Path(sys.argv[2])

# Complaints of gemmi about any such file, also about those of the AlphaFold database: the item is marked as internal to
# the PDB, no computed model lists the atoms of its components, and the categories of ModelCIF are contributed, the
# atoms of a ligand have no place in a sequence, and one complaint is about the dictionary itself.
KNOWN = ("_struct.pdbx_structure_determination_methodology", "chem_comp_atom", "CONTRIBUTED: ma_",
         "item-linked-group atom_site 8:", "item-linked-group atom_site 9:", "Bad DDL2")

# Debian's dictionary of ModelCIF can be older than the version that the files name: that one is beside this script (CC0,
# github.com/ihmwg/ModelCIF, archive/mmcif_ma_ext-v1.4.9.dic). It extends PDBx/mmCIF.
with (dictionaries / "mmcif_pdbx.dic").open() as f:
    pdbx = ihm.dictionary.read(f)
extension = gzip.decompress((Path(__file__).parent / "mmcif_ma_ext-1.4.9.dic.gz").read_bytes()).decode()
dictionary = pdbx + ihm.dictionary.read(io.StringIO(extension))

files = sorted(folder.glob("*.cif"))
assert len(files) == 5, files
for path in files:
    text = path.read_text()
    dictionary.validate(io.StringIO(text))
    (system,) = modelcif.reader.read(io.StringIO(text))
    models = [m for group in system.model_groups for m in group]
    assert len(models) == 1, path.name
    complaints = []
    ddl = cif.Ddl(logger=complaints.append, use_context=True, use_linked_groups=True, use_mandatory=True)
    ddl.read_ddl(cif.read(str(dictionaries / "mmcif_pdbx.dic")))
    ddl.read_ddl(cif.read_string(extension))
    ddl.validate_cif(cif.read(str(path)))
    left = [c for c in complaints if not any(k in c for k in KNOWN)]
    assert not left, (path.name, left)
    metrics = sorted(type(m).__mro__[1].__name__ for m in models[0].qa_metrics)
    print(path.name, "valid;", len(system.entities), "entities;", len(metrics), "quality metrics")

full = (folder / "full.cif").read_text()
(system,) = modelcif.reader.read(io.StringIO(full))
assert [c.title for c in system.citations] == ["A paper"], system.citations
assert system.software[0].citation is system.citations[0]
assert [f.path for r in system.repositories for f in r.files] == ["pae.json"], system.repositories

# The components of the job say that no dictionary has them, and what is known of them.
own = {c.id: c for e in system.entities for c in e.sequence}
assert (own["ALA"].ccd, own["SEP"].ccd, own["LIG"].ccd) == ("core", "local", "local"), own
assert [(type(d), d.value) for d in own["LIG"].descriptors] == [(IsomericSMILES, r"C/C=C\C")], own["LIG"].descriptors
assert not own["SEP"].descriptors, own["SEP"].descriptors

pairs = [m for group in system.model_groups for model in group for m in model.qa_metrics if isinstance(m, modelcif.qa_metric.FeaturePairwise)]
assert all(isinstance(m, modelcif.qa_metric.IpTM) for m in pairs), pairs
ids = [(m.feature1.asym_units[0].id, m.feature2.asym_units[0].id, m.value) for m in pairs]
assert ids == [("A", "B", 0.8123), ("B", "L", 0.4)], ids
