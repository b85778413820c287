"""The model's input of a query, made by the package's own dataset, with its mistakes corrected and its failures
raised."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from biotite.structure import AtomArray
from openfold3.core.data.framework.single_datasets import inference
from openfold3.core.data.framework.single_datasets.inference import InferenceDataset
from openfold3.core.data.primitives.structure import query as package
from openfold3.core.data.primitives.structure.conformer import ConformerGenerationError
from rdkit import Chem

import template


class NotFeaturised(Exception):
    """The package could not make the model's input. The cause says why."""


class Shapeless(ValueError):
    """A molecule for which no three-dimensional form was found."""


class Dataset(InferenceDataset):
    """The package's dataset with our entity numbers, which say which chains are copies of one another, and with our
    templates, by chain."""

    def __init__(self, config: Any, entities: Mapping[str, int], templates: Mapping[str, Sequence[AtomArray]]) -> None:
        super().__init__(config)
        self.entities, self.templates = entities, templates

    def create_template_features(self, query: Any, atom_array: Any, n_tokens: int, *args: Any, **more: Any) -> Any:
        """The package's features of the job's templates, which it would read from a folder that it has prepared."""
        original = inference.process_template_structures_of3
        inference.process_template_structures_of3 = lambda **_: template.collection(atom_array, self.templates)
        try:
            return super().create_template_features(query, atom_array, n_tokens, *args, **more)
        finally:
            inference.process_template_structures_of3 = original

    def get_structure_with_ref_mols(self, query: Any) -> Any:
        """The package's structure of a query, with the entities of the job instead of the package's own."""
        out = InferenceDataset.get_structure_with_ref_mols(query)
        atoms = out.atom_array
        atoms.entity_id[:] = [self.entities[c] for c in atoms.chain_id.tolist()]
        return out


def features(
    experiment: Any,
    query_set: Any,
    entities: Mapping[str, int],
    templates: Mapping[str, Sequence[AtomArray]],
    report: Callable[[int, int], None],
) -> dict[str, Any]:
    """The features of a query set's only query. report gets how many residues and ligands have a conformer, and the
    total."""
    ((name, query),) = query_set.queries.items()
    experiment.inference_query_set, experiment.seeds = query_set, query_set.seeds
    experiment.__dict__.pop("data_module_config", None)  # kept from the previous job
    total = sum(len(c.chain_ids) * len(c.sequence or "1") for c in query.chains)
    with counted(report, total):
        try:
            out = Dataset(experiment.data_module_config.datasets[0].config, entities, templates).create_all_features(
                query
            )
        except Exception as e:
            if isinstance(e, MemoryError):
                raise
            raise NotFeaturised(name) from e
    # The package's dataset adds these; it reports a failure by an empty sample.
    return out | {
        "query_id": name,
        "seed": torch.tensor(query_set.seeds),
        "repeated_sample": torch.tensor([False]),
        "valid_sample": torch.tensor([True]),
    }


@contextmanager
def counted(report: Callable[[int, int], None], total: int) -> Iterator[None]:
    """Reports each conformer, of which a job has one per residue. report may raise Cancelled."""
    original, done = package.multistrategy_compute_conformer, 0

    def conformer(mol: Any, **kwargs: Any) -> Any:
        nonlocal done
        report(done, total)
        done += 1
        try:
            return original(mol, **kwargs)
        except ConformerGenerationError as e:
            smiles = Chem.MolToSmiles(mol)[:200]
            raise Shapeless(f"no three-dimensional form was found of {smiles}") from e

    package.multistrategy_compute_conformer = conformer
    try:
        yield
    finally:
        package.multistrategy_compute_conformer = original
