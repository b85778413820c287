"""Verifies deliveries with the official Standard Webhooks library of Python. Reads JSON lines, answers ok or no."""
import json, sys
from standardwebhooks import Webhook

for line in sys.stdin:
    d = json.loads(line)
    try:
        Webhook(d["secret"]).verify(d["body"], d["headers"], json_parse=False)
        print("ok", flush=True)
    except Exception as e:
        print("no", type(e).__name__, e, flush=True)
