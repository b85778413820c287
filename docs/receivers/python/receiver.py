"""A receiver that verifies each delivery (standard library only). Run: WEBHOOK_SECRET=whsec_… python3 receiver.py 127.0.0.1:8090"""
import base64, hmac, http.server, os, sys, time


def verified(key, headers, body):
    id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (sent.isascii() and sent.isdigit() and len(sent) < 15) or abs(time.time() - int(sent)) > 300:
        return False
    mac = hmac.digest(key, f"{id}.{sent}.".encode() + body, "sha256")
    want = b"v1," + base64.b64encode(mac)
    given = headers.get("webhook-signature", "").encode().split()  # several during a rotation of the secret
    return any([hmac.compare_digest(got, want) for got in given])


class Receiver(http.server.BaseHTTPRequestHandler):
    key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("content-length", 0)), 1 << 20))
        ok = verified(self.key, self.headers, body)
        if ok:
            print(self.headers["webhook-id"], body.decode(), flush=True)  # the id is the same when a delivery is repeated
        self.send_response(204 if ok else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    host, port = sys.argv[1].rsplit(":", 1)
    server = http.server.ThreadingHTTPServer((host, int(port)), Receiver)
    print("listening on %s:%d" % server.server_address, flush=True)
    server.serve_forever()
