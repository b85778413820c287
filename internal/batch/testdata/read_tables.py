"""Reads table.csv, table.jsonl and table.parquet of a folder with pandas and DuckDB, and checks what they hold."""

import json
import math
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq

COLUMNS = ["row", "customId", "jobId", "name", "status", "meanPLDDT", "max_pae_score", "ipsae.A-B", "error"]
SCORES = {"meanPLDDT": [71.5, None, None], "max_pae_score": [None, None, -1e-7], "ipsae.A-B": [0.25, None, None]}

folder = Path(sys.argv[1])


def plain(values: list) -> list:
    """Return values with None where pandas has NaN."""
    return [None if isinstance(v, float) and math.isnan(v) else v for v in values]


frames = {
    "csv": pd.read_csv(folder / "table.csv"),
    "jsonl": pd.read_json(folder / "table.jsonl", lines=True),
    "parquet": pd.read_parquet(folder / "table.parquet"),
}
for name, frame in frames.items():
    assert list(frame["row"]) == [1, 2, 3], name
    assert set(frame.columns) == set(COLUMNS), (name, list(frame.columns))
    for score, want in SCORES.items():
        assert plain(list(frame[score])) == want, (name, score, list(frame[score]))
    assert plain(list(frame["error"]))[0] is None, name
assert list(frames["parquet"].columns) == COLUMNS
assert list(frames["csv"]["customId"])[1] == "'=1+1"
assert list(frames["parquet"]["customId"])[1] == "=1+1"
assert frames["jsonl"]["error"][1] == frames["parquet"]["error"][1] == '@fault, "quoted"\nand more'

for ending in ("parquet", "jsonl"):
    read = "read_parquet" if ending == "parquet" else "read_json_auto"
    rows = duckdb.sql(
        f"SELECT row, \"customId\", \"ipsae.A-B\" FROM {read}('{folder}/table.{ending}') "
        'WHERE "ipsae.A-B" > 0.2 OR "max_pae_score" < 0 ORDER BY row'
    ).fetchall()
    assert rows == [(1, "cage", 0.25), (3, "µ", None)], (ending, rows)

described = json.loads(pq.read_schema(folder / "table.parquet").metadata[b"pleat.columns"])
assert described[1] == {"name": "max_pae_score", "unit": "Å", "higherIsBetter": False}, described
print("pandas and DuckDB read the tables")
