"""A query as the model's input, by the package's own dataset, with what it mistakes put right and with its failures raised."""

from contextlib import contextmanager

import torch
from openfold3.core.data.framework.single_datasets.inference import InferenceDataset
from openfold3.core.data.primitives.structure import query as package
from openfold3.core.data.primitives.structure.conformer import ConformerGenerationError
from rdkit import Chem


class NotFeaturised(Exception):
    """The package could not make the model's input; its cause says why."""


class Shapeless(ValueError):
    """A molecule of which no three-dimensional form was found."""


class Dataset(InferenceDataset):
    """The package's dataset, told which chains are copies of one another."""

    def __init__(self, config, entities: dict):
        super().__init__(config)
        self.entities = entities

    def get_structure_with_ref_mols(self, query):
        out = InferenceDataset.get_structure_with_ref_mols(query)
        atoms = out.atom_array
        atoms.entity_id[:] = [self.entities[c] for c in atoms.chain_id.tolist()]
        return out


def features(experiment, query_set, entities: dict, said) -> dict:
    """The features of a query set's only query. said hears how many residues and ligands have a conformer, and of how many."""
    ((name, query),) = query_set.queries.items()
    experiment.inference_query_set, experiment.seeds = query_set, query_set.seeds
    experiment.__dict__.pop("data_module_config", None)  # it is kept from the job before
    total = sum(len(c.chain_ids) * len(c.sequence or "1") for c in query.chains)
    with counted(said, total):
        try:
            out = Dataset(experiment.data_module_config.datasets[0].config, entities).create_all_features(query)
        except Exception as e:
            if isinstance(e, MemoryError):
                raise
            raise NotFeaturised(name) from e
    # What the package's dataset adds, which reports failures by an empty sample where this raises them.
    return out | {"query_id": name, "seed": torch.tensor(query_set.seeds), "repeated_sample": torch.tensor([False]), "valid_sample": torch.tensor([True])}


@contextmanager
def counted(said, total: int):
    """Says how many conformers are made, of which a job has one a residue, and hears a cancel between them."""
    original, done = package.multistrategy_compute_conformer, 0

    def conformer(mol, **kwargs):
        nonlocal done
        said(done, total)
        done += 1
        try:
            return original(mol, **kwargs)
        except ConformerGenerationError as e:
            raise Shapeless(f"no three-dimensional form was found of {Chem.MolToSmiles(mol)[:200]}") from e

    package.multistrategy_compute_conformer = conformer
    try:
        yield
    finally:
        package.multistrategy_compute_conformer = original
