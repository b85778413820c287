"""Folds Trp-cage with the client that openapi-python-client generates, in the package `generated`."""

import os
import time

from generated.api.fold_jobs import create_job, get_job, get_job_results
from generated.client import AuthenticatedClient
from generated.models import CreateJob, Params, Polymer, Results, SequenceItem

client = AuthenticatedClient(base_url=os.environ["PLEAT_URL"], token=os.environ["PLEAT_KEY"])
body = CreateJob(
    name="Trp-cage",
    sequences=[SequenceItem(protein_chain=Polymer(sequence="DAYAQWLKDGGPSSGRPPPS"))],
    params=Params(model_name="mini", seed="1"),
)
created = create_job.sync(client=client, body=body)
while get_job.sync(created.job_id, client=client).job.status not in ("COMPLETED", "FAILED", "STOPPED"):
    time.sleep(0.2)
results = get_job_results.sync(created.job_id, client=client)
assert isinstance(results, Results), results
assert results.prediction_payload.mean_plldt > 0
print("folded; mean pLDDT", results.prediction_payload.mean_plldt)
